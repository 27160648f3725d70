"""Who may write the index of a namespace? One worker at a time, which holds its lease.

`Leases` is for the only worker of an installation: it grants everything and costs nothing. `SharedLeases` is for
workers on several machines. A lease that is not renewed expires, and another worker claims it with a higher token. A
worker that wakes up after that can change nothing: its transactions check the token, and the engine gets it as `fence`.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from findspot.errors import FindspotError
from findspot.indexing import transitions
from findspot.models import NamespaceKey
from findspot.store import leases as rows
from findspot.store import namespace_states
from findspot.store.database import Store
from findspot.store.leases import Claim
from findspot.store.namespace_states import NamespaceState

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

log = logging.getLogger(__name__)

LEASE_S, RENEW_S = 15.0, 5.0  # a dead worker's namespaces are taken over after LEASE_S + RENEW_S at the latest


class LeaseLost(Exception):
    """Another worker has taken the namespace over. It does the rest of the work."""

    def __init__(self, key: NamespaceKey) -> None:
        super().__init__(f"another worker has taken over {key.namespace}")
        self.key = key


class Grant(NamedTuple):
    """A lease that this worker holds. `is_new` if it was claimed just now: the state of the namespace is to be read.

    `is_abandoned` if the last holder let it expire. `is_continued` if no other worker has held it since this one did:
    what this one remembers of the namespace is valid.
    """

    is_new: bool = False
    is_abandoned: bool = False
    is_continued: bool = True


class Leases:
    """The leases of the only worker: every namespace is its own."""

    is_shared = False

    def __init__(self, store: Store) -> None:
        self._store = store

    async def claim(self, key: NamespaceKey) -> Grant | None:
        """Hold the lease of a namespace until `release` was called as often; None if another worker holds it."""
        return Grant()

    def is_last(self, key: NamespaceKey) -> bool:
        """Return whether the next `release` gives the lease back."""
        return False

    async def release(self, key: NamespaceKey, *, is_gone: bool = False) -> None:
        """End one use of a lease. The last one gives it back, or removes it if the namespace is gone."""

    def is_lost(self, key: NamespaceKey) -> bool:
        """Return whether another worker is known to have taken a namespace over."""
        return False

    def fence(self, key: NamespaceKey) -> int:
        """Return the token for writes to the engine; 0 if none is needed. Raises LeaseLost."""
        return 0

    @contextlib.asynccontextmanager
    async def write(self, *keys: NamespaceKey, frees: bool = False) -> "AsyncIterator[AsyncConnection]":
        """Give a transaction that changes namespaces, and is not durable. Raises LeaseLost before it writes anything,
        if one has been taken over."""
        async with self._store.write(durable=False, frees=frees) as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def kept(self, key: NamespaceKey) -> AsyncIterator[None]:
        """Let no other worker take a namespace over during the block, which must be short. Raises LeaseLost."""
        yield

    async def waiting(self) -> list[NamespaceState]:
        """Return the states of namespaces that wait for any worker, beside those with sources to index."""
        return []

    async def never_claimed(self, keys: list[NamespaceKey]) -> list[NamespaceKey]:
        """Return those of the namespaces that no worker has held so far."""
        return []

    async def renew_regularly(self) -> None:
        """Renew the leases in use, until cancelled."""


@dataclass
class _Use:
    """A lease in use by tasks of this process."""

    token: int
    grant: Grant
    tasks: int = 1
    is_lost: bool = False


class SharedLeases(Leases):
    """Leases as rows of PostgreSQL. `holder` names this process."""

    is_shared = True

    def __init__(self, store: Store, holder: str, lease_s: float = LEASE_S, renew_s: float = RENEW_S) -> None:
        super().__init__(store)
        self._holder = holder
        self._lease_s = lease_s
        self._renew_s = renew_s
        self._used: dict[NamespaceKey, _Use] = {}
        self._last_tokens: dict[NamespaceKey, int] = {}  # of leases that were given back

    async def claim(self, key: NamespaceKey) -> Grant | None:
        use = self._used.get(key)
        if use is None:
            async with self._store.write(durable=False) as connection:
                claim = await rows.claim(connection, key.namespace, self._holder, self._lease_s)
            if claim is None:
                return None
            use = self._used[key] = _Use(claim.token, self._grant(key, claim))
            return use.grant
        if use.is_lost:  # a task still has to notice
            return None
        use.tasks += 1
        return use.grant._replace(is_new=False)

    def _grant(self, key: NamespaceKey, claim: Claim) -> Grant:
        if claim.is_abandoned:
            log.warning("%s is taken over: the lease of its worker has expired", key.namespace)
        last = self._last_tokens.pop(key, None)
        return Grant(True, claim.is_abandoned, is_continued=last is not None and last == claim.previous)

    def is_last(self, key: NamespaceKey) -> bool:
        return self._used[key].tasks == 1

    async def release(self, key: NamespaceKey, *, is_gone: bool = False) -> None:
        use = self._used[key]
        use.tasks -= 1
        if use.tasks:
            return
        del self._used[key]
        if use.is_lost:
            return
        async with self._store.write(durable=False) as connection:
            await (rows.delete if is_gone else rows.release)(connection, key.namespace, use.token)
        if not is_gone:
            self._last_tokens[key] = use.token

    def is_lost(self, key: NamespaceKey) -> bool:
        return key not in self._used or self._used[key].is_lost

    def fence(self, key: NamespaceKey) -> int:
        if self.is_lost(key):
            raise LeaseLost(key)
        return self._used[key].token

    @contextlib.asynccontextmanager
    async def write(self, *keys: NamespaceKey, frees: bool = False) -> "AsyncIterator[AsyncConnection]":
        tokens = {key.namespace: self.fence(key) for key in keys}
        async with self._store.write(durable=False, frees=frees) as connection:
            locked = await rows.lock(connection, tokens)
            self._note_lost(tokens, locked)
            if missing := tokens.keys() - locked:
                raise LeaseLost(NamespaceKey.of(min(missing)))
            yield connection

    @contextlib.asynccontextmanager
    async def kept(self, key: NamespaceKey) -> AsyncIterator[None]:
        async with self.write(key):
            yield

    async def waiting(self) -> list[NamespaceState]:
        async with self._store.read() as connection:
            found = {state.key: state for state in await namespace_states.not_in_service(connection)}
            for key in await rows.abandoned(connection):
                found[key] = transitions.started(found.get(key) or transitions.initial(key), datetime.now(UTC))
        return list(found.values())

    async def never_claimed(self, keys: list[NamespaceKey]) -> list[NamespaceKey]:
        async with self._store.read() as connection:
            return await rows.never_claimed(connection, keys)

    async def renew_regularly(self) -> None:
        while True:
            await asyncio.sleep(self._renew_s)
            try:
                await self.renew()
            except FindspotError as error:  # tried again; if the leases expire meanwhile, the tokens tell
                log.warning("leases could not be renewed: %s", error.message)

    async def renew(self) -> None:
        """Renew the leases in use once, and note those that are lost."""
        tokens = {key.namespace: use.token for key, use in self._used.items() if not use.is_lost}
        if tokens:
            async with self._store.write(durable=False) as connection:
                kept = await rows.renew(connection, tokens, self._lease_s)
            self._note_lost(tokens, kept)

    def _note_lost(self, tokens: dict[str, int], kept: set[str]) -> None:
        for namespace in tokens.keys() - kept:
            use = self._used.get(NamespaceKey.of(namespace))
            if use is not None and use.token == tokens[namespace] and not use.is_lost:
                log.warning("%s was taken over by another worker", namespace)
                use.is_lost = True
