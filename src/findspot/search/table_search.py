"""Search a table (or any namespace) for a tool: recall → fuse → check against the store → look closer → hits."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from findspot import pointer as pointers
from findspot.embedding.calibration import UNRELATED
from findspot.engines.protocol import Recall
from findspot.indexing.status import IndexStatus
from findspot.models import FoundChunk
from findspot.ranking.fusion import LOOKED_AT, Weights, convex, rescore, rrf
from findspot.ranking.normal import BM25_HALF
from findspot.ranking.scores import Look, Ranked, keyword_leg, vector_leg
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.limits import Deadline, Gate
from findspot.runtime.threads import Threads
from findspot.runtime.turns import Turn
from findspot.search.recall import Degradation, Recalled, Recaller, words_of
from findspot.search.request import SearchRequest, Strategy
from findspot.search.segments import Segments
from findspot.store import found_chunks
from findspot.store.database import LOOKUP_ROWS, Store
from findspot.store.reader import Reader

if TYPE_CHECKING:
    from findspot.words import Query

READ_AT_ONCE = LOOKED_AT  # candidates per read of the store
Source: TypeAlias = tuple[int | None, int | None, str]  # table, document and pointer of a chunk

QUOTES_CHECKED = 100  # candidates whose texts are checked for quoted pieces
PHRASE_BONUS = BM25_HALF  # BM25 of a quoted piece: half of the keyword scale
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
    corrected_query: str | None = None  # what was searched for instead of the query


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
        segments: Segments,
    ) -> None:
        self._store = store
        self._recaller = recaller
        self._embeddings = embeddings
        self._index_status = index_status
        self._gate = gate
        self._threads = threads.search
        self._segments = segments

    async def search(self, request: SearchRequest) -> Found:
        """Return the best hits. A hybrid search falls back to keywords; a search by vectors alone fails."""
        began = time.perf_counter()
        async with self._gate.search(request.project_id) as turn:
            query = await self._recaller.parse(request, requires_phrases=False, excludes=False)
            deadline = Deadline.within(request.timeout_s)
            recalled = await self._recall(request, query, deadline, turn)
            kept, near, missing = await self._hits(request, query, recalled.recall)
            if missing:  # chunks were replaced since the recall, which finds the new ones
                recalled = await self._recall(request, query, deadline, turn)
                kept, near, _ = await self._hits(request, query, recalled.recall)
        hits = tuple(kept[: request.limit])
        self._index_status.note_hits(hit.ranked.id for hit in hits)
        took_ms = (time.perf_counter() - began) * 1000
        counts = len(recalled.recall.keyword), len(recalled.recall.vector)
        return Found(hits, max(len(kept), near), *counts, took_ms, recalled.degraded, query.corrected_text)

    async def _recall(self, request: SearchRequest, query: "Query", deadline: Deadline, turn: Turn) -> Recalled:
        if query.is_empty:
            return Recalled(Recall(), by_keyword=False, by_vector=False)
        fall_back = request.strategy is Strategy.HYBRID
        quoted = tuple(dict.fromkeys(term for phrase in query.preferred for term in phrase.terms))
        words = replace(words_of(query), full_match=quoted)  # recalls chunks with all quoted words first
        return await self._recaller.recall(request, query, deadline, turn, words=words, fall_back=fall_back)

    async def _raised(self, query: "Query", recall: Recall) -> Recall:
        """Return the candidates with the keyword scores of those raised that contain a quoted piece of the query."""
        if not query.preferred:
            return recall
        best = islice(recall.keyword, QUOTES_CHECKED)  # full matches are first
        async with self._store.lookup(one=True) as connection:
            texts = await connection.run_sync(found_chunks.texts, list(best))
        shares = await self._threads.run_if_long(texts.values(), _quoted_shares, query, texts)
        raised = {id: score + PHRASE_BONUS * shares.get(id, 0.0) for id, score in recall.keyword.items()}
        return replace(recall, keyword=raised)

    def _ranked(self, request: SearchRequest, recall: Recall, near: Mapping[int, float]) -> Iterator[Ranked[int]]:
        embedder = self._embeddings.embedder
        keyword = keyword_leg(recall.keyword, recall.keyword_also)
        vector = vector_leg(near, recall.vector_also)
        weights = request.weights or Weights(1 - embedder.vector_weight, embedder.vector_weight)
        if not vector.scores:
            weights = Weights(1, 0)
        elif not recall.keyword and request.strategy is Strategy.VECTOR:
            weights = Weights(0, 1)
        if request.fusion == "rrf":
            return iter(rrf(keyword, vector, weights))
        return convex(keyword, vector, weights, embedder.calibration.closenesses)

    def _near(self, recall: Recall) -> dict[int, float]:
        """Return the cosines of the candidates, without those that are near only by chance: they have no word of the
        query, and their score means "unrelated"."""
        has_words = recall.keyword.keys() | recall.keyword_also.keys()
        similarity = self._embeddings.embedder.calibration.score
        return {id: each for id, each in recall.vector.items() if id in has_words or similarity(each) >= UNRELATED}

    async def _hits(self, request: SearchRequest, query: "Query", recalled: Recall) -> tuple[list[Hit], int, bool]:
        """Return the best candidates that are still current, read from the store batch by batch until there are
        enough; how many candidates there are, if not all were read; and whether some have no row any more.

        The last batch may have more hits than are asked for.
        """
        kept: list[Hit] = []
        missing = False
        looks: Mapping[int, Look] | None = None
        recall = await self._raised(query, recalled)
        near, has_second_stage = self._near(recall), self._has_second_stage(request, recall)
        ranked = self._ranked(request, recall, near)
        while len(kept) < request.limit and (some := list(islice(ranked, max(READ_AT_ONCE, request.limit)))):
            found, are_missing = await self._current(request, [each.id for each in some])
            missing = missing or are_missing
            hits = [Hit(found[each.id], each) for each in some if each.id in found]
            if has_second_stage:
                looks = await self._looks(query, hits) if looks is None else {}
                hits = self._rescored(hits, looks)
            kept = _without_overlaps([*kept, *hits])
        further = 0 if next(ranked, None) is None else len(recall.keyword.keys() | near.keys())
        return [hit for hit in kept if hit.ranked.score > 0], further, missing

    async def _current(self, request: SearchRequest, ids: Sequence[int]) -> tuple[dict[int, FoundChunk], bool]:
        """Return those of these chunks that belong to the namespace and are still current (see `_is_current`), and
        whether others have no row any more."""
        async with self._store.lookup(one=True) as connection:
            found = await connection.run_sync(found_chunks.found, ids)
        changed: Sequence[tuple[int, str]] = ()
        if any(map(_is_far_behind, found.values())):
            async with self._store.lookup() as connection:  # again, at the same moment as the changes
                found = await connection.run_sync(found_chunks.found, ids)
                changed = await _changes(connection, request.namespace, found.values())
        mine = {id: each for id, each in found.items() if each.chunk.namespace == request.namespace}
        return {id: each for id, each in mine.items() if _is_current(each, changed)}, len(found) < len(ids)

    def _has_second_stage(self, request: SearchRequest, recall: Recall) -> bool:
        """Return whether the best hits are looked at closely: by both legs, added up, with an embedder that can."""
        by_both = request.strategy is Strategy.HYBRID and bool(recall.vector)
        return by_both and request.fusion == "convex" and self._segments.can_compare

    async def _looks(self, query: "Query", hits: Sequence[Hit]) -> Mapping[int, Look]:
        """Return the closer look at the best of these hits."""
        vector = await self._embeddings.query(query.positive_text)
        texts = {hit.ranked.id: hit.found.chunk.text for hit in hits[:LOOKED_AT]}
        return await self._threads.run_if_long(
            texts.values(), self._segments.compare, query.positive_text, vector, texts
        )

    def _rescored(self, hits: Sequence[Hit], looks: Mapping[int, Look]) -> list[Hit]:
        by_id = {hit.ranked.id: hit for hit in hits}
        sources = {id: _source(hit) for id, hit in by_id.items()}
        ranked = [hit.ranked for hit in hits]
        rescored = rescore(ranked, looks, sources, self._embeddings.embedder.calibration.closeness)
        return [Hit(by_id[each.id].found, each) for each in rescored]


def _quoted_shares(query: "Query", texts: Mapping[int, str]) -> dict[int, float]:
    """Return which share of the quoted pieces each text contains."""
    from findspot.words import Acceptance, Query

    tests = [Acceptance(Query(phrases=(phrase,))) for phrase in query.preferred]
    return {id: sum(test(text) for test in tests) / len(tests) for id, text in texts.items()}


def _is_far_behind(found: FoundChunk) -> bool:
    """Return whether the source of a chunk is more than one revision ahead of it."""
    return found.revision - found.indexed_revision > 1


async def _changes(connection: Reader, namespace: str, chunks: Iterable[FoundChunk]) -> list[tuple[int, str]]:
    """Return the changes that the index has yet to follow in the table of a namespace, without the newest revision.

    All chunks of a namespace have the same table. With more changes than a lookup may read, return none: then no hit
    of the table counts as current.
    """
    found = next((each for each in chunks if each.chunk.namespace == namespace), None)
    if found is None or found.chunk.table_id is None or not _is_far_behind(found):
        return []
    changed = await found_chunks.changed_between(
        connection, found.chunk.table_id, found.indexed_revision, found.revision, LOOKUP_ROWS + 1
    )
    return changed if len(changed) <= LOOKUP_ROWS else []


def _is_current(found: FoundChunk, changed: Sequence[tuple[int, str]]) -> bool:
    """Return whether the chunk's text is that of the current revision of its source or of the one before.

    The chunk row belongs to `indexed_revision`. If the source is more than one revision ahead, a chunk of a document
    is not current. A chunk of a table is, if the changes of every revision in between are known and none of them is
    at, above or below its node.
    """
    if not _is_far_behind(found):
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
    by_source: dict[Source, list[Hit]] = {}
    for hit in hits:
        better = by_source.setdefault(_source(hit), [])
        if not any(_overlaps(hit, each) for each in better):
            better.append(hit)
            kept.append(hit)
    return kept


def _source(hit: Hit) -> Source:
    chunk = hit.found.chunk
    return chunk.table_id, chunk.document_id, chunk.json_pointer


def _overlaps(hit: Hit, better: Hit) -> bool:
    one, other = hit.found.chunk, better.found.chunk
    shared = min(one.char_end, other.char_end) - max(one.char_start, other.char_start)
    return shared >= MAX_OVERLAP * (one.char_end - one.char_start)
