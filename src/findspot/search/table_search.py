"""Search a table (or any namespace) for a tool: recall → fuse → check against the store → compare segments → hits."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from findspot import pointer as pointers
from findspot.engines.protocol import Recall
from findspot.indexing.status import IndexStatus
from findspot.models import FoundChunk
from findspot.ranking.fusion import SEGMENTED_HITS, Weights, convex, rescore, rrf
from findspot.ranking.scores import Ranked, keyword_leg, vector_leg
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.limits import Deadline, Gate
from findspot.runtime.threads import Threads
from findspot.runtime.turns import Turn
from findspot.search.recall import Degradation, Recalled, Recaller
from findspot.search.request import SearchRequest, Strategy
from findspot.search.segments import Segments
from findspot.store import chunks as rows
from findspot.store.database import LOOKUP_ROWS, Reader, Store

if TYPE_CHECKING:
    from findspot.words import Query

READ_AT_ONCE = 24  # candidates per read of the store
MAX_OVERLAP = 0.5  # share of a hit's characters; with more in a better hit of the same node, it adds nothing new


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk and its score. The parts of `ranked` add up to the score."""

    found: FoundChunk
    ranked: Ranked[int]


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of a search, best first, how many passages matched, and how many candidates each leg had."""

    hits: tuple[Hit, ...]
    total: int
    keyword_count: int
    vector_count: int
    took_ms: float
    degraded: Degradation | None = None


class TableSearch:
    """Searches one table per request."""

    def __init__(
        self,
        store: Store,
        recaller: Recaller,
        embeddings: Embeddings,
        index_status: IndexStatus,
        gate: Gate,
        threads: Threads,
    ) -> None:
        self._store = store
        self._recaller = recaller
        self._embeddings = embeddings
        self._index_status = index_status
        self._gate = gate
        self._in_thread = threads.search.run
        self._segments = Segments(embeddings.embedder)

    async def search(self, request: SearchRequest) -> Found:
        """Return the best hits. A hybrid search falls back to keywords; a search by vectors alone fails."""
        began = time.perf_counter()
        async with self._gate.search(request.project_id) as turn:
            query = await self._recaller.parse(request)
            deadline = Deadline.within(request.timeout_s)
            recalled = await self._recall(request, query, deadline, turn)
            ranked = self._ranked(request, recalled.recall)
            kept, missing = await self._hits(request, query, ranked)
            if missing:  # chunks were replaced since the recall, which finds the new ones
                recalled = await self._recall(request, query, deadline, turn)
                ranked = self._ranked(request, recalled.recall)
                kept, _ = await self._hits(request, query, ranked)
        hits = tuple(kept[: request.limit])
        self._index_status.note_hits(hit.ranked.id for hit in hits)
        took_ms = (time.perf_counter() - began) * 1000
        keyword, vector = recalled.recall.keyword, recalled.recall.vector
        total = len(kept) if next(ranked, None) is None else max(len(kept), len(keyword.keys() | vector.keys()))
        return Found(hits, total, len(keyword), len(vector), took_ms, recalled.degraded)

    async def _recall(self, request: SearchRequest, query: "Query", deadline: Deadline, turn: Turn) -> Recalled:
        if query.is_empty:
            return Recalled(Recall(), by_keyword=False, by_vector=False)
        fall_back = request.strategy is Strategy.HYBRID
        return await self._recaller.recall(request, query, deadline, turn, fall_back=fall_back)

    def _ranked(self, request: SearchRequest, recall: Recall) -> Iterator[Ranked[int]]:
        embedder = self._embeddings.embedder
        keyword = keyword_leg(recall.keyword, recall.keyword_also)
        vector = vector_leg(recall.vector, recall.vector_also)
        weights = request.weights or Weights(1 - embedder.vector_weight, embedder.vector_weight)
        if not recall.vector:
            weights = Weights(1, 0)
        elif not recall.keyword and request.strategy is Strategy.VECTOR:
            weights = Weights(0, 1)
        if request.fusion == "rrf":
            return iter(rrf(keyword, vector, weights))
        return convex(keyword, vector, weights, embedder.calibration.closeness)

    async def _hits(
        self, request: SearchRequest, query: "Query", ranked: Iterator[Ranked[int]]
    ) -> tuple[list[Hit], bool]:
        """Return the best candidates that are still current, read from the store batch by batch until there are
        enough, and whether some have no row any more. The last batch may have more hits than are asked for."""
        kept: list[Hit] = []
        missing = False
        rescored = request.fusion != "convex" or request.strategy is not Strategy.HYBRID
        while len(kept) < request.limit and (some := list(islice(ranked, max(READ_AT_ONCE, request.limit)))):
            found, are_missing = await self._current(request, [each.id for each in some])
            missing = missing or are_missing
            hits = [Hit(found[each.id], each) for each in some if each.id in found]
            if query.phrases or query.excluded:
                hits = await self._in_thread(_accepted, query, hits)
            if not rescored:
                hits, rescored = await self._rescored(query, hits), True
            kept = _without_overlaps([*kept, *hits])
        return kept, missing

    async def _current(self, request: SearchRequest, ids: Sequence[int]) -> tuple[dict[int, FoundChunk], bool]:
        """Return those of these chunks that belong to the namespace and are still current (see `_is_current`), and
        whether others have no row any more."""
        async with self._store.lookup() as connection:
            found = await connection.run_sync(rows.found, ids)
            mine = {id: each for id, each in found.items() if each.chunk.namespace == request.namespace}
            changed = await _changes(connection, next(iter(mine.values()), None))
        return {id: each for id, each in mine.items() if _is_current(each, changed)}, len(found) < len(ids)

    async def _rescored(self, query: "Query", hits: list[Hit]) -> list[Hit]:
        """Return the hits with the best of them rescored by their segments."""
        embedder = self._embeddings.embedder
        if not embedder.is_quick or not any(hit.ranked.part("vector").raw is not None for hit in hits):
            return hits
        first = hits[:SEGMENTED_HITS]
        vector = await self._embeddings.query(query.positive_text)
        by_id = {hit.ranked.id: hit for hit in first}
        texts = {id: hit.found.chunk.text for id, hit in by_id.items()}
        best = await self._in_thread(self._segments.best, vector, texts)
        rescored = rescore([hit.ranked for hit in first], best, embedder.calibration.closeness)
        return [*(replace(by_id[each.id], ranked=each) for each in rescored), *hits[SEGMENTED_HITS:]]


def _accepted(query: "Query", hits: list[Hit]) -> list[Hit]:
    from findspot.words import Acceptance

    accepts = Acceptance(query)
    return [hit for hit in hits if accepts(hit.found.chunk.text)]


async def _changes(connection: Reader, found: FoundChunk | None) -> list[tuple[int, str]]:
    """Return the changes that the index has yet to follow in the table of a chunk, without the newest revision.

    All chunks of a namespace have the same table. With more changes than a lookup may read, return none: then no hit
    of the table counts as current.
    """
    if found is None or found.chunk.table_id is None or found.revision - found.indexed_revision <= 1:
        return []
    changed = await rows.changed_between(
        connection, found.chunk.table_id, found.indexed_revision, found.revision, LOOKUP_ROWS + 1
    )
    return changed if len(changed) <= LOOKUP_ROWS else []


def _is_current(found: FoundChunk, changed: Sequence[tuple[int, str]]) -> bool:
    """Return whether the chunk's text is that of the current revision of its source or of the one before.

    The chunk row belongs to `indexed_revision`. If the source is more than one revision ahead, a chunk of a document
    is not current. A chunk of a table is, if the changes of every revision in between are known and none of them is
    at, above or below its node.
    """
    if found.revision - found.indexed_revision <= 1:
        return found.revision > 0
    if found.chunk.table_id is None:
        return False
    here = found.chunk.json_pointer
    between = found.revision - found.indexed_revision - 1
    return len({revision for revision, _ in changed}) == between and not any(
        pointers.holds(place, here) or pointers.holds(here, place) for _, place in changed
    )


def _without_overlaps(hits: Sequence[Hit]) -> list[Hit]:
    """Drop every hit of which half or more is part of a better hit of the same node or document."""
    kept: list[Hit] = []
    by_source: dict[tuple[int | None, int | None, str], list[Hit]] = {}
    for hit in hits:
        chunk = hit.found.chunk
        better = by_source.setdefault((chunk.table_id, chunk.document_id, chunk.json_pointer), [])
        if not any(_overlaps(hit, each) for each in better):
            better.append(hit)
            kept.append(hit)
    return kept


def _overlaps(hit: Hit, better: Hit) -> bool:
    one, other = hit.found.chunk, better.found.chunk
    shared = min(one.char_end, other.char_end) - max(one.char_start, other.char_start)
    return shared >= MAX_OVERLAP * (one.char_end - one.char_start)
