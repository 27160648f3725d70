"""Chunk rows → batches → engine: what is new for the index in service, everything for one that is being built."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from findspot.engines.protocol import Abandoned, Batch, Build, Engine
from findspot.errors import FindspotError
from findspot.indexing.batches import Batches
from findspot.indexing.chunk_rows import said
from findspot.models import ChunkToIndex, NamespaceKey
from findspot.runtime import metrics
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.helpers import Helpers
from findspot.store import chunks as rows
from findspot.store import index_states as states
from findspot.store.database import Store

if TYPE_CHECKING:
    import sqlalchemy as sa

log = logging.getLogger(__name__)

WORDS_ALONE = ("words alone", 1)  # fingerprint and dimension of an index whose embedder was never there


class Filling:
    """Carries chunks to the engine. While the embedder is away it has them by their words, and they go on waiting for
    their vectors."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        embeddings: Embeddings,
        helpers: Helpers,
        in_thread: Callable[..., Awaitable[Any]],
        building: Mapping[str, object],
    ) -> None:
        self._store = store
        self._engine = engine
        self._embeddings = embeddings
        self._batches = Batches(store, embeddings, helpers)
        self._in_thread = in_thread
        self._building = building  # namespaces whose next index is being written
        self._wordy: set[int] = set()  # chunks that the engine has by their words, and that wait for vectors
        self.rates: dict[NamespaceKey, float] = {}  # chunks a second, where something is being filled

    async def fingerprint(self) -> str:
        fingerprint, _ = await self._embeddings.kind()
        return fingerprint

    async def kind(self, *, or_words: bool) -> tuple[str, int]:
        """The fingerprint and the dimension of vectors, or of an index without any."""
        try:
            return await self._embeddings.kind()
        except FindspotError:
            if not or_words:
                raise
            return WORDS_ALONE

    async def fill(self, place: NamespaceKey, goes_on: Callable[[NamespaceKey], Awaitable[bool]]) -> bool:
        """Give the engine what it does not have yet, for as long as that `goes_on`; whether there was something. The
        next chunks are prepared while these are written."""
        writing = None
        done, began = 0, time.monotonic()
        try:
            async with aclosing(self._batches.pages(rows.waiting, place.namespace)) as pages:
                async for some in pages:
                    batch = await self._prepared(place, some)
                    if writing is not None:
                        await writing
                        writing = None
                    if batch is None:
                        continue
                    if not await goes_on(place):
                        break
                    writing = asyncio.create_task(self._write(place, batch))
                    done += len(some)
                    self.rates[place] = done / max(1e-6, time.monotonic() - began)
            return done > 0
        finally:
            self.rates.pop(place, None)
            if writing is not None:
                await writing

    async def copy(
        self, place: NamespaceKey, build: Build, dimension: int, done: Callable[[int], None], *, or_words: bool
    ) -> None:
        """Give a build every chunk. If one cannot be had, it fails: what is in service is worth more than half. Where
        nothing is, words alone are worth more than nothing."""
        writing: asyncio.Task[None] | None = None
        try:
            async with aclosing(self._batches.pages(rows.every, place.namespace)) as pages:
                async for some in pages:
                    try:
                        batch = await self._batches.make(some)
                    except FindspotError:
                        if not or_words:
                            raise
                        batch = await self._batches.by_words(some, dimension)
                        await self._let_wait(some)
                    if writing is not None:
                        await writing
                    writing = asyncio.create_task(self._give(place, build.write, batch))
                    done(len(some))
        finally:
            if writing is not None:
                await writing

    def lost(self, ids: set[int]) -> None:
        """The engine does not have these any more, be it by their words."""
        self._wordy -= self._wordy & ids  # so that the smaller one is gone through: the other may hold millions

    async def _write(self, place: NamespaceKey, batch: Batch) -> None:
        fingerprint = await self.fingerprint()
        await self._give(place, self._engine.write, place.namespace, fingerprint, batch)
        async with self._store.write(durable=False) as connection:
            await rows.mark(connection, list(batch.ids), indexed=True)
        self._wordy.difference_update(batch.ids)

    async def _give(self, place: NamespaceKey, write: Callable[..., None], *what: Any) -> None:
        """A write to the engine. One that fails is counted, unless it was no longer wanted."""
        try:
            await self._in_thread(write, *what)
        except Exception as error:
            if not isinstance(error, Abandoned):
                metrics.UPLOAD_ERRORS.labels(place.project_id).inc()
            raise

    async def _prepared(self, place: NamespaceKey, some: Sequence[ChunkToIndex]) -> Batch | None:
        """A batch of chunks; None if it could not be made, which is noted with their sources."""
        try:
            return await self._batches.make(some)
        except FindspotError as error:
            log.warning("a batch of %d chunks could not be prepared: %s", len(some), error.message)
            await self._give_words(place, some)
            async with self._store.write(durable=False) as connection:
                for row in {(row.table_id, row.document_id): row for row in some}.values():
                    await states.fail(connection, _is_source(row), said(error))
            self._store.written.set()  # for the worker, to know how long to rest
            return None

    async def _give_words(self, place: NamespaceKey, some: Sequence[ChunkToIndex]) -> None:
        """Let chunks be found by their words from now on."""
        new = [row for row in some if row.id not in self._wordy]
        if new and place.namespace not in self._building:
            status = await self._in_thread(self._engine.status, place.namespace)
            fingerprint, dimension = (status.fingerprint, status.dimension) if status.fingerprint else WORDS_ALONE
            batch = await self._batches.by_words(new, dimension)
            await self._give(place, self._engine.write, place.namespace, fingerprint, batch)
            self._wordy.update(batch.ids)

    async def _let_wait(self, some: Sequence[ChunkToIndex]) -> None:
        """Have chunks wait for their vectors that are copied by their words."""
        ids = [row.id for row in some]
        async with self._store.write(durable=False) as connection:
            await rows.mark(connection, ids, indexed=False)
            await states.resume(connection, ids)
        self._wordy.update(ids)


def _is_source(row: ChunkToIndex) -> "sa.ColumnElement[bool]":
    return states.is_table(row.table_id) if row.table_id is not None else states.is_document(row.document_id or 0)
