"""What state is each namespace in? The worker has the states in memory, and writes them to rows for everyone else.

A worker that shares the namespaces with others has the states of those that it holds.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import Concatenate, ParamSpec

from findspot.errors import Failure, FindspotError
from findspot.indexing import transitions
from findspot.indexing.leases import Grant, LeaseLost, Leases
from findspot.models import NamespaceKey
from findspot.store import index_states as source_rows
from findspot.store import namespace_states as rows
from findspot.store.database import Store
from findspot.store.namespace_states import NamespaceState, Phase, RebuildReason

log = logging.getLogger(__name__)

P = ParamSpec("P")

SAVE_PROGRESS_S = 1.0  # between two writes that only show progress


class NamespaceStates:
    """The states of all namespaces. A change is in memory at once; `save` writes what differs from the rows."""

    def __init__(self, store: Store, leases: Leases | None = None) -> None:
        self._store = store
        self._leases = leases or Leases(store)
        self._states: dict[NamespaceKey, NamespaceState] = {}
        self._saved: dict[NamespaceKey, NamespaceState] = {}
        self._changed: set[NamespaceKey] = set()
        self._saving = asyncio.Lock()  # so that no older state is written over a newer one
        self._saved_at = 0.0
        self._claiming = asyncio.Lock()

    async def start(self) -> None:
        """Read the states, and have every namespace checked that has chunks.

        Where several workers share them: those that none has held so far. The others are as they were left.
        """
        async with self._store.read() as connection:
            known = {state.key: state for state in await rows.every(connection)}
            keys = known.keys() | set(await source_rows.namespaces_with_chunks(connection))
        now = datetime.now(UTC)
        if self._leases.is_shared:
            new = await self._leases.never_claimed(list(keys))
            async with self._store.write(durable=False) as connection:
                await rows.save(connection, [transitions.started(known.get(key) or self[key], now) for key in new])
            return
        self._states, self._saved = {}, known
        for key in sorted(keys, key=lambda key: key.namespace):
            self._set(transitions.started(known.get(key) or transitions.initial(key), now))
        await self.save()

    @contextlib.asynccontextmanager
    async def hold(self, key: NamespaceKey) -> AsyncIterator[Grant | None]:
        """Hold the lease of a namespace, for which its state is read. Give None if another worker holds it."""
        async with self._claiming:
            grant = await self._leases.claim(key)
            try:
                if grant is not None and grant.is_new:
                    await self._read(key, grant)
            except BaseException:
                await self._let_go(key)
                raise
        try:
            yield grant
        finally:
            if grant is not None:
                async with self._claiming:
                    await self._let_go(key)

    async def _read(self, key: NamespaceKey, grant: Grant) -> None:
        async with self._store.read() as connection:
            known = await rows.get(connection, key.namespace)
        state = known or transitions.initial(key)
        self._states[key] = state
        if known is not None:
            self._saved[key] = known
        if grant.is_abandoned or state.phase is Phase.REBUILDING:
            self.apply(transitions.started, key, datetime.now(UTC))

    async def _let_go(self, key: NamespaceKey) -> None:
        """End a use of a lease. With the last one, save the state and forget it."""
        is_last, is_gone = self._leases.is_last(key), False
        try:
            if is_last:
                self.apply(transitions.rebuild_interrupted, key)
                await self.save()
                is_gone = key not in self._states
        except (FindspotError, LeaseLost) as error:
            log.warning("%s: its state could not be saved: %s", key.namespace, error)
        finally:
            if is_last:
                self._drop(key)
            try:
                await self._leases.release(key, is_gone=is_gone)
            except FindspotError as error:  # the lease expires
                log.warning("%s: its lease could not be released: %s", key.namespace, error.message)

    def _drop(self, key: NamespaceKey) -> None:
        self._states.pop(key, None)
        self._saved.pop(key, None)
        self._changed.discard(key)

    def __getitem__(self, key: NamespaceKey) -> NamespaceState:
        return self._states.get(key) or transitions.initial(key)

    def apply(
        self,
        transition: Callable[Concatenate[NamespaceState, P], NamespaceState],
        key: NamespaceKey,
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> NamespaceState:
        """Change the state of a namespace, in memory."""
        before = self[key]
        state = transition(before, *arguments, **options)
        if state != before:
            self._set(state)
        return state

    def want_rebuild(
        self, key: NamespaceKey, reason: RebuildReason, damage: Exception | None = None, since: datetime | None = None
    ) -> None:
        """Queue a rebuild, and wake the scheduler."""
        before = self[key]
        if before.phase not in (Phase.QUEUED, Phase.REBUILDING):
            log.warning("%s will be rebuilt (%s)", key.namespace, damage or reason)
        if self.apply(transitions.rebuild_wanted, key, reason, since or datetime.now(UTC)) != before:
            self._store.written.set()

    async def note_failure(self, key: NamespaceKey, error: Exception, retry_delay_s: float) -> None:
        """Write the error to the sources of a namespace that are not ready."""
        failure = Failure.of(error)
        try:
            async with self._leases.write(key) as connection:
                await source_rows.fail_all(connection, key, failure, retry_delay_s)
        except (FindspotError, LeaseLost):  # the store is unavailable, which may be all that is wrong
            log.warning("%s: %s", key.namespace, failure)

    def forget(self, key: NamespaceKey) -> None:
        """Remove the state of a namespace that no longer exists."""
        self._states.pop(key, None)
        self._changed.add(key)

    def in_phase(self, phase: Phase) -> list[NamespaceState]:
        return [state for state in self._states.values() if state.phase is phase]

    async def compare(self, keys: Sequence[NamespaceKey]) -> None:
        """Have store and engine compared. Namespaces that this worker does not hold wait for any worker."""
        mine = [key for key in keys if not self._leases.is_shared or key in self._states]
        for key in mine:
            self.apply(transitions.comparison_wanted, key)
        if len(mine) < len(keys):
            others = set(keys) - set(mine)
            async with self._store.write(durable=False) as connection:
                known = {state.key: state for state in await rows.every(connection)}
                states = [known.get(key) or transitions.initial(key) for key in others]  # some have no row yet
                await rows.save(connection, [transitions.comparison_wanted(state) for state in states])

    async def rebuilding_elsewhere(self, project_id: int) -> int:
        """Return how many namespaces of a project other workers are rebuilding."""
        if not self._leases.is_shared:
            return 0
        async with self._store.read() as connection:
            states = (await rows.of_project(connection, project_id)).values()
        return sum(state.phase is Phase.REBUILDING and state.key not in self._states for state in states)

    async def begin_rebuild(self, key: NamespaceKey, total: int, most: int) -> bool:
        """Note that a new index of `total` chunks is being written; return False if workers are rebuilding `most` other
        namespaces of the project. That is decided for one namespace after the other, whichever worker asks."""
        if not self._leases.is_shared:
            self.apply(transitions.rebuild_began, key, total)
            await self.save()
            return True
        async with self._saving:
            async with self._leases.write(key) as connection:
                if await rows.lock_other_rebuilds(connection, key) >= most:
                    return False
                began = transitions.rebuild_began(self[key], total)
                await rows.save(connection, [began])
            self._states[key] = self._saved[key] = began
        return True

    async def unfinished(self) -> list[NamespaceState]:
        """Return the states of namespaces to compare or rebuild, also of those that wait for any worker."""
        others = [state for state in await self._leases.waiting() if state.key not in self._states]
        return others + [state for state in self._states.values() if state.phase is not Phase.IN_SERVICE]

    async def save(self) -> None:
        """Write the states that have changed. If that fails, the next call tries again.

        The states of namespaces that another worker has taken over are forgotten.
        """
        async with self._saving:
            try:
                await self._save()
            except LeaseLost:  # that one is left out now
                await self._save()

    async def _save(self) -> None:
        for key in [key for key in self._changed if self._leases.is_lost(key)]:
            self._drop(key)
        changed = {key: self._states.get(key) for key in self._changed}
        changed = {key: state for key, state in changed.items() if state != self._saved.get(key)}
        self._changed.clear()
        if not changed:
            return
        try:
            async with self._leases.write(*changed) as connection:
                await rows.save(connection, [state for state in changed.values() if state is not None])
                await rows.delete(connection, [key for key, state in changed.items() if state is None])
        except BaseException:
            self._changed |= changed.keys()
            raise
        self._saved_at = time.monotonic()
        for key, state in changed.items():
            self._saved.pop(key, None)
            if state is not None:
                self._saved[key] = state

    async def save_progress(self) -> None:
        """Save, but at most about once a second; progress is not worth an error."""
        if self._changed and time.monotonic() - self._saved_at >= SAVE_PROGRESS_S:
            await self.try_to_save()

    async def try_to_save(self) -> None:
        try:
            await self.save()
        except (FindspotError, LeaseLost) as error:
            log.warning("the states of namespaces could not be saved: %s", error)

    def _set(self, state: NamespaceState) -> None:
        self._states[state.key] = state
        self._changed.add(state.key)
