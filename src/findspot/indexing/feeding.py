"""Chunk rows → batches → engine: new chunks into the index in service, all chunks into one that is being built."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from findspot.engines.protocol import Abandoned, Batch, Build, Engine
from findspot.errors import Failure, FindspotError
from findspot.indexing import transitions
from findspot.indexing.batches import Batches
from findspot.indexing.leases import Leases
from findspot.indexing.states import SAVE_PROGRESS_S, NamespaceStates
from findspot.models import ChunkToIndex, NamespaceKey
from findspot.runtime import metrics
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.threads import ThreadPool
from findspot.store import chunks as chunk_rows
from findspot.store import index_states
from findspot.store.database import Store
from findspot.store.namespace_states import Phase

if TYPE_CHECKING:
    import sqlalchemy as sa

log = logging.getLogger(__name__)

# Fingerprint and dimension of an index without vectors, because its embedder has never been available. The name is in
# the files of existing indexes.
KEYWORDS_ONLY = ("words alone", 1)


class Feeding:
    """Writes chunks to the engine. While the embedder is unavailable, chunks are written without vectors, so that
    keywords find them, and go on waiting for their vectors."""

    def __init__(
        self,
        store: Store,
        leases: Leases,
        engine: Engine,
        embeddings: Embeddings,
        batches: Batches,
        namespaces: NamespaceStates,
        threads: ThreadPool,
    ) -> None:
        self._store = store
        self._leases = leases
        self._engine = engine
        self._embeddings = embeddings
        self._batches = batches
        self._namespaces = namespaces
        self._threads = threads
        # chunks that the engine holds without a vector, and that wait for one
        self._keyword_only: defaultdict[NamespaceKey, set[int]] = defaultdict(set)

    async def fingerprint(self) -> str:
        fingerprint, _ = await self._embeddings.kind()
        return fingerprint

    async def kind(self, *, or_keywords: bool) -> tuple[str, int]:
        """Return fingerprint and dimension of the embedder's vectors; with `or_keywords`, of an index without vectors
        if the embedder is unavailable."""
        try:
            return await self._embeddings.kind()
        except FindspotError:
            if not or_keywords:
                raise
            return KEYWORDS_ONLY

    async def feed(self, key: NamespaceKey, may_continue: Callable[[NamespaceKey], Awaitable[bool]]) -> bool:
        """Write the chunks that the engine lacks; return whether there were any.

        `may_continue` is asked before each batch. The next batch is prepared while this one is written.
        """
        writing = None
        done, began = 0, time.monotonic()
        try:
            async with aclosing(self._batches.pages(chunk_rows.waiting, key.namespace)) as pages:
                async for some in pages:
                    batch = await self._prepared(key, some)
                    if writing is not None:
                        await writing
                        writing = None
                    if batch is None:
                        continue
                    if not await may_continue(key):
                        break
                    writing = asyncio.create_task(self._write(key, some, batch))
                    done += len(some)
                    await self._show_rate(key, done, time.monotonic() - began)
            return done > 0
        finally:
            if self._namespaces[key].phase is not Phase.REBUILDING and self._namespaces[key].rate:
                self._namespaces.apply(transitions.fed, key, 0, 1.0)
            if writing is not None:
                await writing

    async def copy(
        self,
        key: NamespaceKey,
        build: Build,
        dimension: int,
        progress: Callable[[int], Awaitable[None]],
        *,
        or_keywords: bool,
    ) -> None:
        """Write every chunk of a namespace to a new index, and report the number of chunks after each batch.

        Fails if a batch cannot be embedded: the index in service is better than an incomplete one. With `or_keywords`
        (no index is in service), such a batch is written without vectors.
        """
        writing: asyncio.Task[None] | None = None
        done = 0
        try:
            async with aclosing(self._batches.pages(chunk_rows.every, key.namespace)) as pages:
                async for some in pages:
                    try:
                        batch = await self._batches.make(key.project_id, some)
                    except FindspotError:
                        if not or_keywords:
                            raise
                        batch = await self._batches.without_vectors(key.project_id, some, dimension)
                        await self._mark_as_waiting(key, some)
                    if writing is not None:
                        await writing
                    writing = asyncio.create_task(self._call_engine(key, build.write, self._fenced(key, batch)))
                    done += len(some)
                    await progress(done)
        finally:
            if writing is not None:
                await writing

    def lost(self, key: NamespaceKey, ids: set[int]) -> None:
        """Note that the engine does not hold these chunks any more, not even their keywords."""
        held = self._keyword_only[key]
        held -= held & ids  # iterates over the smaller set: the other may hold millions

    def forget(self, key: NamespaceKey) -> None:
        """Forget what is known of a namespace: another worker may have changed it."""
        self._keyword_only.pop(key, None)

    async def _show_rate(self, key: NamespaceKey, done: int, elapsed_s: float) -> None:
        if elapsed_s >= SAVE_PROGRESS_S:  # a save that is indexed sooner costs no write
            self._namespaces.apply(transitions.fed, key, done, elapsed_s)
            await self._namespaces.save_progress()

    async def _write(self, key: NamespaceKey, some: Sequence[ChunkToIndex], batch: Batch) -> None:
        """Write a batch, and mark its chunks. One that was renamed since it was read goes on waiting."""
        fingerprint = await self.fingerprint()
        await self._call_engine(key, self._engine.write, key.namespace, fingerprint, self._fenced(key, batch))
        async with self._leases.write(key) as connection:
            await chunk_rows.mark_written(connection, some)
        self._keyword_only[key].difference_update(batch.ids)

    def _fenced(self, key: NamespaceKey, batch: Batch) -> Batch:
        return replace(batch, fence=self._leases.fence(key))

    async def _call_engine(self, key: NamespaceKey, write: Callable[..., None], *arguments: Any) -> None:
        """Write to the engine. An error is counted, unless the new index is no longer wanted."""
        try:
            await self._threads.run(write, *arguments)
        except Exception as error:
            if not isinstance(error, Abandoned):
                metrics.UPLOAD_ERRORS.labels(key.project_id).inc()
            raise

    async def _prepared(self, key: NamespaceKey, some: Sequence[ChunkToIndex]) -> Batch | None:
        """Return a batch of chunks. If it cannot be made, note the error with their sources and return None."""
        try:
            return await self._batches.make(key.project_id, some)
        except FindspotError as error:
            log.warning("a batch of %d chunks could not be prepared: %s", len(some), error.message)
            await self._write_keywords(key, some)
            async with self._leases.write(key) as connection:
                for row in {(row.table_id, row.document_id): row for row in some}.values():
                    await index_states.fail(connection, _is_source(row), Failure.of(error))
            self._store.written.set()  # the scheduler has to learn when to retry
            return None

    async def _write_keywords(self, key: NamespaceKey, some: Sequence[ChunkToIndex]) -> None:
        """Make chunks findable by their keywords. A rebuild that is running will write them anyway."""
        new = [row for row in some if row.id not in self._keyword_only[key]]
        if new and self._namespaces[key].phase is not Phase.REBUILDING:
            known = await self._threads.run(self._engine.kind, key.namespace)
            fingerprint, dimension = known if known[0] else KEYWORDS_ONLY
            batch = await self._batches.without_vectors(key.project_id, new, dimension)
            await self._call_engine(key, self._engine.write, key.namespace, fingerprint, self._fenced(key, batch))
            self._keyword_only[key].update(batch.ids)

    async def _mark_as_waiting(self, key: NamespaceKey, some: Sequence[ChunkToIndex]) -> None:
        """Have chunks that are written without vectors wait for these."""
        ids = [row.id for row in some]
        async with self._leases.write(key) as connection:
            await chunk_rows.mark(connection, ids, indexed=False)
            await index_states.mark_incomplete(connection, ids)
        self._keyword_only[key].update(ids)


def _is_source(row: ChunkToIndex) -> "sa.ColumnElement[bool]":
    if row.table_id is not None:
        return index_states.is_table(row.table_id)
    return index_states.is_document(row.document_id or 0)
