"""Vectors of texts and queries, from a cache or from the embedder.

Calls of the embedder block, possibly for as long as a service takes. They run in thread pools that nothing else uses;
only a model that is at hand embeds a query in the thread of the caller (`query_here`).
"""

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from cachetools import TTLCache

from findspot.embedding.protocol import Embedder, Vector, Vectors
from findspot.errors import FindspotError
from findspot.models import Backoff
from findspot.runtime.backoff import CircuitBreaker
from findspot.runtime.embedders import open_embedder
from findspot.runtime.threads import Threads
from findspot.runtime.turns import Turn
from findspot.settings import Settings
from findspot.store import embeddings as stored
from findspot.store.database import Store

log = logging.getLogger(__name__)

QUERIES_KEPT = 10_000
BREAKER_BACKOFF = Backoff(first_s=1.0, longest_s=5.0)  # short: searches use vectors again soon after an outage
OUTAGE_CODES = ("EMBEDDING_UNAVAILABLE", "EMBEDDING_DIMENSION_MISMATCH")


class Embeddings:
    """The only caller of the embedder. The store keeps every vector, so each embedder embeds a text once."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        threads: Threads,
        query_ttl_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._queries: TTLCache[str, Vector] = TTLCache(QUERIES_KEPT, query_ttl_s, clock)
        self._using_queries = threading.Lock()
        self._turn = asyncio.Lock()
        self._unstored: dict[bytes, bytes] = {}  # vectors by hash that are not in the store yet
        self._storing: set[asyncio.Task[None]] = set()
        self._breaker = CircuitBreaker(BREAKER_BACKOFF, OUTAGE_CODES, clock)
        self._query_threads = threads.embed_queries
        self._text_threads = threads.embed_texts
        self.embedder = embedder
        self._is_loaded = False  # fingerprint and dimension are known

    @classmethod
    def open(cls, store: Store, settings: Settings, threads: Threads) -> "Embeddings":
        """Return embeddings with the embedder of the settings. `prepare` loads it."""
        ttl_s = settings.embedding_cache_ttl if settings.enable_embedding_cache else 0
        return cls(store, open_embedder(settings), threads, ttl_s)

    async def prepare(self) -> None:
        """Load the model, or ask the service for its dimension, before the first search needs it."""
        await self.kind()

    async def close(self) -> None:
        """Drop the calls that wait for a thread, store what was embedded, and close the embedder.

        Closing the embedder ends its running calls.
        """
        self._query_threads.cancel_waiting()
        self._text_threads.cancel_waiting()
        await asyncio.gather(*self._storing, return_exceptions=True)
        await asyncio.to_thread(self.embedder.close)

    async def kind(self) -> tuple[str, int]:
        """Return the embedder's fingerprint and dimension. This may ask a service."""
        if self.is_at_hand:  # an update asks three times, each a trip to a thread
            return self._kind()
        kind = await self._text_threads.run(self._kind)
        self._is_loaded = True
        return kind

    @property
    def is_at_hand(self) -> bool:
        """Whether queries are embedded at once: the embedder is loaded, and asks no service."""
        return self._is_loaded and self.embedder.is_quick

    async def query(self, text: str, turn: Turn | None = None) -> Vector:
        """Return the vector of a query. While the circuit breaker is open, this fails at once.

        A refused query does not open the breaker. Afterwards the embedder's fingerprint is known without waiting. While
        a service is asked, other searches may have the turn.
        """
        vector = self._kept_vector(text)
        if vector is None:
            self._breaker.check()
            async with turn.paused() if turn and not self.embedder.is_quick else nullcontext():
                vector = await self._query_threads.run(self._query, text)
            self._is_loaded = True
        return vector

    def query_here(self, text: str) -> Vector:
        """Return the vector of a query, embedded in this thread. Only for an embedder that is at hand."""
        vector = self._kept_vector(text)
        return self._query(text) if vector is None else vector

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Return a row for every text, in order; zeros for a text that the embedder refuses.

        Vectors are stored batch by batch, so that a failure loses one batch at most.
        """
        import numpy as np

        fingerprint, dimension = await self.kind()
        parts = []
        storing: asyncio.Task[None] | None = None
        try:
            for start in range(0, len(texts), self.embedder.batch):
                before = storing  # it goes on while the next batch is embedded
                part, storing = await self._batch(texts[start : start + self.embedder.batch], fingerprint, dimension)
                parts.append(part)
                if before is not None:
                    await asyncio.shield(before)
        finally:
            if storing is not None:
                await asyncio.shield(storing)
        if len(parts) == 1:
            return parts[0]
        return await asyncio.to_thread(np.concatenate, parts) if parts else np.zeros((0, dimension), np.float32)

    async def embed_unstored(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts without storing them. While the breaker is open, fail at once."""
        self._breaker.check()
        return await self._text_threads.run(self._embed_unstored, texts)

    def _query(self, text: str) -> Vector:
        with _refusal_as_unavailable(), self._breaker.calling():
            vector = self.embedder.query(text)
            self._kind()
        vector.setflags(write=False)  # several searches share it
        with self._using_queries:
            self._queries[text] = vector
        return vector

    def _kept_vector(self, text: str) -> "Vector | None":
        with self._using_queries:
            return self._queries.get(text)

    def _embed_unstored(self, texts: Sequence[str]) -> Vectors:
        with self._breaker.calling():
            return self.embedder.documents(texts, soon=True)

    def _kind(self) -> tuple[str, int]:
        return self.embedder.fingerprint, self.embedder.dimension

    async def _batch(
        self, texts: Sequence[str], fingerprint: str, dimension: int
    ) -> "tuple[Vectors, asyncio.Task[None] | None]":
        """Return a row for every text, and the task that stores the new vectors."""
        hashes = await asyncio.to_thread(_hashes, texts)
        wanted = dict(zip(hashes, texts, strict=True))  # equal texts once
        storing = None
        async with self._turn:  # of two callers with the same text, the second finds the vector
            found = {each: self._unstored[each] for each in wanted if each in self._unstored}
            async with self._store.read() as connection:
                found |= await stored.get(connection, fingerprint, [each for each in wanted if each not in found])
            missing = {each: text for each, text in wanted.items() if each not in found}
            if missing and (new := await self._embed(missing)):
                storing = self._start_storing(fingerprint, new)
                found |= new
        zeros = bytes(2 * dimension)
        return await asyncio.to_thread(_unpacked, [found.get(each, zeros) for each in hashes]), storing

    def _start_storing(self, fingerprint: str, new: Mapping[bytes, bytes]) -> asyncio.Task[None]:
        """Store vectors in a task of its own, which goes on if the caller is cancelled. Until it ends, other callers
        find them in `_unstored`."""

        def ended(task: asyncio.Task[None]) -> None:
            self._storing.discard(task)
            for each in new:
                self._unstored.pop(each, None)

        self._unstored |= new
        task = asyncio.create_task(self._put(fingerprint, new))
        self._storing.add(task)
        task.add_done_callback(ended)
        return task

    async def _put(self, fingerprint: str, new: Mapping[bytes, bytes]) -> None:
        async with self._store.write(durable=False) as connection:
            await stored.put(connection, fingerprint, new)

    async def _embed(self, texts: Mapping[bytes, str]) -> dict[bytes, bytes]:
        """Return the vectors of texts by hash, without the texts that the embedder refuses."""
        try:
            vectors = await self._text_threads.run(lambda: _packed(self.embedder.documents(list(texts.values()))))
        except FindspotError as error:
            if "index" not in error.fields:
                raise
            log.warning("a text is indexed by its words alone: %s", error.fields["reason"])
            return await self._embed_others(texts, error.fields["index"])
        self._breaker.succeeded()
        return dict(zip(texts, vectors, strict=True))

    async def _embed_others(self, texts: Mapping[bytes, str], refused: int) -> dict[bytes, bytes]:
        """Embed all texts but the refused one. Those after it go in two halves: more of them may be refused."""
        hashes = list(texts)
        before, after = hashes[:refused], hashes[refused + 1 :]
        found: dict[bytes, bytes] = {}
        for part in filter(None, (before, after[: len(after) // 2], after[len(after) // 2 :])):
            found |= await self._embed({each: texts[each] for each in part})
        return found


@contextmanager
def _refusal_as_unavailable() -> Iterator[None]:
    """Turn the refusal of a query into EMBEDDING_UNAVAILABLE, so that the search uses keywords.

    The reason is left out: the words of a service may repeat the query.
    """
    try:
        yield
    except FindspotError as error:
        if "index" not in error.fields:
            raise
        raise FindspotError("EMBEDDING_UNAVAILABLE", "The embedder refuses this query.") from None


def _hashes(texts: Sequence[str]) -> list[bytes]:
    return [hashlib.sha256(text.encode(errors="surrogatepass")).digest() for text in texts]


def _packed(vectors: Vectors) -> list[bytes]:
    """Return vectors in half precision: half the size, and no relevant change of ranking (docs/decisions/008)."""
    return [row.tobytes() for row in vectors.astype("<f2")]


def _unpacked(vectors: Sequence[bytes]) -> Vectors:
    """Return stored vectors as rows of length 1. New vectors take this way too, so that they equal those after a
    restart."""
    import numpy as np

    rows = np.frombuffer(b"".join(vectors), "<f2").reshape(len(vectors), -1).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows
