"""What state is each namespace in? The worker has the states in memory, and writes them to rows for everyone else."""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Concatenate, ParamSpec

from findspot.errors import Failure, FindspotError
from findspot.indexing import transitions
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

    def __init__(self, store: Store) -> None:
        self._store = store
        self._states: dict[NamespaceKey, NamespaceState] = {}
        self._saved: dict[NamespaceKey, NamespaceState] = {}
        self._changed: set[NamespaceKey] = set()
        self._saving = asyncio.Lock()  # so that no older state is written over a newer one
        self._saved_at = 0.0

    async def start(self) -> None:
        """Read the states, and have every namespace checked that has chunks."""
        async with self._store.read() as connection:
            known = {state.key: state for state in await rows.every(connection)}
            keys = known.keys() | set(await source_rows.namespaces_with_chunks(connection))
        self._states, self._saved = {}, known
        now = datetime.now(UTC)
        for key in sorted(keys, key=lambda key: key.namespace):
            self._set(transitions.started(known.get(key) or transitions.initial(key), now))
        await self.save()

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
            async with self._store.write(durable=False) as connection:
                await source_rows.fail_all(connection, key, failure, retry_delay_s)
        except FindspotError:  # the store is unavailable, which may be all that is wrong
            log.warning("%s: %s", key.namespace, failure)

    def forget(self, key: NamespaceKey) -> None:
        """Remove the state of a namespace that no longer exists."""
        self._states.pop(key, None)
        self._changed.add(key)

    def in_phase(self, phase: Phase) -> list[NamespaceState]:
        return [state for state in self._states.values() if state.phase is phase]

    async def save(self) -> None:
        """Write the states that have changed. If that fails, the next call tries again."""
        async with self._saving:
            changed = {key: self._states.get(key) for key in self._changed}
            changed = {key: state for key, state in changed.items() if state != self._saved.get(key)}
            self._changed.clear()
            if not changed:
                return
            try:
                async with self._store.write(durable=False) as connection:
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
        except FindspotError as error:
            log.warning("the states of namespaces could not be saved: %s", error.message)

    def _set(self, state: NamespaceState) -> None:
        self._states[state.key] = state
        self._changed.add(state.key)
