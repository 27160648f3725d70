"""Embed the query → recall → fuse → check against the store → look closer → shape. Degrades in the open: what could
not be done is a value in the answer."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeVar

from findspot import pointer as pointers
from findspot.engines.protocol import EVERYTHING, Damaged, Engine, Misfit, Recall, Vector, Vectors, Within, Words
from findspot.errors import FindspotError
from findspot.indexing.worker import Indexing
from findspot.models import FoundChunk
from findspot.ranking.fusion import CLOSER_LOOK, STRETCH, Weights, convex, look_closer, rrf
from findspot.ranking.scores import Ranked, keyword_leg, vector_leg
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.limits import TIMEOUT_S, Deadline, Gate
from findspot.runtime.threads import Threads
from findspot.search.passages import Stretches
from findspot.store import chunks as rows
from findspot.store.database import Store

if TYPE_CHECKING:
    from findspot.words import Query

log = logging.getLogger(__name__)

T = TypeVar("T")

CANDIDATES = 200  # of each leg
GRACE_S = 1.0  # for keywords alone, when both legs took too long
READ_AT_ONCE = 24  # candidates that are read from the store together
SHARED_TOO_MUCH = 0.5  # of a hit's characters in a better hit of the same node: it says nothing new
DAMAGE_RETRY_MS = 1000
LONG_QUERY = 1000  # characters; reading more takes a thread

NO_VECTOR = ("EMBEDDING_UNAVAILABLE", "EMBEDDING_DIMENSION_MISMATCH", "SEARCH_TIMEOUT")


class Mode(StrEnum):
    """Which legs are asked."""

    KEYWORD = "keyword"
    VECTOR = "vector"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class Ask:
    """A search: what for, where, and how the legs are put together (by default as measured best for the embedder)."""

    project_id: int
    namespace: str
    query: str
    limit: int
    mode: Mode = Mode.HYBRID
    within: Within = EVERYTHING
    fusion: Literal["convex", "rrf"] = "convex"
    weights: Weights | None = None
    typing: bool = False
    timeout_s: float = TIMEOUT_S
    candidates: int = CANDIDATES


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk with its reasons: the parts of `ranked` add up to its score."""

    found: FoundChunk
    ranked: Ranked[int]


@dataclass(frozen=True, slots=True)
class Found:
    """What was found. `code` says what could not be done, and then `fallback` what was done instead."""

    hits: tuple[Hit, ...]
    keyword_count: int
    vector_count: int
    took_ms: float
    rebuilding: bool
    fallback: Literal["none", "fts"] = "none"
    code: str | None = None


class Searching:
    """Searches in one namespace each, over the engine and the store."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        embeddings: Embeddings,
        indexing: Indexing,
        gate: Gate,
        threads: Threads,
    ) -> None:
        self._store = store
        self._engine = engine
        self._embeddings = embeddings
        self._indexing = indexing
        self._gate = gate
        self._stretches = Stretches(embeddings.embedder)
        self._in_thread = threads.search.run

    async def prepare(self) -> None:
        """Load what the first search would otherwise wait for."""
        try:
            await self._in_thread(_load)
            await self._in_thread(self._engine.prepare)
            await self._embeddings.prepare()
        except FindspotError as error:  # a service that is away is asked again by the first search
            log.warning("search is not ready yet: %s", error.message)

    async def search(self, ask: Ask) -> Found:
        began = time.perf_counter()
        with self._gate.search(ask.project_id):
            deadline = Deadline.within(ask.timeout_s)
            query = await self._in_thread(_parsed, ask) if len(ask.query) > LONG_QUERY else _parsed(ask)
            recall, code = (Recall(), None) if query.is_empty else await self.recall(ask, query, deadline)
            hits = await self._hits(ask, query, self._fused(ask, recall))
            self._indexing.warmth.touch(hit.ranked.id for hit in hits)
            return Found(
                hits,
                len(recall.keyword),
                len(recall.vector),
                (time.perf_counter() - began) * 1000,
                ask.namespace in self._indexing.rebuilds,
                "fts" if code else "none",
                code,
            )

    async def embed(self, project_id: int, texts: Sequence[str]) -> Vectors:
        """The vectors of someone's texts. This takes a place as a search does: they share the embedder."""
        with self._gate.search(project_id):
            return await self._embeddings.passing(texts)

    # ── recalling ──

    async def recall(
        self, ask: Ask, query: "Query", deadline: Deadline, words: Words | None = None
    ) -> tuple[Recall, str | None]:
        """What the legs found, and why one of them was left out. Looked for are the words of the query, or others."""
        words = None if ask.mode is Mode.VECTOR else words or sought(query)
        vector, code = None, None
        if ask.mode is not Mode.KEYWORD:
            try:
                vector = await self._vector(replace(ask, query=query.positive_text), deadline)
            except FindspotError as error:
                if ask.mode is Mode.VECTOR or error.code not in NO_VECTOR:
                    raise
                code = error.code
        try:
            return await self._ask_engine(ask, words, vector, deadline), code
        except FindspotError as error:
            if error.code not in NO_VECTOR or ask.mode is not Mode.HYBRID:
                raise
            code = error.code
        return await self._ask_engine(ask, words, None, Deadline.within(GRACE_S)), code

    async def _vector(self, ask: Ask, deadline: Deadline) -> Vector:
        """The query's vector, if the index in service holds vectors of the same kind. The first search opens both: the
        model and the index, side by side."""
        try:
            async with asyncio.timeout(deadline.left_s):
                embedded, held = await asyncio.gather(
                    self._embeddings.query(ask.query),
                    self._in_thread(self._engine.status, ask.namespace),
                    return_exceptions=True,
                )
        except TimeoutError:
            raise FindspotError("SEARCH_TIMEOUT", "The query was not embedded in time.") from None
        if isinstance(embedded, BaseException):
            raise embedded
        if isinstance(held, Damaged):
            raise self._healing(ask, held) from held
        if isinstance(held, BaseException):
            raise held
        vector, status = embedded, held
        if status.fingerprint not in ("", self._embeddings.embedder.fingerprint):
            self._indexing.renew(ask.namespace)
            message = "The index still holds another embedder's vectors; it is being built anew."
            raise FindspotError("EMBEDDING_UNAVAILABLE", message)
        if status.fingerprint and status.dimension != len(vector):
            message = f"The index holds vectors of {status.dimension} dimensions, and the query's has {len(vector)}."
            raise FindspotError("EMBEDDING_DIMENSION_MISMATCH", message)
        return vector

    async def _ask_engine(self, ask: Ask, words: Words | None, vector: "Vector | None", deadline: Deadline) -> Recall:
        def call() -> Recall:
            deadline.check()
            return self._engine.recall(
                ask.namespace, words, vector, limit=ask.candidates, within=ask.within, stop=deadline.check
            )

        try:
            recall = await self._in_thread(call)
            if not recall.is_there and await self._has_come(ask):
                recall = await self._in_thread(call)
            return recall
        except Damaged as damage:
            raise self._healing(ask, damage) from damage
        except Misfit as misfit:  # the index was switched since it was asked what it holds
            message = "The index holds vectors of other dimensions than the query's."
            raise FindspotError("EMBEDDING_DIMENSION_MISMATCH", message) from misfit

    async def _has_come(self, ask: Ask) -> bool:
        """Whether there is an index now where there was none. Raises Damaged if there is none and should be, which an
        engine cannot know."""
        async with self._store.read() as connection:
            if not await rows.any_indexed(connection, ask.namespace):
                return False
        if not (await self._in_thread(self._engine.status, ask.namespace)).fingerprint:
            raise Damaged(f"{ask.namespace} holds nothing, and should")
        return True

    async def look(self, ask: Ask, call: Callable[[], T]) -> T:
        """What a call of the engine finds, for those who need more of it than a recall."""
        try:
            return await asyncio.to_thread(call)
        except Damaged as damage:
            raise self._healing(ask, damage) from damage

    def _healing(self, ask: Ask, damage: Damaged) -> FindspotError:
        """What to say of a damaged index, which is being built anew from here on."""
        self._indexing.heal(ask.namespace, damage)
        message = f"The index {ask.namespace} was damaged and is being rebuilt."
        return FindspotError("INDEX_REBUILDING", message, retryAfterMs=DAMAGE_RETRY_MS)

    # ── ranking ──

    def _fused(self, ask: Ask, recall: Recall) -> Iterator[Ranked[int]]:
        embedder = self._embeddings.embedder
        keyword = keyword_leg(recall.keyword, recall.keyword_also)
        vector = vector_leg(recall.vector, recall.vector_also)
        weights = ask.weights or Weights(1 - embedder.vector_weight, embedder.vector_weight)
        if not recall.vector:
            weights = Weights(1, 0)
        elif not recall.keyword and ask.mode is Mode.VECTOR:
            weights = Weights(0, 1)
        if ask.fusion == "rrf":
            return iter(rrf(keyword, vector, weights))
        return convex(keyword, vector, weights, embedder.calibration.closeness)

    async def _hits(self, ask: Ask, query: "Query", ranked: Iterator[Ranked[int]]) -> tuple[Hit, ...]:
        """The best hits that the store still vouches for, read little by little until there are enough."""
        kept: list[Hit] = []
        looked = ask.fusion != "convex" or ask.mode is not Mode.HYBRID
        while len(kept) < ask.limit and (some := list(islice(ranked, max(READ_AT_ONCE, ask.limit)))):
            found = await self._vouched(ask, [each.id for each in some])
            hits = [Hit(found[each.id], each) for each in some if each.id in found]
            if query.phrases or query.excluded:
                hits = await asyncio.to_thread(_accepted, query, hits)
            if not looked:
                hits, looked = await self._looked_at(replace(ask, query=query.positive_text), hits), True
            kept = _collapsed([*kept, *hits])
        return tuple(kept[: ask.limit])

    async def _vouched(self, ask: Ask, ids: Sequence[int]) -> dict[int, FoundChunk]:
        """Chunks of the namespace that stand in their source as it is now, or as it was one revision ago."""
        async with self._store.moment() as connection:
            found = await connection.run_sync(rows.found, ids)
            behind = {
                each.chunk.table_id
                for each in found.values()
                if each.chunk.table_id is not None and each.revision - each.indexed_revision > 1
            }
            changed = await rows.changed_since(connection, behind) if behind else {}
        return {
            id: each for id, each in found.items() if each.chunk.namespace == ask.namespace and _stands(each, changed)
        }

    async def _looked_at(self, ask: Ask, hits: list[Hit]) -> list[Hit]:
        embedder = self._embeddings.embedder
        if not embedder.is_quick or not any(hit.ranked.part("vector").raw is not None for hit in hits):
            return hits
        first = hits[:CLOSER_LOOK]
        query = await self._embeddings.query(ask.query)
        by_id = {hit.ranked.id: hit for hit in first}
        texts = {id: hit.found.chunk.text for id, hit in by_id.items()}
        best = await self._in_thread(self._stretches.best, query, texts)
        closer = look_closer([hit.ranked for hit in first], best, embedder.calibration.closeness)
        return [*(replace(by_id[each.id], ranked=each) for each in closer), *hits[CLOSER_LOOK:]]


def _load() -> None:
    from findspot.chunking import cut
    from findspot.words import parse

    parse("Any word. 任何词")
    list(cut("Any text. 任何文字。", STRETCH, 0))


def _parsed(ask: Ask) -> "Query":
    from findspot.words import parse

    return parse(ask.query, typing=ask.typing)


def sought(query: "Query") -> Words:
    """What the engine can look for; whether words follow one another is checked in the texts."""
    return Words(
        any_of=query.scored_terms,
        all_of=tuple(dict.fromkeys(term for phrase in query.phrases for term in phrase.terms)),
        none_of=tuple(phrase.term for phrase in query.excluded if phrase.term),
        prefix=query.prefix,
        stems=query.stems,
    )


def _accepted(query: "Query", hits: list[Hit]) -> list[Hit]:
    from findspot.words import Acceptance

    accepts = Acceptance(query)
    return [hit for hit in hits if accepts(hit.found.chunk.text)]


def _stands(found: FoundChunk, changed: Mapping[int, Sequence[tuple[int, str]]]) -> bool:
    """Whether the text is that of the current revision or of the one before.

    The rows are of `indexed_revision`. If the source has moved on by more than one, a document's hit is left out; a
    table's stands if it is known for every revision in between that nothing at or around its node was changed.
    """
    if found.revision - found.indexed_revision <= 1:
        return found.revision > 0
    if found.chunk.table_id is None:
        return False
    here = found.chunk.json_pointer
    between = range(found.indexed_revision + 1, found.revision)
    noted = [(revision, place) for revision, place in changed.get(found.chunk.table_id, ()) if revision in between]
    return len({revision for revision, _ in noted}) == len(between) and not any(
        pointers.holds(place, here) or pointers.holds(here, place) for _, place in noted
    )


def _collapsed(hits: Sequence[Hit]) -> list[Hit]:
    """Without hits of which half or more stands in a better hit of the same node or document."""
    kept: list[Hit] = []
    beside: dict[tuple[int | None, int | None, str], list[Hit]] = {}
    for hit in hits:
        chunk = hit.found.chunk
        neighbours = beside.setdefault((chunk.table_id, chunk.document_id, chunk.json_pointer), [])
        if not any(_says_the_same(hit, better) for better in neighbours):
            neighbours.append(hit)
            kept.append(hit)
    return kept


def _says_the_same(hit: Hit, better: Hit) -> bool:
    one, other = hit.found.chunk, better.found.chunk
    shared = min(one.char_end, other.char_end) - max(one.char_start, other.char_start)
    return shared >= SHARED_TOO_MUCH * (one.char_end - one.char_start)
