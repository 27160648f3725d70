"""Rebuilds: a new index is written beside the one in service from the chunk rows, and then takes its place."""

import asyncio
import logging
import time

from findspot.engines.protocol import Abandoned, Build, Engine, StaleFence
from findspot.errors import Failure, FindspotError
from findspot.indexing import transitions
from findspot.indexing.eviction import Eviction
from findspot.indexing.feeding import Feeding
from findspot.indexing.leases import LeaseLost, Leases
from findspot.indexing.reconcile import has_source
from findspot.indexing.states import NamespaceStates
from findspot.indexing.status import IndexStatus
from findspot.models import NamespaceKey
from findspot.runtime.backoff import RetrySchedule
from findspot.runtime.limits import REBUILDS, Gate
from findspot.runtime.threads import ThreadPool
from findspot.store import chunks as chunk_rows
from findspot.store.database import Store
from findspot.store.namespace_states import Phase, RebuildReason

log = logging.getLogger(__name__)


class _ProjectBusy(Exception):
    """Other workers use up the rebuilds that a project may have at once."""


class Rebuilds:
    """The tasks that rebuild namespaces. Two at a time run in a project, in all workers together; the others wait."""

    def __init__(
        self,
        store: Store,
        leases: Leases,
        engine: Engine,
        feeding: Feeding,
        eviction: Eviction,
        namespaces: NamespaceStates,
        retries: RetrySchedule[NamespaceKey],
        denied: RetrySchedule[NamespaceKey],
        gate: Gate,
        status: IndexStatus,
        threads: ThreadPool,
    ) -> None:
        self._store = store
        self._leases = leases
        self._engine = engine
        self._feeding = feeding
        self._eviction = eviction
        self._namespaces = namespaces
        self._retries = retries
        self._denied = denied  # namespaces that another worker holds
        self._gate = gate
        self._status = status
        self._threads = threads
        self._tasks: dict[NamespaceKey, asyncio.Task[None]] = {}

    def begin(self, key: NamespaceKey) -> None:
        """Begin the rebuild of a namespace that is queued, unless it has begun or waits after a failure."""
        if key not in self._tasks and not self._retries.is_waiting(key) and not self._denied.is_waiting(key):
            self._tasks[key] = asyncio.create_task(self._run(key), name=f"rebuild {key.namespace}")

    async def close(self) -> None:
        """Cancel all rebuilds. Their rows stay, so that the next start queues them again."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, key: NamespaceKey) -> None:
        try:
            async with self._gate.rebuild_slot(key.project_id), self._namespaces.hold(key) as grant:
                if grant is None or await self._is_project_busy(key):
                    self._denied.failed(key)
                elif self._namespaces[key].phase is Phase.QUEUED:  # no other worker has rebuilt it in the meantime
                    self._denied.succeeded(key)
                    await self._run_held(key)
        except FindspotError as error:
            log.warning("rebuilding %s could not begin: %s", key.namespace, error.message)
            self._denied.failed(key)
        finally:
            del self._tasks[key]
            self._store.written.set()
        await self._status.announce()

    async def _is_project_busy(self, key: NamespaceKey) -> bool:
        """Return whether other workers use up the rebuilds that a project may have at once. It spares a new index that
        could not be written: `begin_rebuild` decides."""
        mine = sum(state.key.project_id == key.project_id for state in self._namespaces.in_phase(Phase.REBUILDING))
        elsewhere = await self._namespaces.rebuilding_elsewhere(key.project_id)
        return elsewhere > 0 and mine + elsewhere >= REBUILDS

    async def _run_held(self, key: NamespaceKey) -> None:
        try:
            fingerprint = self._namespaces[key].fingerprint
            if await has_source(self._store, key):
                fingerprint = await self._rebuild(key)
                await self._eviction.make_room(key.project_id)
            self._namespaces.apply(transitions.rebuilt, key, fingerprint)
            self._retries.succeeded(key)
        except (LeaseLost, StaleFence) as error:
            log.warning("the rebuild of %s ends: %s", key.namespace, error)
        except _ProjectBusy:  # another worker was faster
            self._denied.failed(key)
        except Abandoned:  # the namespace was dropped, or an update could not write to the new index
            log.info("the rebuild of %s begins again: its new index was abandoned", key.namespace)
            self._namespaces.apply(transitions.rebuild_interrupted, key)
        except Exception as error:
            log.exception("rebuilding %s failed", key.namespace)
            self._namespaces.apply(transitions.rebuild_failed, key, Failure.of(error))
            await self._namespaces.note_failure(key, error, self._retries.next_delay_s(key))
            self._retries.failed(key)
        await self._namespaces.try_to_save()

    async def _rebuild(self, key: NamespaceKey) -> str:
        """Write a new index and switch to it; return the fingerprint of its vectors."""
        is_damaged = self._namespaces[key].reason is RebuildReason.DAMAGED
        fingerprint, dimension = await self._feeding.kind(or_keywords=is_damaged)
        async with self._store.read() as connection:
            total = (await chunk_rows.counts(connection, [key.namespace])).get(key.namespace, 0)
        build = await self._threads.run(self._engine.build, key.namespace, fingerprint, dimension)
        try:
            if not await self._namespaces.begin_rebuild(key, total, REBUILDS):
                raise _ProjectBusy
            self._store.written.set()  # chunks that wait can be written from now on
            await self._status.announce()
            await self._copy(key, build, dimension, or_keywords=is_damaged)
            async with self._leases.kept(key):  # the new index would lack what another worker has written
                await self._threads.run(build.switch)
        except BaseException:
            await asyncio.shield(self._threads.run(build.abandon))
            raise
        return fingerprint

    async def _copy(self, key: NamespaceKey, build: Build, dimension: int, *, or_keywords: bool) -> None:
        began = time.monotonic()

        async def progress(done: int) -> None:
            self._namespaces.apply(transitions.rebuild_progressed, key, done, time.monotonic() - began)
            await self._namespaces.save_progress()

        await self._feeding.copy(key, build, dimension, progress, or_keywords=or_keywords)
