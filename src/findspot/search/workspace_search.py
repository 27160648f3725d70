"""Search the documents of a project: recall → rank by the fixed formula → keep the ranking → return a page of it.

A ranking is kept under a cursor. The next page continues that ranking, whatever happens to the documents. Further
candidates are recalled when a page needs them, and come after those that were ranked before.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from findspot.engines.protocol import Vectors, Within
from findspot.errors import FindspotError
from findspot.indexing.status import DocumentIndexState, IndexStatus
from findspot.ranking import workspace
from findspot.ranking.fusion import LOOKED_AT
from findspot.ranking.normal import bm25_norm
from findspot.ranking.scores import Look
from findspot.ranking.workspace import Scored
from findspot.runtime import metrics
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.limits import Deadline, Gate
from findspot.runtime.threads import Threads
from findspot.runtime.turns import Turn
from findspot.search import candidates, recall
from findspot.search.candidates import Candidates, best_with_phrase, full_matches, words_with_full_matches
from findspot.search.counts import HitCounts, count_hits
from findspot.search.filters import DocumentFilters
from findspot.search.folding import BLOCK
from findspot.search.hit_rows import HitRows
from findspot.search.listing import list_results
from findspot.search.looks import Looks
from findspot.search.origins import Origins
from findspot.search.paging import Cursor, Cursors, RankedHit, Ranking, extended
from findspot.search.recall import Degradation, Recalled, Recaller, words_of
from findspot.search.request import SearchRequest, Sort, Strategy
from findspot.search.results import ReadResults, Result, Results
from findspot.search.scoring import least_shown, look_closer, score
from findspot.search.shared_cursors import SharedCursors
from findspot.search.total import Total
from findspot.store.database import Store
from findspot.store.index_states import DocumentsInIndex

if TYPE_CHECKING:
    from findspot.words import Query

log = logging.getLogger(__name__)

WIDENING = 4  # how many times more candidates are recalled when those that were ranked do not fill a page


@dataclass(frozen=True, slots=True)
class Page:
    """Some results of a ranking."""

    results: tuple[Result, ...]
    total: Total
    is_capped: bool  # there are more candidates than are ever ranked
    has_more: bool
    page: int
    offset: int  # hits on the pages before
    cursor: str
    index: DocumentIndexState  # before the recall
    took_ms: float
    degraded: Degradation | None = None
    without_phrases: bool = False  # nothing has a phrase of the query; these are the results without it
    corrected_query: str | None = None  # what was searched for instead of the query
    counts: HitCounts | None = None


@dataclass(frozen=True, slots=True)
class _ReadPage:
    """A page of a ranking and its results. With `exhausted`, there are no more hits until vectors can be used."""

    ranking: Ranking
    hits: Sequence[RankedHit]
    read: ReadResults
    degraded: Degradation | None
    exhausted: bool
    counts: HitCounts | None


class WorkspaceSearch:
    """Searches the documents of a project and keeps the rankings that callers page through."""

    def __init__(
        self,
        store: Store,
        recaller: Recaller,
        embeddings: Embeddings,
        index_status: IndexStatus,
        results: Results,
        gate: Gate,
        threads: Threads,
        looks: Looks,
        query_hash: Callable[[str], str],
        cursors: SharedCursors | None = None,
    ) -> None:
        """`cursors` are those of all processes, if others serve too."""
        self._store = store
        self._recaller = recaller
        self._embeddings = embeddings
        self._index_status = index_status
        self._results = results
        self._filters = DocumentFilters(store)
        self._origins = Origins(store, threads.search, lambda cosines: embeddings.embedder.calibration.scores(cosines))
        self._gate = gate
        self._threads = threads.search
        self._looks = looks
        self._query_hash = query_hash
        self._cursors = Cursors()
        self._shared_cursors = cursors

    async def search(
        self,
        request: SearchRequest,
        page: int | None = None,
        cursor: str | None = None,
        index: DocumentsInIndex | None = None,
    ) -> Page:
        """Return a page: the one with this number, else the one that the cursor asks for, else the first.

        `index` is the state of the index, if the access check of the request has read it.
        """
        with metrics.search(request.project_id, metrics.WORKSPACE) as note:
            found = await self._search(request, page, cursor, index)
            code = found.degraded.code if found.degraded else None
            note(len(found.results), code)
        log.info(
            "%s search in project %d for %s: %d of %d results in %.1f ms, %s",
            request.strategy,
            request.project_id,
            self._query_hash(request.query),
            len(found.results),
            found.total.count,
            found.took_ms,
            code or "success",
        )
        return found

    async def embed(self, project_id: int, texts: Sequence[str]) -> Vectors:
        """Embed texts for a caller. It counts as a search in progress, because both use the embedder."""
        with self._gate.admit_search(project_id):
            return await self._embeddings.embed_unstored(texts)

    async def _search(
        self, request: SearchRequest, page: int | None, token: str | None, known: DocumentsInIndex | None
    ) -> Page:
        began = time.perf_counter()
        with self._gate.admit_search(request.project_id):
            index = await self._index_status.of_documents(request.project_id, known)
            cursor, following = await self._find(request, token) if token else (await self._start(request), 1)
            number = page or following
            found = await self._read_page(cursor, number)
            if token is None and found.read.missing:  # they were replaced since the recall, which finds the new ones
                cursor = await self._start(request)
                found = await self._read_page(cursor, number)
        await self._keep(cursor)
        ranking, hits, degraded = found.ranking, found.hits, found.degraded
        self._index_status.note_hits(each.found.chunk.id for each in found.read.results)
        return Page(
            results=found.read.results,
            total=ranking.total,
            is_capped=ranking.capped,
            has_more=ranking.listed > ranking.end_of(number) or not (ranking.complete or found.exhausted),
            page=number,
            offset=min(ranking.end_of(number - 1), ranking.listed),
            cursor=cursor.token(number + 1),
            index=index,
            took_ms=(time.perf_counter() - began) * 1000,
            degraded=degraded or next((ranking.degraded[hit.id] for hit in hits if hit.id in ranking.degraded), None),
            counts=found.counts,
            without_phrases=ranking.without_phrases,
            corrected_query=ranking.query.corrected_text,
        )

    async def _find(self, request: SearchRequest, token: str) -> tuple[Cursor, int]:
        """Return the cursor that a token names, and the page that it asks for."""
        if self._shared_cursors is not None:
            return await self._shared_cursors.find(request, token)
        return self._cursors.find(request, token)

    async def _keep(self, cursor: Cursor) -> None:
        if self._shared_cursors is not None:
            await self._shared_cursors.keep(cursor)
        else:
            self._cursors.keep(cursor)

    async def _read_page(self, cursor: Cursor, number: int) -> "_ReadPage":
        """Rank enough hits for a page and read its results."""
        request = cursor.ranking.request
        async with cursor.lock, self._gate.search_turn(request.project_id) as turn:
            # The grace time is for the fall-back to keywords, then for reading the results.
            deadline, rows = Deadline.within(request.timeout_s + 2 * recall.GRACE_S), HitRows(self._store)
            async with deadline.enforced():
                degraded, exhausted = await self._fill(cursor, number, deadline.before(recall.GRACE_S), turn, rows)
                ranking = cursor.ranking = cursor.ranking.with_page(number)
                hits = ranking.page(number)
                read = await self._results.read(request.namespace, ranking.query, hits, rows)
                counts = await count_hits(self._store, ranking.documents) if request.counts else None
        return _ReadPage(ranking, hits, read, degraded, exhausted, counts)

    async def looks(self, request: SearchRequest) -> Mapping[int, Look]:
        """Return the closer looks that a search for this request takes at its best candidates."""
        if not self._looks.can_compare:
            return {}
        async with self._gate.search(request.project_id) as turn:
            cursor = await self._start(request)
            deadline = Deadline.within(request.timeout_s)
            async with deadline.enforced():
                await self._fill(cursor, 1, deadline, turn, HitRows(self._store))
        return cursor.ranking.looks

    async def _start(self, request: SearchRequest) -> Cursor:
        query = await self._recaller.parse(request)
        within = await self._filters.resolve(request)
        return Cursor(Ranking(request, query, datetime.now(UTC), within, complete=query.is_empty))

    async def _fill(
        self, cursor: Cursor, page: int, deadline: Deadline, turn: Turn, rows: HitRows
    ) -> tuple[Degradation | None, bool]:
        """Rank enough hits for a page, as far as there is time. If no passage has a phrase, search without phrases.

        Return whether that had to be done without vectors and, if so, whether there is nothing more until they work.
        """
        degraded, exhausted = await self._fill_as_asked(cursor, page, deadline, turn, rows)
        ranking = cursor.ranking
        is_all = (ranking.complete or exhausted) and not ranking.capped
        if ranking.query.phrases and not len(ranking) and is_all:
            query = await self._recaller.parse(ranking.request, requires_phrases=False)
            cursor.ranking = replace(ranking.restarted(query), without_phrases=True)
            degraded, exhausted = await self._fill_as_asked(cursor, page, deadline, turn, rows)
            if not len(cursor.ranking):
                cursor.ranking = replace(cursor.ranking, without_phrases=False)
        return degraded, exhausted

    async def _fill_as_asked(
        self, cursor: Cursor, page: int, deadline: Deadline, turn: Turn, rows: HitRows
    ) -> tuple[Degradation | None, bool]:
        """Rank enough hits for a page, and decide which of them are results."""
        degraded, exhausted, enough = None, False, False
        while True:
            ranking, end = cursor.ranking, cursor.ranking.end_of(page)
            enough = enough or ranking.complete
            if enough or ranking.reach >= end:
                ranking = cursor.ranking = await list_results(rows, self._threads, ranking, end)
            if enough or ranking.listed >= end:
                return degraded, exhausted
            try:
                async with deadline.enforced():
                    found = await self._widen(cursor, deadline, turn, rows)
            except FindspotError as error:
                if error.code != "SEARCH_TIMEOUT" or ranking.reach <= ranking.end_of(page - 1):
                    raise
                enough = True  # a short page; the next one continues from there
                continue
            degraded, exhausted = found.degraded, found.keywords_exhausted
            # A first page ranks 200 candidates per leg, even if fewer than fifty of them are hits.
            hits = len(cursor.ranking)
            enough = exhausted or (page == 1 and 0 < hits < end and not ranking.query.needs_text_check)

    async def _widen(self, cursor: Cursor, deadline: Deadline, turn: Turn, rows: HitRows) -> Candidates:
        """Recall more candidates and rank them after those that were shown."""
        ranking = cursor.ranking
        first = candidates.MAX_CANDIDATES if ranking.request.needs_every_hit else recall.CANDIDATES
        limit = min(ranking.limit * WIDENING or first, candidates.MAX_CANDIDATES)
        found = await self._candidates(ranking, limit, deadline, turn, rows)
        if found.capped and ranking.request.sort is Sort.DATE:
            within = await self._newest(ranking, found)
            fewer = await self._candidates(replace(ranking, within=within), limit, deadline, turn, rows)
            found = replace(fewer, matches=found.matches, capped=True)
        ranking, hits = await self._rank(ranking, found, rows)
        complete = found.degraded is None and self._is_complete(ranking.request, found)
        cursor.ranking = extended(ranking, found, hits, complete=complete)
        return found

    async def _newest(self, ranking: Ranking, found: Candidates) -> Within:
        """Return a filter for the newest documents, so many that all of their matches can be ranked."""
        request, query = ranking.request, ranking.query
        words = words_of(query) if found.by_keyword or query.phrases else None

        async def count(within: Within) -> int:
            return await self._recaller.count(replace(request, within=within), words)

        return await self._filters.newest(request, ranking.within, found.matches, count)

    # ── candidates ──

    async def _candidates(
        self, ranking: Ranking, limit: int, deadline: Deadline, turn: Turn, rows: HitRows
    ) -> Candidates:
        """Recall up to `limit` candidates per leg.

        A semantic search for a phrase asks keywords for every chunk with the words of the phrase, and takes the
        nearest of those.
        """
        request, query = replace(ranking.request, within=ranking.within), ranking.query
        by_phrase = request.strategy is Strategy.VECTOR and bool(query.phrases)
        asked = replace(request, strategy=Strategy.HYBRID) if by_phrase else request
        wide = candidates.MAX_CANDIDATES if by_phrase else limit
        words, recall_deadline = words_with_full_matches(query), deadline.before(recall.GRACE_S)
        count_to = 0 if query.needs_text_check else candidates.MAX_CANDIDATES
        recalled = await self._recaller.recall(
            asked, query, recall_deadline, turn, words=words, limit=wide, count_to=count_to
        )
        legs, by_keyword = recalled.recall, recalled.by_keyword
        if by_phrase:
            legs, by_keyword = best_with_phrase(legs, limit, by_vector=recalled.by_vector), not recalled.by_vector
        full, more_full = full_matches(query, legs) if by_keyword else (frozenset[int](), False)
        found = Candidates(
            limit=limit,
            recall=legs,
            full=full,
            more_full=more_full,
            by_keyword=by_keyword,
            by_vector=recalled.by_vector,
            degraded=recalled.degraded,
        )
        matches = await self._count(asked, query, recalled, wide)
        found = await self._origins.read(ranking, found, deadline, rows)
        return replace(found, matches=matches, capped=matches >= wide >= candidates.MAX_CANDIDATES)

    async def _count(self, request: SearchRequest, query: "Query", recalled: Recalled, limit: int) -> int:
        """Return how many chunks match by keyword; for a search by vector, how many have a vector."""
        scores = recalled.recall.keyword if recalled.by_keyword else recalled.recall.vector
        if len(scores) < limit or query.needs_text_check:
            return len(scores)
        if recalled.recall.matches is not None:
            return recalled.recall.matches
        return await self._recaller.count(request, words_of(query) if recalled.by_keyword else None)

    # ── ranking ──

    async def _rank(self, ranking: Ranking, found: Candidates, rows: HitRows) -> tuple[Ranking, list[Scored[int]]]:
        """Return the hits among the candidates, best first, and the ranking with the closer looks that were taken.

        Many candidates are ranked in a thread.
        """
        calibration = self._embeddings.embedder.calibration
        if len(found.origins) <= 2 * recall.CANDIDATES:
            hits = score(ranking, found, calibration.scores)
        else:
            hits = await self._threads.run(score, ranking, found, calibration.scores)
        if found.by_vector and ranking.request.strategy is Strategy.HYBRID:
            if not ranking.looks and self._looks.can_compare:
                ids = [hit.id for hit in hits[:BLOCK]]
                await rows.read(ids)  # all that the first page needs, not only those that are looked at
                looks = await self._looks.of(ranking.query.positive_text, ids[:LOOKED_AT], rows)
                ranking = replace(ranking, looks=looks)
            hits = look_closer(hits, ranking, found, calibration.score)
        least = least_shown(ranking.request)
        shown = [hit for hit in hits if hit.total >= least]
        if ranking.request.sort is Sort.DATE:  # equal ones stay in their order
            shown.sort(key=lambda hit: found.origins[hit.id].updated_at, reverse=True)
        return ranking, shown

    def _is_complete(self, request: SearchRequest, found: Candidates) -> bool:
        """Return whether no other chunk can be a hit. Such a chunk is worse in each leg than the last candidate."""
        keyword, cosines = found.recall.keyword, found.recall.vector
        more_by_keyword, more_by_vector = len(keyword) >= found.limit, len(cosines) >= found.limit
        if not (more_by_keyword or more_by_vector):
            return True
        if not request.hides_low_scores:
            return False
        weights = workspace.scaled_up(workspace.HYBRID, keyword=found.by_keyword, vector=found.by_vector)
        last = min((score for id, score in keyword.items() if found.more_full or id not in found.full), default=0.0)
        by_keyword = bm25_norm(last, full_match=found.more_full) if more_by_keyword else 0.0
        similarity = self._embeddings.embedder.calibration.score
        by_vector = similarity(min(cosines.values())) if more_by_vector else 0.0
        best = weights.keyword * by_keyword + weights.vector * by_vector + weights.recency
        return best < workspace.HIDES_BELOW
