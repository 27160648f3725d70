"""Bring the index of one namespace up to date: reconcile, update chunk rows, feed the engine, delete, mark as ready.

New chunks are written before the chunks that they replace are deleted, so that a text that is changed can always be
found.
"""

import asyncio
import contextlib
import logging
from functools import partial

from findspot.engines.protocol import Damaged, Engine, StaleFence
from findspot.errors import FindspotError
from findspot.indexing import transitions
from findspot.indexing.chunk_rows import ChunkRows
from findspot.indexing.eviction import Eviction
from findspot.indexing.feeding import Feeding
from findspot.indexing.leases import LeaseLost, Leases
from findspot.indexing.reconcile import Reconciliation, has_source
from findspot.indexing.states import NamespaceStates
from findspot.indexing.status import IndexStatus
from findspot.models import NamespaceKey
from findspot.runtime.threads import ThreadPool
from findspot.store import chunks as chunk_rows
from findspot.store import gone_chunks, index_states, replaced_chunks
from findspot.store.database import Store
from findspot.store.namespace_states import Phase, RebuildReason

log = logging.getLogger(__name__)

FORGOTTEN_AT_ONCE = 10_000  # chunks
REMOVED_AT_ONCE = 1000  # chunk rows in one transaction, so that no writer waits long


class Update:
    """The steps that bring a namespace up to date. `stop` ends them after the current batch."""

    def __init__(
        self,
        store: Store,
        leases: Leases,
        engine: Engine,
        chunk_rows: ChunkRows,
        feeding: Feeding,
        reconciliation: Reconciliation,
        eviction: Eviction,
        namespaces: NamespaceStates,
        status: IndexStatus,
        threads: ThreadPool,
    ) -> None:
        self._store = store
        self._leases = leases
        self._engine = engine
        self._chunk_rows = chunk_rows
        self._feeding = feeding
        self._reconciliation = reconciliation
        self._eviction = eviction
        self._namespaces = namespaces
        self._status = status
        self._threads = threads
        self._is_stopped = False

    def stop(self) -> None:
        self._is_stopped = True

    def allow(self) -> None:
        """Undo `stop`."""
        self._is_stopped = False

    async def run(self, key: NamespaceKey, retry_delay_s: float) -> None:
        """Follow every source of a namespace until the engine holds what the store does.

        Damage leads to a rebuild. Any other error is noted with the sources, to be tried again after the delay.
        A namespace that another worker has taken over is left to it.
        """
        try:
            await self._reconcile(key)
            await self._chunk_rows.update(key)
            await self._follow_and_feed(key)
        except Damaged as damage:
            self._namespaces.want_rebuild(key, RebuildReason.DAMAGED, damage)
        except (LeaseLost, StaleFence) as error:
            log.warning("the update of %s ends: %s", key.namespace, error)
        except Exception as error:
            await self._namespaces.note_failure(key, error, retry_delay_s)
            await self._status.announce()
            raise

    async def _reconcile(self, key: NamespaceKey) -> None:
        """Compare store and engine if that is due: after a start, a rebuild or a report."""
        if self._namespaces[key].phase is not Phase.UNCHECKED:
            return
        if not await self._reconciliation.run(key):
            self._namespaces.forget(key)
            return
        with contextlib.suppress(FindspotError):  # an embedder that is unavailable is asked again before a write
            await self._has_right_vectors(key)
        self._namespaces.apply(transitions.compared, key)

    async def _follow_and_feed(self, key: NamespaceKey) -> None:
        """Feed the engine with the chunks of sources that were followed, while the next ones are."""
        rounds, advanced = 0, asyncio.Event()

        async def follow() -> None:
            nonlocal rounds
            try:
                while not self._is_stopped and await self._chunk_rows.update(key):
                    rounds += 1
                    advanced.set()
            finally:
                advanced.set()

        following = asyncio.create_task(follow())
        try:
            seen, more = -1, False
            while (more or seen != rounds) and not self._is_stopped:
                advanced.clear()
                seen = rounds
                more = await self._catch_up(key)
                async with self._leases.write(key) as connection:
                    await index_states.mark_ready(connection, key)
                await self._namespaces.try_to_save()
                await self._status.announce()
                if not more and seen == rounds and not following.done():
                    await advanced.wait()
            await following
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _catch_up(self, key: NamespaceKey) -> bool:
        """Bring the engine up to date with the chunk rows; return whether there may be more to forget."""
        if await self._feeding.feed(key, self._may_feed):
            await self._eviction.make_room(key.project_id)
        await self._remove_superseded(key)
        return not self._is_stopped and await self._forget(key)

    async def _may_feed(self, key: NamespaceKey) -> bool:
        return not self._is_stopped and await self._has_right_vectors(key)

    async def _has_right_vectors(self, key: NamespaceKey) -> bool:
        """Return whether this embedder's vectors can be written: to the index, or to one that is being built.

        If not, a rebuild is queued. The chunks that wait are written when it has begun.
        """
        if self._namespaces[key].phase is Phase.REBUILDING:
            return True
        fingerprint, is_outdated = await self._threads.run(self._vectors_held, key.namespace)
        if is_outdated:
            self._namespaces.want_rebuild(key, RebuildReason.REQUESTED)
        self._namespaces.apply(transitions.holds_vectors_of, key, fingerprint)
        if fingerprint in ("", await self._feeding.fingerprint()):
            return True
        self._namespaces.want_rebuild(key, RebuildReason.WRONG_FINGERPRINT)
        return False

    def _vectors_held(self, namespace: str) -> tuple[str, bool]:
        """Return the fingerprint of the vectors in the index, and whether an older version wrote its files."""
        if self._engine.files is None:  # a remote engine would count its chunks for `status`
            fingerprint, _ = self._engine.kind(namespace)
            return fingerprint, False
        status = self._engine.status(namespace)
        return status.fingerprint, status.is_outdated

    async def _remove_superseded(self, key: NamespaceKey) -> None:
        """Delete the rows of chunks that were replaced, as soon as the engine holds their successors."""
        while not self._is_stopped:
            async with self._store.read() as connection:
                ids = await replaced_chunks.superseded(connection, key, REMOVED_AT_ONCE)
            if ids:
                async with self._leases.write(key, frees=True) as connection:
                    await replaced_chunks.delete(connection, ids)
            if len(ids) < REMOVED_AT_ONCE:
                return

    async def _forget(self, key: NamespaceKey) -> bool:
        """Delete from the engine what the store has deleted; return whether there may be more.

        A namespace without chunks is dropped, which frees its disk space.
        """
        async with self._store.read() as connection:
            gone = await gone_chunks.to_forget(connection, key.namespace, FORGOTTEN_AT_ONCE)
            if not gone:
                return False
            is_empty = await chunk_rows.is_empty(connection, key.namespace)
        if is_empty:
            await self._threads.run(partial(self._engine.drop, key.namespace, fence=self._leases.fence(key)))
            if not await has_source(self._store, key):
                self._namespaces.forget(key)
        else:
            await self._threads.run(partial(self._engine.delete, key.namespace, gone, fence=self._leases.fence(key)))
        async with self._leases.write(key, frees=True) as connection:
            await gone_chunks.forgotten(connection, gone)
        return len(gone) == FORGOTTEN_AT_ONCE
