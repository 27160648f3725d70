"""Find the documents of candidates and when they changed, and drop candidates whose texts do not match."""

from collections.abc import Mapping, Set
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from findspot.ranking.normal import HALF_LIFE
from findspot.ranking.workspace import ALL, Origin
from findspot.runtime.limits import Deadline
from findspot.runtime.threads import ThreadPool
from findspot.search import candidates
from findspot.search.candidates import Candidates
from findspot.search.folding import BLOCK
from findspot.search.hit_rows import HitRows
from findspot.search.paging import Ranking
from findspot.search.recall import CANDIDATES
from findspot.search.request import Sort, Strategy
from findspot.search.scoring import date_weight, score
from findspot.sources.lines import PIECE
from findspot.store import best_hits, found_chunks
from findspot.store.best_hits import ByDate, Candidate
from findspot.store.database import LOOKUP_ROWS, Store

if TYPE_CHECKING:
    import sqlalchemy as sa

    from findspot.ranking.workspace import Similarities

READ_AT_ONCE = BLOCK + 8  # the database may round scores otherwise, so it chooses a few more than are needed
MAX_DATES = 50_000  # of documents of a project that are kept until the database changes, about 10 MB
_NONE: Set[int] = frozenset()


class Origins:
    """Reads the documents of candidates. On PostgreSQL, rows that a first page needs are read along with them."""

    def __init__(self, store: Store, threads: ThreadPool, similarities: "Similarities") -> None:
        self._store = store
        self._threads = threads
        self._similarities = similarities

    async def read(self, ranking: Ranking, found: Candidates, deadline: Deadline, rows: HitRows) -> Candidates:
        """Return the candidates with the documents of those that may be hits, and without those that do not match."""
        documents, rejected = _documents(ranking, found), _NONE
        if self._are_rows_needed(ranking, documents):
            changed_at = await self._read_best(ranking, found, documents, rows)
        else:
            changed_at, rejected = await self._read_dates(ranking, documents, deadline)
        origin_of = {document_id: Origin(document_id, at) for document_id, at in changed_at.items()}
        origins = {
            id: origin_of[document_id]
            for id, document_id in documents.items()
            if document_id in origin_of and id not in rejected
        }
        return replace(found, origins=origins, rejected=rejected)

    def _are_rows_needed(self, ranking: Ranking, documents: Mapping[int, int]) -> bool:
        """Return whether this is a first page whose best hits are known as soon as the dates are."""
        is_first = not len(ranking) and 0 < len(documents) <= 2 * CANDIDATES
        is_ranked = ranking.request.sort is not Sort.DATE and not ranking.query.needs_text_check
        return self._store.kind == "postgresql" and is_first and is_ranked

    async def _read_best(
        self, ranking: Ranking, found: Candidates, documents: Mapping[int, int], rows: HitRows
    ) -> Mapping[int, datetime]:
        of_now = {id: Origin(document_id, ranking.now) for id, document_id in documents.items()}
        hits = score(ranking, replace(found, origins=of_now), self._similarities, ALL)
        asked = [Candidate(hit.id, documents[hit.id], hit.keyword + hit.vector) for hit in hits]
        by_date = ByDate(ranking.now, date_weight(ranking.request, found), HALF_LIFE.total_seconds())
        async with self._store.statement() as connection:
            best = await connection.run_sync(
                best_hits.read, ranking.request.project_id, asked, by_date, READ_AT_ONCE, PIECE
            )
        rows.add(best.chosen, best.found, best.lines)
        return best.changed_at

    async def _read_dates(
        self, ranking: Ranking, documents: Mapping[int, int], deadline: Deadline
    ) -> tuple[Mapping[int, datetime], Set[int]]:
        """Return the dates of documents, and the candidates whose texts do not match the query."""
        query, project_id = ranking.query, ranking.request.project_id
        dates = await self._store.remembered.get(("dates of documents", project_id), _no_dates)
        if len(dates) > MAX_DATES:
            dates.clear()
        wanted = set(documents.values())
        known = {id: dates[id] for id in wanted & dates.keys()}
        unknown = list(wanted - known.keys())
        unchecked = list(documents.keys() - set(ranking.ids)) if query.needs_text_check else []

        def read(connection: "sa.Connection") -> tuple[dict[int, datetime], dict[int, str]]:
            changed_at = found_chunks.changed_at(connection, project_id, unknown)
            return changed_at, found_chunks.texts(connection, unchecked) if unchecked else {}

        rejected = _NONE
        if unknown or unchecked:
            many = len(unknown) + len(unchecked) > LOOKUP_ROWS
            async with self._store.read() if many else self._store.lookup() as connection:
                changed_at, texts = await connection.run_sync(read)
            read_now = {id: changed_at.get(id) for id in unknown}
            dates.update(read_now)
            known |= read_now
        if unchecked:
            rejected = await self._threads.run(candidates.rejected, query, unchecked, texts, deadline)
        return {id: at for id, at in known.items() if at is not None}, rejected


async def _no_dates() -> dict[int, datetime | None]:
    """Return an empty cache for the dates of a project's documents: None for one that does not exist.

    Whenever the database changes, a search begins with a new one. It saves 0.5 ms of the time of a search.
    """
    return {}


def _documents(ranking: Ranking, found: Candidates) -> dict[int, int]:
    """Return the documents of the candidates that may be hits, by candidate."""
    legs, query = found.recall, ranking.query
    ids = legs.keyword.keys() | legs.vector.keys()
    if query.phrases and ranking.request.strategy is Strategy.HYBRID:  # others lack a word of the phrase
        ids &= legs.keyword.keys() | legs.keyword_also.keys()
    ids -= ranking.rejected
    return {id: document_id for id, document_id in legs.documents.items() if id in ids}
