"""Vectors of texts and queries: looked up where they were made before, made in a thread where not.

An embedder may be a service that is slow or away. Whoever waits for it does so in threads that nothing else needs."""

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from findspot.embedding.protocol import Embedder, Vector, Vectors
from findspot.errors import FindspotError
from findspot.models import Backoff
from findspot.runtime.backoff import CircuitBreaker
from findspot.runtime.embedders import open_embedder
from findspot.runtime.threads import Threads
from findspot.settings import Settings
from findspot.store import embeddings as stored
from findspot.store.database import Store

log = logging.getLogger(__name__)

QUERIES_KEPT = 10_000
BREAKER_BACKOFF = Backoff(first_s=1.0, longest_s=5.0)  # short: searches use vectors again soon after an outage
OUTAGE_CODES = ("EMBEDDING_UNAVAILABLE", "EMBEDDING_DIMENSION_MISMATCH")

T = TypeVar("T")


class Embeddings:
    """The one way from text to vector. A text is embedded once for an embedder, for as long as the store lives."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        threads: Threads,
        query_ttl_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._queries = QueryCache(query_ttl_s, clock)
        self._turn = asyncio.Lock()
        self._unstored: dict[bytes, bytes] = {}  # made, but not yet in the store
        self._storing: set[asyncio.Task[None]] = set()
        self._breaker = CircuitBreaker(BREAKER_BACKOFF, OUTAGE_CODES, clock)
        self._query_threads = threads.embed_queries
        self._text_threads = threads.embed_texts
        self.embedder = embedder

    @classmethod
    def open(cls, store: Store, settings: Settings, threads: Threads) -> "Embeddings":
        """With the embedder that is set. Nothing is loaded yet; `prepare` does that."""
        ttl_s = settings.embedding_cache_ttl if settings.enable_embedding_cache else 0
        return cls(store, open_embedder(settings), threads, ttl_s)

    async def prepare(self) -> None:
        """Load the model, or find out about the service, before anyone waits for it."""
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
        """The embedder's fingerprint and dimension; a service may have to be asked for them."""
        return await self._text_threads.run(self._kind)

    async def query(self, text: str) -> Vector:
        """The vector to look for documents with. While the service is away, this fails at once; that it refuses one
        query is no outage. Whoever has a vector can read the embedder's fingerprint without waiting."""
        vector = self._queries.get(text)
        if vector is None:
            self._breaker.check()
            with _accepted():
                vector = await self._query_threads.run(self._query, text)
            vector.setflags(write=False)  # it is shared from now on
            self._queries.put(text, vector)
        return vector

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """A row for every text, in their order; of zeros for one that the embedder refuses. What is embedded is stored
        batch by batch, so that a failure loses no more than one."""
        import numpy as np

        fingerprint, dimension = await self.kind()
        parts = []
        storing: asyncio.Task[None] | None = None
        try:
            for start in range(0, len(texts), self.embedder.batch):
                before = storing  # while the next ones are made
                part, storing = await self._batch(texts[start : start + self.embedder.batch], fingerprint, dimension)
                parts.append(part)
                if before is not None:
                    await before
        finally:
            if storing is not None:
                await storing
        if len(parts) == 1:
            return parts[0]
        return await asyncio.to_thread(np.concatenate, parts) if parts else np.zeros((0, dimension), np.float32)

    async def passing(self, texts: Sequence[str]) -> Vectors:
        """Vectors for someone who asks, not for an index: nothing is kept of them."""
        self._breaker.check()
        return await self._text_threads.run(self._passing, texts)

    def _query(self, text: str) -> Vector:
        with self._breaker.calling():
            vector = self.embedder.query(text)
            self._kind()
            return vector

    def _passing(self, texts: Sequence[str]) -> Vectors:
        with self._breaker.calling():
            return self.embedder.documents(texts, soon=True)

    def _kind(self) -> tuple[str, int]:
        """What tells this embedder's vectors from others."""
        return self.embedder.fingerprint, self.embedder.dimension

    async def _batch(
        self, texts: Sequence[str], fingerprint: str, dimension: int
    ) -> "tuple[Vectors, asyncio.Task[None] | None]":
        """A row for every text, and what stores those that were made."""
        hashes = await asyncio.to_thread(_hashes, texts)
        places: dict[bytes, int] = {}
        for place, each in enumerate(hashes):
            places.setdefault(each, place)  # the first of equal texts
        storing = None
        async with self._turn:  # two who need the same text at the same time: the second finds it
            found = {each: self._unstored[each] for each in places if each in self._unstored}
            async with self._store.read() as connection:
                found |= await stored.get(connection, fingerprint, [each for each in places if each not in found])
            missing = {each: texts[place] for each, place in places.items() if each not in found}
            if missing and (made := await self._make(missing)):
                storing = self._begin_to_store(fingerprint, made)
                found |= made
        nothing = bytes(2 * dimension)
        return await asyncio.to_thread(_unpacked, [found.get(each, nothing) for each in hashes]), storing

    def _begin_to_store(self, fingerprint: str, made: Mapping[bytes, bytes]) -> asyncio.Task[None]:
        """Until it is stored, others find what was made here; however that ends, also if no one waits for it any
        more."""

        def ended(task: asyncio.Task[None]) -> None:
            self._storing.discard(task)
            for each in made:
                self._unstored.pop(each, None)

        self._unstored |= made
        task = asyncio.create_task(self._put(fingerprint, made))
        self._storing.add(task)
        task.add_done_callback(ended)
        return task

    async def _put(self, fingerprint: str, made: Mapping[bytes, bytes]) -> None:
        async with self._store.write(durable=False) as connection:
            await stored.put(connection, fingerprint, made)

    async def _make(self, texts: Mapping[bytes, str]) -> dict[bytes, bytes]:
        """The vectors of texts by their hashes, without those that the embedder refuses. What stands before such a text
        is taken; what stands behind it is asked for by halves, since one is seldom alone."""
        try:
            made = await self._text_threads.run(lambda: _packed(self.embedder.documents(list(texts.values()))))
        except FindspotError as error:
            if "index" not in error.fields:
                raise
            log.warning("a text is found by its words alone: %s", error.fields["reason"])
            return await self._make_around(texts, error.fields["index"])
        self._breaker.succeeded()
        return dict(zip(texts, made, strict=True))

    async def _make_around(self, texts: Mapping[bytes, str], place: int) -> dict[bytes, bytes]:
        """The same without the text at this place."""
        hashes = list(texts)
        before, behind = hashes[:place], hashes[place + 1 :]
        made: dict[bytes, bytes] = {}
        for part in filter(None, (before, behind[: len(behind) // 2], behind[len(behind) // 2 :])):
            made |= await self._make({each: texts[each] for each in part})
        return made


class QueryCache:
    """The vectors of recent queries, in memory, each for a limited time. With no time to live it keeps nothing."""

    def __init__(self, ttl_s: float, clock: Callable[[], float] = time.monotonic, most: int = QUERIES_KEPT) -> None:
        self._ttl_s = ttl_s
        self._clock = clock
        self._most = most
        self._kept: OrderedDict[str, tuple[float, Vector]] = OrderedDict()  # the oldest first

    def get(self, text: str) -> "Vector | None":
        until, vector = self._kept.get(text, (0.0, None))
        return vector if vector is not None and self._clock() < until else None

    def put(self, text: str, vector: Vector) -> None:
        if self._ttl_s <= 0:
            return
        self._kept.pop(text, None)
        self._kept[text] = (self._clock() + self._ttl_s, vector)
        while len(self._kept) > self._most or next(iter(self._kept.values()))[0] <= self._clock():
            self._kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._kept)


@contextmanager
def _accepted() -> Iterator[None]:
    """A query that the embedder refuses has no meaning to go by. What the service says of it may repeat it, and stays
    here."""
    try:
        yield
    except FindspotError as error:
        if "index" not in error.fields:
            raise
        raise FindspotError("EMBEDDING_UNAVAILABLE", "The embedder does not take this query.") from None


def _hashes(texts: Sequence[str]) -> list[bytes]:
    return [hashlib.sha256(text.encode(errors="surrogatepass")).digest() for text in texts]


def _packed(vectors: Vectors) -> list[bytes]:
    """Half precision takes half the room and changes no ranking worth mentioning: docs/decisions/008."""

    return [row.tobytes() for row in vectors.astype("<f2")]


def _unpacked(vectors: Sequence[bytes]) -> Vectors:
    """What was made just now comes back as it will after a restart: by way of half precision, and of length 1 again."""
    import numpy as np

    rows = np.frombuffer(b"".join(vectors), "<f2").reshape(len(vectors), -1).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows
