"""Decides whether this process may use the index of a PostgreSQL database, and keeps others from writing it.

On SQLite there is nothing to decide: the database and its index are in one folder, which one process owns.
"""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.errors import FindspotError
from findspot.models import Backoff
from findspot.runtime import installation
from findspot.runtime.data_folder import DataFolder
from findspot.runtime.installation import Installation
from findspot.settings import Settings
from findspot.store import index_owner, leases
from findspot.store.database import Store
from findspot.store.index_owner import IndexOwner

log = logging.getLogger(__name__)

LOCK_WAIT_S = 5.0  # PostgreSQL notices within this time that a killed process of the same folder is gone
PROBE_S = 10.0
RECONNECT = Backoff(first_s=0.5, longest_s=10.0, jitter=0.2)
_POLL_S = 0.05


class Deployment:
    """The claim of this process on the index of its database."""

    def __init__(self, store: Store, settings: Settings, folder: DataFolder) -> None:
        self._store = store
        self._settings = settings
        self._folder = folder
        self._id: str | None = None
        self._session = contextlib.AsyncExitStack()
        self._lock: AsyncConnection | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._lost: FindspotError | None = None

    async def claim(self) -> None:
        """Become the process that writes the index, or raise INDEX_ELSEWHERE with the owner and the ways out."""
        if self._store.kind == "sqlite":
            return
        if not self._settings.shared:
            await self._wait_for_lock()
        await self._record()

    async def refusal(self) -> str | None:
        """Return why the index of this data folder must not be used, or None. Nothing is claimed."""
        if self._store.kind == "sqlite":
            return None
        async with self._store.read() as connection:
            owner = await index_owner.get(connection)
        return refusal(owner, self._settings, await self._installation())

    def keep(self, on_lost: Callable[[], Awaitable[None]]) -> None:
        """Lock the index again whenever the connection is lost. Call `on_lost` if another process was faster."""
        if self._lock is not None:
            self._keeping = asyncio.create_task(self._keep(on_lost), name="index owner")

    async def require_owned(self) -> None:
        """Raise INDEX_ELSEWHERE if another server has taken the index over. A process that has claimed nothing, since
        another one of its server has, asks the database."""
        if self._lost is not None:
            raise FindspotError(self._lost.code, self._lost.message)
        if self._id is None and (sentence := await self.refusal()) is not None:
            raise FindspotError("INDEX_ELSEWHERE", sentence)

    async def close(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        await self._session.aclose()

    # ── the lock ──

    async def _wait_for_lock(self) -> None:
        deadline = time.monotonic() + LOCK_WAIT_S
        while not await self._try_lock():
            async with self._store.read() as connection:
                owner = await index_owner.get(connection)
            if time.monotonic() > deadline or not _is_mine(owner, await self._installation()):
                raise FindspotError("INDEX_ELSEWHERE", _sentence(owner, running=True))
            await asyncio.sleep(_POLL_S)

    async def _try_lock(self) -> bool:
        if self._lock is None:
            self._lock = await self._session.enter_async_context(self._store.session())
        return await index_owner.try_lock(self._lock)

    async def _keep(self, on_lost: Callable[[], Awaitable[None]]) -> None:
        failures = 0
        while True:
            await asyncio.sleep(RECONNECT.delay_s(failures) if failures else PROBE_S)
            try:
                if failures:
                    await self._lock_again()
                elif self._lock is not None:
                    await self._lock.execute(sa.text("SELECT 1"))
                failures = 0
            except FindspotError as error:
                if error.code == "INDEX_ELSEWHERE":
                    self._lost = error
                    log.error("this process stops indexing: %s", error.message)
                    await on_lost()
                    return
                failures += 1
            except sa.exc.SQLAlchemyError:  # the connection is lost
                failures += 1

    async def _lock_again(self) -> None:
        """Lock on a new connection. Raise STORE_UNAVAILABLE if it has to be tried again."""
        with contextlib.suppress(FindspotError, sa.exc.SQLAlchemyError):  # of the connection that is lost
            await self._session.aclose()
        self._lock = None
        is_locked = await self._try_lock()
        async with self._store.read() as connection:
            owner = await index_owner.get(connection)
        if owner is not None and owner.installation_id != self._id:
            raise FindspotError("INDEX_ELSEWHERE", _sentence(owner, running=not is_locked))
        if not is_locked:  # by the lost connection, which PostgreSQL has not noticed yet
            raise FindspotError("STORE_UNAVAILABLE", "The index is still locked.")

    # ── the record ──

    async def _record(self) -> None:
        found, database = await self._installation(), _name(self._settings)
        async with self._store.write() as connection:
            owner = await index_owner.get(connection)
            if (sentence := refusal(owner, self._settings, found)) is not None:
                if not self._folder.takes_over:
                    raise FindspotError("INDEX_ELSEWHERE", sentence)
                await index_owner.renew_identity(connection)
                await leases.clear(connection)
            if self._settings.shared:
                if owner is None or owner.engine != self._settings.engine:
                    await index_owner.put(
                        connection, IndexOwner(self._settings.engine, None, None, None, datetime.now(UTC))
                    )
                return
            mine = found.renewed(database) if found else installation.new(database)
            where = str(self._settings.data.resolve())
            await index_owner.put(
                connection, IndexOwner(self._settings.engine, mine.id, where, socket.gethostname(), datetime.now(UTC))
            )
            await asyncio.to_thread(
                installation.write, self._settings.data, mine
            )  # before the commit, see Installation
        self._id = mine.id

    async def _installation(self) -> Installation | None:
        return await asyncio.to_thread(installation.read, self._settings.data)


def refusal(owner: IndexOwner | None, settings: Settings, found: Installation | None) -> str | None:
    """Return why a process with these settings must not use the index, or None."""
    if owner is None:
        return None
    if settings.shared or owner.installation_id is None:
        return None if owner.engine == settings.engine else _sentence(owner)
    is_new_folder = found is None and (owner.folder, owner.host) == (str(settings.data.resolve()), socket.gethostname())
    return None if is_new_folder or _is_mine(owner, found) else _sentence(owner)


def _is_mine(owner: IndexOwner | None, found: Installation | None) -> bool:
    return owner is None or (found is not None and owner.installation_id in (found.id, found.previous_id))


def _sentence(owner: IndexOwner | None, *, running: bool = False) -> str:
    """Return who owns the index, and the three ways out."""
    if owner is None:
        where = "another process"
    elif owner.folder is None:
        where = f"the engine '{owner.engine}' since {owner.claimed_at:%Y-%m-%d %H:%M} UTC"
    else:
        where = (
            f"the data folder {owner.folder} on {owner.host} (installation {owner.installation_id}, "
            f"last started {owner.claimed_at:%Y-%m-%d %H:%M} UTC)"
        )
    state = ", and a server is running there" if running else ""
    third = "stop that server, then start here" if running else "if that one is gone for good, start here"
    return (
        f"The index of this database belongs to {where}{state}. A second index would miss what is saved through the "
        "other. Either use that one (its data folder with --data, or its server with --url); or give this folder a "
        f"database of its own with FINDSPOT_DATABASE_URL; or {third} with 'findspot serve --take-over', which builds "
        "the index again."
    )


def _name(settings: Settings) -> str:
    """Return the address of the database without user and password."""
    assert settings.database_url is not None
    url = sa.make_url(settings.database_url.get_secret_value())
    host = url.host or url.query.get("host") or "localhost"
    return f"{url.database or ''} at {host}"
