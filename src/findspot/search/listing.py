"""Decide which hits of a ranking are results, as far as a page needs them."""

from dataclasses import replace

from findspot.runtime.threads import ThreadPool
from findspot.search.folding import BLOCK, listed
from findspot.search.hit_rows import HitRows
from findspot.search.paging import Ranking


async def list_results(rows: HitRows, threads: ThreadPool, ranking: Ranking, end: int) -> Ranking:
    """Examine hits until there are more than `end` results, or no more hits."""
    listing, per_document = ranking.listing, ranking.request.per_document
    while len(listing.places) <= end and listing.examined < len(ranking):
        ids = ranking.ids[listing.examined : listing.examined + BLOCK]
        documents = ranking.documents[: listing.examined + BLOCK]
        if ranking.request.duplicates:
            listing = listed(listing, documents, None, per_document)
            continue
        waiting = [ranking.ids[place] for place in listing.places[ranking.shown : end]]  # for the page itself
        found = await rows.texts([*waiting, *ids])
        texts = {place: found[id] for place, id in enumerate(ids, listing.examined) if id in found}
        listing = await threads.run_if_long(texts.values(), listed, listing, documents, texts, per_document)
    return replace(ranking, listing=listing)
