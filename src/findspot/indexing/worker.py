"""Chunk rows → terms and vectors → engine → done. What has to be done stands in the store, so a process that is killed
loses nothing: the next one goes on where the store says."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from findspot.engines.protocol import Abandoned, Damaged, Engine
from findspot.errors import FindspotError
from findspot.indexing.chunk_rows import Following, said
from findspot.indexing.eviction import Warmth
from findspot.indexing.feeding import Filling
from findspot.indexing.reconcile import Agreeing
from findspot.indexing.status import Condition, Rebuild, Reporting, _rebuilding
from findspot.models import Backoff, NamespaceKey
from findspot.runtime.backoff import RetrySchedule
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.helpers import Helpers
from findspot.runtime.limits import REBUILDS, Gate
from findspot.runtime.threads import NAMESPACES, Threads
from findspot.settings import Settings
from findspot.store import chunks as rows
from findspot.store import index_states as states
from findspot.store.database import Store

log = logging.getLogger(__name__)

T = TypeVar("T")

GONE_AT_ONCE = 10_000
LONGEST_SLEEP_S = 30.0
SHARED_SLEEP_S = 1.0  # where other processes may change the store
CHECK_EVERY_S, FIRST_CHECK_S = 3600.0, 60.0  # of a large index, opening it looks at sizes alone
GRACE_S = 1.0
NAMESPACE_BACKOFF = Backoff(first_s=1.0, longest_s=30.0)
LOOK_PAUSE = 4  # times as long as it takes to look around for work


class Indexing:
    """The index worker: one task that sees what is to be done, and a task for each namespace at work."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        embeddings: Embeddings,
        helpers: Helpers,
        gate: Gate,
        threads: Threads,
        settings: Settings,
    ) -> None:
        self._store = store
        self._engine = engine
        self._embeddings = embeddings
        self._gate = gate
        self._settings = settings
        self._following = Following(store, helpers, settings)
        self.prepare = self._following.prepare
        self._in_thread = threads.index.run
        self._seats = asyncio.Semaphore(NAMESPACES)
        self._working: dict[NamespaceKey, asyncio.Task[None]] = {}
        self._again: set[NamespaceKey] = set()  # what is to be looked at once more when the work on it ends
        self._unsure: set[NamespaceKey] | None = None  # to be compared; None: not known yet
        self._unfit: set[NamespaceKey] = set()  # damaged, or with another embedder's vectors: to be built anew
        self._damaged: set[NamespaceKey] = set()  # those of them in which nothing can be searched
        self._rebuilding: dict[NamespaceKey, asyncio.Task[None]] = {}
        self._unbuilt: dict[NamespaceKey, str] = {}  # why the last rebuild failed, until one does not
        self.rebuilds: dict[str, Rebuild] = {}  # those that have begun
        self._retries: RetrySchedule[NamespaceKey] = RetrySchedule(NAMESPACE_BACKOFF)
        self.warmth = Warmth(store, engine, embeddings, settings, self.heal)
        self.touch = self.warmth.touch
        self._filling = Filling(store, engine, embeddings, helpers, self._in_thread, self.rebuilds)
        self.report = Reporting(store, engine, self._condition).report
        self._agreeing = Agreeing(store, engine, self._filling, self._in_thread)
        self._moved = asyncio.Condition()  # told whenever something was finished or failed
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = False

    # ── its life ──

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._run(), name="indexing"),
            asyncio.create_task(self._check(), name="index check"),
        ]

    async def close(self) -> None:
        """Work ends between two steps, if the next one is near; otherwise where it is."""
        self._closing = True
        await _cancelled([*self._tasks, *self._rebuilding.values()])
        if self._working:
            await asyncio.wait(self._working.values(), timeout=GRACE_S)
        await _cancelled(list(self._working.values()))

    async def _run(self) -> None:
        while True:
            self._store.written.clear()
            rests = self._retries.remaining_s()  # before the look: a rest that ends during it is not slept through
            began = time.monotonic()
            await self._patiently(self._start_work)
            pause_s = await self._pause(rests)
            if self._working:  # an import writes without a pause: to look around each time would take long
                await asyncio.sleep(min(SHARED_SLEEP_S, LOOK_PAUSE * (time.monotonic() - began)))
            with contextlib.suppress(TimeoutError):  # not wait_for, which can swallow a cancellation
                async with asyncio.timeout(pause_s):
                    await self._store.written.wait()

    async def _patiently(self, step: Callable[[], Awaitable[None]]) -> None:
        """A step that fails is tried again with the next change, or after a while: whatever it is, work goes on."""
        try:
            await step()
        except FindspotError as error:
            log.warning("the index waits: %s", error.message)
        except Exception:
            log.exception("the index waits")

    async def _pause(self, rests: list[float]) -> float:
        longest = SHARED_SLEEP_S if self._settings.shared else LONGEST_SLEEP_S
        try:
            async with self._store.read() as connection:
                due = await states.next_retry(connection)
        except FindspotError:  # the store is away, which `_start_work` has said
            return SHARED_SLEEP_S
        waits = [longest, *rests]
        if due is not None:
            waits.append((due - datetime.now(UTC)).total_seconds())
        return max(0.05, min(waits))

    async def _start_work(self) -> None:
        async with self._store.read() as connection:
            if self._unsure is None:
                self._unsure = {NamespaceKey.of(namespace) for namespace in await rows.namespaces(connection)}
            places = {NamespaceKey(*each) for each in await states.work(connection)}
            places |= {NamespaceKey.of(namespace) for namespace in await rows.debts(connection)}
        for place in places | self._unsure:
            if place in self._working:
                self._again.add(place)
            elif not self._retries.is_waiting(place) and (place not in self._unfit or place.namespace in self.rebuilds):
                task = asyncio.create_task(self._work(place), name=place.namespace)
                self._working[place] = task
                task.add_done_callback(partial(self._worked, place))
        for place in self._unfit:
            self._begin_rebuild(place)

    def _worked(self, place: NamespaceKey, task: asyncio.Task[None]) -> None:
        del self._working[place]
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            log.error("indexing %s failed", place.namespace, exc_info=error)
            self._retries.failed(place)
        else:
            self._retries.succeeded(place)
        if error is not None or place in self._again:
            self._again.discard(place)
            self._store.written.set()  # to look again, or to know how long to rest

    # ── one namespace ──

    async def _work(self, place: NamespaceKey) -> None:
        """Follow every source of a namespace until the engine holds just what the store does."""
        async with self._seats:
            try:
                await self._agree(place)
                await self._following.follow(place)
                await self._keep_up(place)
            except Damaged as damage:
                self.heal(place.namespace, damage)
            except Exception as error:
                await self._note(place, error)
                raise

    async def _keep_up(self, place: NamespaceKey) -> None:
        """Give the engine the chunks of the sources that were followed, while the next ones are."""
        rounds, advanced = 0, asyncio.Event()

        async def follow() -> None:
            nonlocal rounds
            try:
                while not self._closing and await self._following.follow(place):
                    rounds += 1
                    advanced.set()
            finally:
                advanced.set()

        following = asyncio.create_task(follow())
        try:
            seen, more = -1, False
            while (more or seen != rounds) and not self._closing:
                advanced.clear()
                seen = rounds
                more = await self._catch_up(place)
                async with self._store.write(durable=False) as connection:
                    await states.finish(connection, place)
                await self._tell()
                if not more and seen == rounds and not following.done():
                    await advanced.wait()
            await following
        finally:
            await _cancelled([following])

    async def _note(self, place: NamespaceKey, error: Exception) -> None:
        """Let everyone see why a namespace is behind."""
        message = said(error)
        try:
            async with self._store.write(durable=False) as connection:
                await states.fail_all(connection, place, message, self._retries.next_delay_s(place))
        except FindspotError:  # the store is away, which may be all that is wrong
            log.warning("%s: %s", place.namespace, message)
        await self._tell()

    async def _catch_up(self, place: NamespaceKey) -> bool:
        """Bring the engine up to date with the chunk rows; whether there is more to forget."""
        more = await self._forget(place)
        if not self._closing and await self._filling.fill(place, self._takes):
            await self._make_room(place)
        return more

    async def _make_room(self, place: NamespaceKey) -> None:
        """If that fails, it is not the fault of this namespace: there is another chance with the next vectors."""
        await self._patiently(partial(self.warmth.make_room, place.project_id))

    async def _takes(self, place: NamespaceKey) -> bool:
        """Whether more can be written now."""
        return not self._closing and await self._fits(place)

    async def _fits(self, place: NamespaceKey) -> bool:
        """Whether this embedder's vectors can be written: there, or to what is being built there. If not, an index that
        takes them is built, and what waits is written when that has begun."""
        if place.namespace in self.rebuilds:
            return True
        status = await self._in_thread(self._engine.status, place.namespace)
        if status.fingerprint in ("", await self._filling.fingerprint()):
            return True
        self.renew(place.namespace)
        return False

    async def _forget(self, place: NamespaceKey) -> bool:
        """Have the engine forget what the store no longer has; a namespace in which nothing is left is freed. Whether
        there may be more."""
        async with self._store.read() as connection:
            gone = await rows.gone(connection, place.namespace, GONE_AT_ONCE)
            if not gone:
                return False
            is_empty = await rows.is_empty(connection, place.namespace)
        if is_empty:
            await self._in_thread(self._engine.drop, place.namespace)
        else:
            await self._in_thread(self._engine.delete, place.namespace, gone)
        async with self._store.write(durable=False) as connection:
            await rows.settle_debt(connection, gone)
        return len(gone) == GONE_AT_ONCE

    async def _agree(self, place: NamespaceKey) -> None:
        """After a start, a rebuild or a doubt: let the engine hold just what the store says it holds."""
        if self._unsure is None or place not in self._unsure:
            return
        if await self._agreeing.agree(place):
            with contextlib.suppress(FindspotError):  # an embedder that is away now is asked before the next write
                await self._fits(place)
        self._unsure.discard(place)

    # ── checking ──

    async def _check(self) -> None:
        """Look through the files of every index now and then: damage is found before someone searches there."""
        await asyncio.sleep(FIRST_CHECK_S)
        while True:
            await self._patiently(self._check_all)
            await asyncio.sleep(CHECK_EVERY_S)

    async def _check_all(self) -> None:
        if self._engine.files is None:
            return
        async with self._store.read() as connection:
            known = await rows.namespaces(connection)
        for namespace in known:
            try:
                await self._in_thread(self._engine.files.verify, namespace)
            except Damaged as damage:
                self.heal(namespace, damage)

    def doubt(self, namespace: str) -> None:
        """Have store and engine compared before the next work there: what the engine lacks is indexed again."""
        if self._unsure is not None:
            self._unsure.add(NamespaceKey.of(namespace))
            self._store.written.set()

    # ── rebuilding ──

    def heal(self, namespace: str, damage: Damaged) -> None:
        """Build a damaged namespace anew, unless that is being done."""
        if NamespaceKey.of(namespace) not in self._unfit:
            log.warning("%s is damaged and is built anew: %s", namespace, damage)
        self._damaged.add(NamespaceKey.of(namespace))
        self.renew(namespace)

    def renew(self, namespace: str) -> None:
        """Build a namespace anew from the store, beside the one in service, and switch to it."""
        self._unfit.add(NamespaceKey.of(namespace))
        self._begin_rebuild(NamespaceKey.of(namespace))

    async def rebuild(self, place: NamespaceKey) -> None:
        """The same, and wait for it."""
        self.renew(place.namespace)

        async def done() -> bool:
            return place not in self._unfit

        await self.settled(done)

    async def enqueue(self, place: NamespaceKey) -> int:
        """Have a namespace built anew, without waiting for it; how many rebuilds of the project come first."""
        await self.require_room(place.project_id)
        self.renew(place.namespace)
        queue = [
            each for each in self._rebuilding if each.project_id == place.project_id
        ]  # in the order of their turns
        before = queue.index(place) if place in queue else len(queue)  # it is not where it rests after a failure
        return max(0, before + 1 - REBUILDS)

    async def require_room(self, project_id: int) -> None:
        """A project that is full takes no more to search."""
        async with self._store.read() as connection:
            taken = await states.chunks_of_project(connection, project_id)
        if taken >= self._settings.max_chunks:
            message = f"The project has {taken} chunks, and may have {self._settings.max_chunks}. Nothing was changed."
            raise FindspotError("SEARCH_CAPACITY_EXCEEDED", message)

    def _begin_rebuild(self, place: NamespaceKey) -> None:
        if place not in self._rebuilding and not self._retries.is_waiting(place):
            self._rebuilding[place] = asyncio.create_task(self._rebuild(place), name=f"rebuild {place.namespace}")

    async def _rebuild(self, place: NamespaceKey) -> None:
        try:
            async with self._gate.rebuild(place.project_id):
                if await self._agreeing.is_there(place):
                    await self._build(place)
                    await self._make_room(place)
            self._unfit.discard(place)
            self._damaged.discard(place)
            self._unbuilt.pop(place, None)
            self._retries.succeeded(place)
            if self._unsure is not None:
                self._unsure.add(place)
        except Exception as error:
            log.exception("rebuilding %s failed", place.namespace)
            self._unbuilt[place] = said(error)
            await self._note(place, error)
            self._retries.failed(place)
        finally:
            del self._rebuilding[place]
            self.rebuilds.pop(place.namespace, None)
            _rebuilding.discard(place.namespace)
            self._store.written.set()
        await self._tell()

    async def _build(self, place: NamespaceKey) -> None:
        if self._engine.files is None:
            raise FindspotError("ENGINE_UNAVAILABLE", "This engine cannot build an index beside the one in service.")
        or_words = place in self._damaged
        fingerprint, dimension = await self._filling.kind(or_words=or_words)
        async with self._store.read() as connection:
            total, _ = (await rows.counts(connection, [place.namespace])).get(place.namespace, (0, 0))
        build = await self._in_thread(self._engine.files.build, place.namespace, fingerprint, dimension)
        try:
            progress = self.rebuilds[place.namespace] = Rebuild(0, total, time.monotonic())
            _rebuilding.add(place.namespace)
            self._store.written.set()  # what waits can be written from here on
            await self._filling.copy(place, build, dimension, progress.add, or_words=or_words)
            await self._in_thread(build.switch)
        except Abandoned:
            log.info("the rebuild of %s is no longer wanted", place.namespace)
        except BaseException:
            await asyncio.shield(self._in_thread(build.abandon))
            raise

    # ── for those who wait or ask ──

    def _condition(self, place: NamespaceKey) -> Condition:
        """What is being done about a namespace."""
        rebuild, rate = self.rebuilds.get(place.namespace), self._filling.rates.get(place, 0.0)
        return Condition(rebuild, place in self._unfit, self._unbuilt.get(place), rate)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is being worked on or built, and nothing is still to be compared."""
        return not (self._working or self._unfit or self._unsure or self._unsure is None)

    async def settled(self, done: Callable[[], Awaitable[bool]]) -> None:
        """Wait until a condition on the store holds; it is looked at whenever the index has moved."""
        async with self._moved:
            while not await done():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await self._moved.wait()

    async def _tell(self) -> None:
        async with self._moved:
            self._moved.notify_all()


async def _cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
