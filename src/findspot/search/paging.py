"""Rankings and cursors. A ranking is a value; cursors are the only state of search."""

import asyncio
import secrets
import time
from array import array
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache, TTLCache

from findspot.engines.protocol import EVERYTHING, Within
from findspot.errors import FindspotError, invalid
from findspot.ranking.scores import Look
from findspot.ranking.workspace import Scored, Shown
from findspot.search import candidates
from findspot.search.candidates import Candidates
from findspot.search.folding import Listing
from findspot.search.recall import Degradation
from findspot.search.request import SearchRequest, Strategy
from findspot.search.total import NOTHING, Counts, Total

if TYPE_CHECKING:
    from findspot.words import Query

KEPT_S = 300.0  # since a cursor was last used
MAX_WEIGHT = 8_000_000  # of all cursors together, about ten bytes each
MAX_PROJECT_WEIGHT = 2_000_000  # so that many searches in one project leave the cursors of others alone


class RankedHit(NamedTuple):
    """A hit on a page, its score, and how many hits are folded into it."""

    id: int
    score: Shown
    duplicates: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits in their order, as far as they were ranked. Pages that were shown keep their hits for good."""

    request: SearchRequest
    query: "Query"
    now: datetime
    within: Within = EVERYTHING  # of the engine: what the request's filters admitted at the start
    ids: Sequence[int] = field(default_factory=lambda: array("q"))
    scores: Sequence[float] = field(default_factory=lambda: array("d"))  # three per hit: keyword, vector, recency
    documents: Sequence[int] = field(default_factory=lambda: array("q"))
    listing: Listing = field(default_factory=Listing)  # which hits are results
    page_ends: tuple[int, ...] = ()  # of the pages that were shown
    rejected: Set[int] = frozenset()  # candidates whose texts do not match
    looks: Mapping[int, Look] = field(default_factory=dict)  # the closer looks at the best candidates
    limit: int = 0  # candidates per leg that were recalled so far
    complete: bool = False  # there is nothing more to rank
    capped: bool = False  # there are more candidates than are ever ranked
    total: Total = NOTHING
    without_phrases: bool = False  # nothing has a phrase of the query, so it is searched for without
    degraded: Mapping[int, Degradation] = field(default_factory=dict)  # by id: hits that were ranked without vectors

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def weight(self) -> int:
        """Return about how many numbers it holds in memory."""
        asked = len(self.request.query) + 6 * len(self.within.document_ids or ())  # entries of a set are large
        hits = 5 * len(self.ids) + 3 * self.listing.examined
        return 100 + asked + hits + len(self.rejected) + len(self.degraded) + len(self.page_ends)

    @property
    def shown(self) -> int:
        """Return how many results are on pages that were shown."""
        return self.page_ends[-1] if self.page_ends else 0

    @property
    def listed(self) -> int:
        """Return how many results there are among the hits that were examined."""
        return len(self.listing.places)

    @property
    def reach(self) -> int:
        """Return how many results there are at most, if every hit that has yet to be examined is one."""
        return self.listed + len(self) - self.listing.examined

    def end_of(self, page: int) -> int:
        """Return where a page ends, or would end if there were enough results."""
        if page <= len(self.page_ends):
            return self.page_ends[page - 1] if page else 0
        return self.shown + (page - len(self.page_ends)) * self.request.page_size

    def with_page(self, page: int) -> "Ranking":
        """Return the ranking with this page, and all before it, marked as shown."""
        ends = list(self.page_ends)
        while len(ends) < page and (ends[-1] if ends else 0) < self.listed:
            ends.append(min((ends[-1] if ends else 0) + self.request.page_size, self.listed))
        return self if len(ends) == len(self.page_ends) else replace(self, page_ends=tuple(ends))

    def restarted(self, query: "Query") -> "Ranking":
        """Return an empty ranking for another reading of the same request."""
        return Ranking(self.request, query, self.now, self.within, complete=query.is_empty)

    def page(self, page: int) -> list[RankedHit]:
        """Return the results of a page."""
        places = self.listing.places[self.end_of(page - 1) : self.end_of(page)]
        scores = (Shown.of(*self.scores[3 * place : 3 * place + 3]) for place in places)
        ids = (self.ids[place] for place in places)
        return [RankedHit(*each) for each in zip(ids, scores, self.listing.duplicates(places), strict=True)]

    def settled(self) -> "Ranking":
        """Return the ranking with only the results that were shown, and after them the hits that are folded into them.

        The others are ranked again, together with new candidates.
        """
        if not self.ids:
            return self
        listing, places = self.listing.first(self.shown)
        ids, documents = (array("q", [each[place] for place in places]) for each in (self.ids, self.documents))
        scores = array("d", [each for place in places for each in self.scores[3 * place : 3 * place + 3]])
        return replace(self, ids=ids, scores=scores, documents=documents, listing=listing)


def extended(ranking: Ranking, found: Candidates, hits: Sequence[Scored[int]], *, complete: bool) -> Ranking:
    """Return the ranking that follows when these hits are ranked among the candidates that were found.

    Results on shown pages stay where they are, and the new hits come after them. Hits that were ranked before and are
    not found now follow last. Without vectors scores are not comparable: new hits then come after all others.
    """
    kept = ranking if found.degraded else ranking.settled()
    ids, scores, documents = array("q", kept.ids), array("d", kept.scores), array("q", kept.documents)
    known = set(ids)
    new = [hit for hit in hits if hit.id not in known]
    ids.extend([hit.id for hit in new])
    scores.extend(chain.from_iterable([hit[1:4] for hit in new]))
    documents.extend([found.origins[hit.id].document_id for hit in new])
    known.update(ids)
    for place, id in enumerate(ranking.ids):
        if id not in known:
            ids.append(id)
            scores.extend(ranking.scores[3 * place : 3 * place + 3])
            documents.append(ranking.documents[place])
    most = candidates.MAX_CANDIDATES
    del ids[most:], scores[3 * most :], documents[most:]
    degraded = ranking.degraded
    if degraded or found.degraded:
        is_new = {hit.id for hit in new}
        degraded = {id: each for id, each in degraded.items() if id not in is_new}
        degraded |= dict.fromkeys(is_new, found.degraded) if found.degraded else {}
    longer = replace(
        kept,
        ids=ids,
        scores=scores,
        documents=documents,
        rejected=ranking.rejected | found.rejected,
        limit=found.limit,
        complete=complete or found.limit >= most,
        capped=found.capped or len(ids) >= most,
        degraded=degraded,
    )
    return replace(longer, total=_total(longer, found, hits))


def _total(ranking: Ranking, found: Candidates, hits: Sequence[Scored[int]]) -> Total:
    by_both = ranking.request.strategy is Strategy.HYBRID and found.by_vector
    return Counts(
        hits=len(ranking),
        limit=candidates.MAX_CANDIDATES,
        ranked_all=ranking.complete and not ranking.capped,
        keywords_only=len(ranking.degraded) == len(ranking),
        keywords_exhausted=found.keywords_exhausted,
        texts_decide=ranking.query.needs_text_check,
        leg_matches=found.matches,
        vector_only_hits=sum(not hit.has_words for hit in hits) if by_both else 0,
        more_by_vector=by_both and not ranking.complete and len(found.recall.vector) >= found.limit,
        vectors_failed=found.degraded is not None,
    ).total()


class Cursor:
    """The place of a ranking that is read on. Hold `lock` while replacing `ranking`."""

    def __init__(self, ranking: Ranking, name: str | None = None) -> None:
        self.name = name or secrets.token_urlsafe(12)
        self.ranking = ranking
        self.lock = asyncio.Lock()

    @property
    def weight(self) -> int:
        return self.ranking.weight

    def token(self, page: int) -> str:
        """Return the text that asks for a page of this ranking."""
        return f"{self.name}.{page}"


def split_token(token: str) -> tuple[str, int]:
    """Return the name of a cursor, and the page that its token asks for."""
    name, _, page = token.partition(".")
    if not (page.isascii() and page.isdigit() and len(page) < 8 and int(page)):
        raise unknown_cursor()
    return name, int(page)


def unknown_cursor() -> FindspotError:
    return invalid("cursor", "is unknown, or was not used for five minutes; search again without it")


def require_same_search(cursor: Cursor, request: SearchRequest) -> None:
    """Raise INVALID_ARGUMENT if a cursor belongs to another request."""
    if replace(cursor.ranking.request, timeout_s=request.timeout_s) != request:
        raise invalid("cursor", "belongs to another search; send the same query with it, or none")


class Cursors:
    """The cursors of a process that serves alone: of every project, for five minutes after their last use, and bounded
    by their weight.

    The cursors of a project are evicted by least recent use. When all projects together hold too much, the project
    that searched least recently loses its cursors.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        max_weight: int = MAX_WEIGHT,
        max_project_weight: int = MAX_PROJECT_WEIGHT,
    ) -> None:
        self._clock = clock
        self._max_project_weight = min(max_weight, max_project_weight)
        self._projects: LRUCache[int, TTLCache[str, Cursor]] = LRUCache(
            max_weight, getsizeof=lambda cursors: int(cursors.currsize)
        )

    def keep(self, cursor: Cursor) -> None:
        """Keep a cursor for another five minutes. One that is too heavy for the limits is not kept."""
        project_id = cursor.ranking.request.project_id
        mine = self._projects.get(project_id) or TTLCache(
            self._max_project_weight, KEPT_S, timer=self._clock, getsizeof=lambda each: each.weight
        )
        mine.pop(cursor.name, None)
        if cursor.weight <= mine.maxsize:
            mine[cursor.name] = cursor
        self._projects[project_id] = mine  # measures its weight again

    def find(self, request: SearchRequest, token: str) -> tuple[Cursor, int]:
        """Return the cursor that a token names, and the page that it asks for.

        A cursor of another project counts as unknown.
        """
        name, page = split_token(token)
        mine = self._projects.get(request.project_id)
        cursor = None if mine is None else mine.get(name)
        if cursor is None:
            raise unknown_cursor()
        require_same_search(cursor, request)
        self.keep(cursor)
        return cursor, page

    def __len__(self) -> int:
        return sum(len(each) for each in self._projects.values())
