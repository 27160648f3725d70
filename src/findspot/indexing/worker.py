"""The index worker decides what runs when: updates of namespaces, rebuilds, and checks of index files.

What has to be done is in the store. A process that is killed loses nothing: the next one continues from the rows.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from findspot.engines.protocol import Damaged, Engine
from findspot.errors import FindspotError
from findspot.indexing import transitions
from findspot.indexing.batches import Batches
from findspot.indexing.chunk_rows import ChunkRows
from findspot.indexing.eviction import Eviction
from findspot.indexing.feeding import Feeding
from findspot.indexing.leases import RENEW_S, LeaseLost, Leases
from findspot.indexing.listening import ChangeListener
from findspot.indexing.rebuild import Rebuilds
from findspot.indexing.reconcile import Reconciliation
from findspot.indexing.states import NamespaceStates
from findspot.indexing.status import IndexStatus
from findspot.indexing.update import Update
from findspot.models import Backoff, NamespaceKey
from findspot.runtime.backoff import RetrySchedule
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.helpers import Helpers
from findspot.runtime.limits import Gate
from findspot.runtime.threads import NAMESPACES, Threads
from findspot.settings import Settings
from findspot.store import gone_chunks, index_states
from findspot.store import index_requests as requests
from findspot.store.database import Store
from findspot.store.index_requests import RequestKind, WaitingRequest
from findspot.store.namespace_states import Phase, RebuildReason

log = logging.getLogger(__name__)

LONGEST_SLEEP_S = 30.0
POLL_S = 1.0  # where other processes may change the store without notice
CHECK_EVERY_S, FIRST_CHECK_S = 3600.0, 60.0  # opening a large index checks only the sizes of its files
GRACE_S = 1.0
NAMESPACE_BACKOFF = Backoff(first_s=1.0, longest_s=30.0)
DENIED_BACKOFF = Backoff(first_s=RENEW_S, longest_s=RENEW_S)  # of a namespace that another worker holds, and may lose
SCAN_PAUSE = 4  # times as long as a scan took: an import writes without a pause, and each write asks for a scan

_REASONS = {
    RequestKind.DAMAGED: RebuildReason.DAMAGED,
    RequestKind.WRONG_FINGERPRINT: RebuildReason.WRONG_FINGERPRINT,
    RequestKind.REBUILD: RebuildReason.REQUESTED,
}


class IndexWorker:
    """The scheduler: one task scans the store for work, one checks files, and one runs per namespace with work."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        embeddings: Embeddings,
        helpers: Helpers,
        gate: Gate,
        threads: Threads,
        settings: Settings,
        status: IndexStatus,
        leases: Leases,
    ) -> None:
        self._store = store
        self._engine = engine
        self._threads = threads.index
        self._leases = leases
        self._namespaces = names = NamespaceStates(store, leases)
        self._chunk_rows = ChunkRows(store, leases, helpers, settings)
        self._batches = batches = Batches(store, embeddings, helpers)
        self._feeding = feeding = Feeding(store, leases, engine, embeddings, batches, names, threads.index)
        eviction = Eviction(store, engine, embeddings, settings, names, status.recent_hits)
        reconciliation = Reconciliation(store, leases, engine, feeding, threads.index)
        self._retries: RetrySchedule[NamespaceKey] = RetrySchedule(NAMESPACE_BACKOFF)
        self._denied: RetrySchedule[NamespaceKey] = RetrySchedule(DENIED_BACKOFF)
        self._update = Update(
            store, leases, engine, self._chunk_rows, feeding, reconciliation, eviction, names, status, threads.index
        )
        self._rebuilds = Rebuilds(
            store, leases, engine, feeding, eviction, names, self._retries, self._denied, gate, status, threads.index
        )
        self._turns = asyncio.Semaphore(NAMESPACES)
        self._updating: dict[NamespaceKey, asyncio.Task[None]] = {}
        self._rescan: set[NamespaceKey] = set()  # had new work while they were being updated
        self._tasks: list[asyncio.Task[None]] = []
        self._renewing: asyncio.Task[None] | None = None
        self._listener = ChangeListener(store) if store.kind == "postgresql" else None

    async def prepare(self) -> None:
        """Load what the first change would otherwise wait for."""
        await self._chunk_rows.prepare()
        await self._batches.prepare()

    async def start(self) -> None:
        """Read the states of all namespaces, and begin to work."""
        self._update.allow()
        await self._namespaces.start()
        self._tasks = [
            asyncio.create_task(self._schedule(), name="index scheduler"),
            asyncio.create_task(self._check_files(), name="index check"),
        ]
        if self._leases.is_shared:
            self._renewing = asyncio.create_task(self._leases.renew_regularly(), name="leases")
        if self._listener is not None:
            self._tasks.append(asyncio.create_task(self._listener.run(), name="index listener"))

    async def close(self) -> None:
        """Wait up to 1 s for updates to reach a safe point, then cancel them. Rebuilds are cancelled at once.

        All leases are given back: other workers go on without waiting for them to expire.
        """
        self._update.stop()
        await _cancel(self._tasks)
        await self._rebuilds.close()
        for state in self._namespaces.in_phase(Phase.REBUILDING):
            self._namespaces.apply(transitions.rebuild_interrupted, state.key)
        await self._namespaces.try_to_save()
        if self._updating:
            await asyncio.wait(self._updating.values(), timeout=GRACE_S)
        await _cancel(list(self._updating.values()))
        if self._renewing is not None:
            await _cancel([self._renewing])

    # ── scheduling ──

    async def _schedule(self) -> None:
        while True:
            self._store.written.clear()
            waits = (
                self._retries.remaining_s() + self._denied.remaining_s()
            )  # before the scan: a wait that ends during it is not slept through
            began = time.monotonic()
            if not await self._log_errors(self._scan):
                await asyncio.sleep(POLL_S)  # the store may be read-only: a scan wakes the next one
            pause_s = await self._pause_s(waits)
            if self._updating:
                rest_s = min(POLL_S, SCAN_PAUSE * (time.monotonic() - began))
                # Not a sleep: a write after the last update is scanned at once.
                await asyncio.wait(self._updating.values(), timeout=rest_s)
            with contextlib.suppress(TimeoutError):  # not wait_for, which can swallow a cancellation
                async with asyncio.timeout(pause_s):
                    await self._store.written.wait()

    async def _log_errors(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Run a step and return whether it succeeded. An error is logged; the step is tried again later."""
        try:
            await step()
            return True
        except FindspotError as error:
            log.warning("a step of the index worker failed and is retried: %s", error.message)
        except Exception:
            log.exception("a step of the index worker failed and is retried")
        return False

    async def _pause_s(self, waits: list[float]) -> float:
        """Return how long to sleep if nothing is written: until the next retry at the latest."""
        longest = LONGEST_SLEEP_S if self._listener is None or self._listener.is_listening else POLL_S
        try:
            async with self._store.read() as connection:
                retry_at = await index_states.next_retry(connection)
        except FindspotError:  # the store is unavailable, which the scan has logged
            return POLL_S
        waits = [longest, *waits]
        if retry_at is not None:
            waits.append((retry_at - datetime.now(UTC)).total_seconds())
        return max(0.05, min(waits))

    async def _scan(self) -> None:
        """Begin everything that is due and not running yet."""
        async with self._store.read() as connection:
            due = set(await index_states.due_namespaces(connection))
            due |= {NamespaceKey.of(each) for each in await gone_chunks.namespaces_to_forget(connection)}
            waiting = await requests.every(connection)  # last: work that is due has its requests too
        await self._compare_after_restart()
        await self._take_requests(waiting)
        await self._namespaces.save()
        unfinished = await self._namespaces.unfinished()
        due |= {state.key for state in unfinished if state.phase is Phase.UNCHECKED}
        for key in due:
            if key in self._updating:
                self._rescan.add(key)
            elif transitions.takes_chunks(self._namespaces[key]) and not self._is_waiting(key):
                self._updating[key] = task = asyncio.create_task(self._run_update(key), name=key.namespace)
                task.add_done_callback(partial(self._updated, key))
        queued = [state for state in unfinished if state.phase is Phase.QUEUED]
        for state in sorted(queued, key=lambda state: str(state.queued_at)):
            self._rebuilds.begin(state.key)

    async def _compare_after_restart(self) -> None:
        """Have store and engine compared if the database may have restarted.

        A crash of PostgreSQL undoes the last commits that did not wait for the disk: steps of the index.
        """
        if self._listener is not None and self._listener.was_lost:
            async with self._store.read() as connection:
                keys = await index_states.namespaces_with_chunks(connection)
            self._listener.was_lost = False
            self._listener.reconnect()
            self._chunk_rows.forget()
            await self._namespaces.compare(keys)

    def _is_waiting(self, key: NamespaceKey) -> bool:
        return self._retries.is_waiting(key) or self._denied.is_waiting(key)

    async def _run_update(self, key: NamespaceKey) -> None:
        """Update a namespace if this worker gets its lease.

        It waits for its turn first: each worker holds a few namespaces at a time, so that all share the work.
        """
        async with self._turns, self._namespaces.hold(key) as grant:
            if grant is None:
                self._denied.failed(key)
                self._store.written.set()  # the scheduler has to learn when to try again
                return
            self._denied.succeeded(key)
            if not grant.is_continued:
                self._chunk_rows.forget(key)
                self._feeding.forget(key)
            if grant.is_new and not await self._has_work(key):  # another worker has done it in the meantime
                return
            if transitions.takes_chunks(self._namespaces[key]):
                await self._update.run(key, self._retries.next_delay_s(key))

    async def _has_work(self, key: NamespaceKey) -> bool:
        if self._namespaces[key].phase is Phase.UNCHECKED:
            return True
        async with self._store.read() as connection:
            if await index_states.is_due(connection, key):
                return True
            return bool(await gone_chunks.to_forget(connection, key.namespace, 1))

    def _updated(self, key: NamespaceKey, task: asyncio.Task[None]) -> None:
        del self._updating[key]
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            log.error("indexing %s failed", key.namespace, exc_info=error)
            self._retries.failed(key)
        else:
            self._retries.succeeded(key)
        if error is not None or key in self._rescan:
            self._rescan.discard(key)
            self._store.written.set()  # scan again, or learn when to retry

    # ── requests of other tasks and processes ──

    async def _take_requests(self, waiting: Sequence[WaitingRequest]) -> None:
        """Turn the requests of readers into states and work, and delete them. The worker that holds the lease of a
        namespace takes its requests."""
        by_namespace: dict[NamespaceKey, list[WaitingRequest]] = {}
        for each in waiting:
            by_namespace.setdefault(NamespaceKey.of(each.request.namespace), []).append(each)
        for key, mine in by_namespace.items():
            if self._denied.is_waiting(key):
                continue
            async with self._namespaces.hold(key) as grant:
                if grant is None:
                    self._denied.failed(key)
                else:
                    await self._take_all(key, mine)

    async def _take_all(self, key: NamespaceKey, waiting: Sequence[WaitingRequest]) -> None:
        for each in waiting:
            self._take(each)
        await self._namespaces.save()
        documents = [each.request.document_id for each in waiting if each.request.kind is RequestKind.WRONG_RANGES]
        try:
            async with self._leases.write(key) as connection:
                if documents:
                    await index_states.request_documents(connection, documents)
                await requests.delete(connection, [each.id for each in waiting])
        except LeaseLost:
            log.warning("%s was taken over by another worker, and its requests with it", key.namespace)
        if documents:
            self._store.written.set()  # this scan has read the documents that are due before

    def _take(self, waiting: WaitingRequest) -> None:
        key, kind = NamespaceKey.of(waiting.request.namespace), waiting.request.kind
        if kind in _REASONS:
            self._namespaces.want_rebuild(key, _REASONS[kind], since=waiting.created_at)
        elif kind is RequestKind.MISSING:
            self._namespaces.apply(transitions.comparison_wanted, key)

    # ── checking files ──

    async def _check_files(self) -> None:
        """Read the files of every index now and then, so that damage is found before a search meets it."""
        await asyncio.sleep(FIRST_CHECK_S)
        while True:
            await self._log_errors(self._check_all)
            await asyncio.sleep(CHECK_EVERY_S)

    async def _check_all(self) -> None:
        await self._threads.run(self._engine.sweep)
        files = self._engine.files
        if files is None:
            return
        async with self._store.read() as connection:
            keys = await index_states.namespaces_with_chunks(connection)
        for key in keys:
            try:
                await self._threads.run(files.verify, key.namespace)
            except Damaged as damage:
                self._namespaces.want_rebuild(key, RebuildReason.DAMAGED, damage)


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
