"""Opens the database, migrates it, and offers ways in: `read`, `read_replica`, `lookup`, `snapshot` and `write`."""

import asyncio
import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from findspot.store import migrate, postgres
from findspot.store.failures import database_errors, is_locked, raised_as_findspot_errors
from findspot.store.files import DatabaseFiles, disk_full, make_room_to_open
from findspot.store.reader import Reader, SameThreadReader
from findspot.store.remembered import Remembered
from findspot.store.replica import SAVED, Replica
from findspot.store.sqlite_connection import connector

_log = logging.getLogger(__name__)

LOOKUP_ROWS = 500  # more rows than this are for `read`: they would keep the event loop busy

_READERS = 8
_WAIT_S = 30
# How often a writer that waits for another process tries again. SQLite alone would soon sleep for 100 ms between two
# tries, and miss the moment between two transactions of a process that writes much.
_POLL_MS = 2
_LOOKUP_WAIT_S = 0.05  # for a lock of SQLite; then another thread waits, so that the event loop can go on
_ANY_WRITE = sa.text("UPDATE installation SET identity = identity")
_DO_NOT_WAIT_FOR_DISK = sa.text("SET LOCAL synchronous_commit = off")
_SQLITE_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # an acknowledged write survives a power cut, not only a killed process
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 67108864",  # after a large write the log file shrinks again
)
# Of the writer: new chunks go to random pages of their indexes, which 2 MB do not hold (-15 % of processor time).
_CACHE_KIB = 64 << 10
# Pages in the log before SQLite copies them to the database, which takes two syncs. A new chunk writes 8 KB of pages.
# The small log is SQLite's own choice, and leaves most of the reserve for deleting.
_LOG_PAGES, _SMALL_LOG_PAGES = 4000, 1000


@dataclass(frozen=True, slots=True)
class _Engines:
    """The SQLAlchemy engines of one database."""

    reader: AsyncEngine
    snapshots: AsyncEngine
    writer: AsyncEngine
    lookups: sa.Engine | None  # SQLite only
    sessions: AsyncEngine | None  # PostgreSQL only
    sqlite: "_SqliteAccess"
    replica: Replica | None = None


class _SqliteAccess:
    """The files of an SQLite database, and how long writers wait for a lock that another process holds."""

    def __init__(self) -> None:
        self.files: DatabaseFiles | None = None  # of a database that was opened to be used
        self._until = float("inf")

    def require_present(self) -> None:
        """Raise STORE_REPLACED if the files are gone. A new connection would create an empty database."""
        if self.files is not None:
            self.files.require_present()

    @property
    def log_pages(self) -> int:
        return _LOG_PAGES if self.files is not None and self.files.has_much_room else _SMALL_LOG_PAGES

    def shorten(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def is_over(self, began: float) -> bool:
        return time.monotonic() >= min(began + _WAIT_S, self._until)


class Store:
    """The open database. `write` commits when its block ends without an error."""

    def __init__(self, engines: _Engines) -> None:
        self._engines = engines
        self.remembered = Remembered(engines.lookups)  # look-ups that every request repeats
        self._was_reached = False  # the database has answered before
        self._is_full = False  # the last write failed because the disk is full
        self.written = asyncio.Event()  # set by every durable write; the task that waits for it clears it

    @classmethod
    async def open(
        cls,
        url: str | None,
        file: Path,
        *,
        replica_url: str | None = None,
        limits: postgres.PoolLimits = postgres.API,
    ) -> "Store":
        """Open PostgreSQL at `url`, or SQLite in `file`, and apply missing migrations."""
        if not url:
            make_private(file)
            make_room_to_open(file)
        store = cls(_postgres(url, replica_url, limits) if url else _sqlite(file))
        try:
            await store._migrate()
            store._was_reached = True
            if not url:
                with raised_as_findspot_errors():
                    store._engines.sqlite.files = await asyncio.to_thread(DatabaseFiles, file)
        except BaseException:
            await store.close()
            raise
        return store

    @classmethod
    def unprepared(cls, url: str | None, file: Path) -> "Store":
        """Open the database without migrating it. Nothing is touched before the first use."""
        return cls(_postgres(url, None, postgres.API) if url else _sqlite(file))

    @property
    def _files(self) -> DatabaseFiles | None:
        return self._engines.sqlite.files

    @property
    def kind(self) -> str:
        return self._engines.writer.dialect.name

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection for queries of any size. On SQLite each statement sees the newest state."""
        async with database_errors(), self._connected(self._engines.reader) as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def read_replica(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection for long reads, as `read` does: to the replica, if there is one that can be used.

        It has everything that was saved before. Use it for reads that may take long and need not be repeated.
        """
        async with contextlib.AsyncExitStack() as closing:
            connection: AsyncConnection | None = None
            if self._engines.replica is not None and not self._engines.replica.is_away:
                async with self.read() as primary:
                    saved = (await primary.execute(SAVED)).scalar_one()
                connection = await self._engines.replica.connect(saved, closing)
            if connection is None:
                connection = await closing.enter_async_context(self.read())
            async with database_errors():
                yield connection

    def _connected(self, engine: AsyncEngine) -> contextlib.AbstractAsyncContextManager[AsyncConnection]:
        """Give a connection. If PostgreSQL restarts, wait for it, but not when it is opened for the first time."""
        if self._was_reached and self.kind == "postgresql":
            return postgres.connected(engine)
        return engine.connect()

    @contextlib.asynccontextmanager
    async def lookup(self, *, one: bool = False) -> AsyncIterator[Reader]:
        """Give a small snapshot, for at most LOOKUP_ROWS rows by their keys. `one` statement needs no transaction.

        On SQLite the queries run in the thread of the event loop, because the way to another thread and back takes
        longer than they do: docs/decisions/010 has the figures. If the database is locked, they run in another thread.
        """
        async with database_errors():
            if self._engines.lookups is None:
                async with self.statement() if one else self._connected(self._engines.snapshots) as connection:
                    yield connection
                return
            direct = _begin_snapshot(self._engines.lookups)
            if direct is None:
                async with self.snapshot() as connection:
                    yield connection
                return
            try:
                yield SameThreadReader(direct)
            finally:
                _end_snapshot(direct)

    @contextlib.asynccontextmanager
    async def statement(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection for one short statement, which takes one round trip and commits itself. PostgreSQL only."""
        engine = self._engines.reader.execution_options(isolation_level="AUTOCOMMIT")
        async with database_errors(), self._connected(engine) as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """Give a snapshot of the whole database, for as long as it takes to read it. It delays no writer."""
        async with database_errors(), self._connected(self._engines.snapshots) as connection:
            if self.kind == "postgresql":
                await connection.execute(postgres.NO_TIMEOUT)
            else:
                # SQLite readers are not reset when they return to the pool, so this one must not return.
                await connection.run_sync(sa.Connection.detach)
                await connection.exec_driver_sql("BEGIN")
            await migrate.revision(connection)  # the first query fixes the state that the snapshot shows
            yield connection

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection that no one else uses before or after, and that commits each statement: for what belongs
        to a connection, such as LISTEN. PostgreSQL only."""
        assert self._engines.sessions is not None, "SQLite has no sessions"
        async with database_errors(), self._engines.sessions.connect() as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def write(self, *, durable: bool = True, frees: bool = False) -> AsyncIterator[AsyncConnection]:
        """Give a transaction that writes.

        With `durable=False` the commit does not wait for the disk. The transaction becomes durable with the next
        durable one. Use it for steps that can be repeated after a power cut. With `frees`, the transaction deletes
        content, and may use the disk space that is reserved for that.
        """
        async with database_errors(self._note_full):
            await self._check_files(frees=frees)
            writer = self._engines.writer.execution_options(durable=durable)
            async with self._connected(writer) as connection, connection.begin():
                if not durable and self.kind == "postgresql":
                    await connection.execute(_DO_NOT_WAIT_FOR_DISK)
                yield connection
        if self._files is not None:
            self._files.require_present()  # before the write is acknowledged
        self._is_full = False
        if durable:
            self.written.set()

    async def _check_files(self, *, frees: bool) -> None:
        files = self._files
        if files is None:
            return
        files.require_present()
        if files.can_refill:
            await asyncio.to_thread(files.refill)
        if frees:
            files.make_room()
        else:
            files.require_room()

    def _note_full(self) -> None:
        self._is_full = True

    async def keep_reserve(self) -> None:
        """Set disk space aside for deleting when the disk is full. Only SQLite on a local disk needs it."""
        if self._files is not None:
            await asyncio.to_thread(self._files.keep_reserve)

    async def require_writable(self) -> None:
        """Raise an error if nothing can be saved: the database file is gone, or its disk is full."""
        if self._files is not None:
            self._files.require_present()
            if self._files.is_full():
                raise disk_full()
        if self._is_full:
            async with self.write(durable=False) as connection:
                await connection.execute(_ANY_WRITE)

    def stop_waiting(self, within_s: float) -> None:
        """Let writers wait no longer than this for a lock that another process holds, from now on."""
        self._engines.sqlite.shorten(within_s)

    async def _migrate(self) -> None:
        async with database_errors(), self._engines.writer.connect() as connection:
            current = await migrate.revision(connection)
            await connection.rollback()
        if current != migrate.HEAD:
            async with database_errors(), self._engines.writer.begin() as connection:
                await migrate.upgrade(connection)

    async def close(self) -> None:
        self.remembered.close()
        await self._engines.reader.dispose()
        await self._engines.writer.dispose()
        if self._engines.replica is not None:
            await self._engines.replica.close()
        if self._engines.lookups is not None:
            self._engines.lookups.dispose()
        if self._files is not None:
            await asyncio.to_thread(self._files.close)


def make_private(file: Path) -> None:
    """Create the database file so that only this user can read it. SQLite gives its log files the same rights."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))


def _sqlite(file: Path) -> _Engines:
    """Return engines with one writer, so that writers queue in order instead of polling for the lock.

    Readers run without a transaction, which saves a round trip or two: each statement sees a consistent state anyway.
    """
    address = f"sqlite+aiosqlite:///{file}"
    access = _SqliteAccess()
    connect = connector(file, _WAIT_S, access.require_present)
    common = {"max_overflow": 0, "pool_timeout": _WAIT_S, "hide_parameters": True, "async_creator": connect}
    reader = create_async_engine(address, pool_size=_READERS, pool_reset_on_return=None, **common)
    writer = create_async_engine(address, pool_size=1, **common)
    # Unlimited: each task holds at most one, and the event loop must not wait for a free connection.
    unbounded = {"pool_size": _READERS, "max_overflow": -1, "pool_reset_on_return": None, "hide_parameters": True}
    lookups = sa.create_engine(f"sqlite:///{file}", connect_args={"timeout": _LOOKUP_WAIT_S}, **unbounded)
    for engine in (reader.sync_engine, writer.sync_engine, lookups):
        sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(lookups, "do_connect", lambda *_: access.require_present())
    sa.event.listen(writer.sync_engine, "connect", _prepare_writer)
    sa.event.listen(writer.sync_engine, "begin", lambda connection: _begin_immediate(connection, access))
    return _Engines(reader, reader, writer, lookups, None, access)


def _prepare_sqlite(connection: Any, record: object) -> None:
    connection.isolation_level = None  # we send BEGIN: sqlite3 would send it late, and never IMMEDIATE
    cursor = connection.cursor()
    for pragma in _SQLITE_PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _prepare_writer(connection: Any, record: object) -> None:
    """Enlarge the cache, and have SQLite return soon when the database is locked: `_begin_immediate` tries again."""
    connection.cursor().execute(f"PRAGMA busy_timeout = {_POLL_MS}")
    connection.cursor().execute(f"PRAGMA cache_size = -{_CACHE_KIB}")


def _begin_immediate(connection: sa.Connection, access: _SqliteAccess) -> None:
    is_durable = connection.get_execution_options().get("durable", True)
    wanted = {"synchronous": "FULL" if is_durable else "NORMAL", "wal_autocheckpoint": access.log_pages}
    changed = [name for name, value in wanted.items() if connection.info.get(name) != value]
    connection.info.update(dict.fromkeys(changed))  # not known, if this fails before or after a pragma
    statements = [*(f"PRAGMA {name} = {wanted[name]}" for name in changed), "BEGIN IMMEDIATE"]
    driver: Any = connection.connection.dbapi_connection
    began = time.monotonic()
    while True:
        try:
            driver.run_async(lambda thread: thread.execute_all(statements))
            connection.info.update(wanted)
            return
        except sqlite3.OperationalError as error:
            if not is_locked(error) or access.is_over(began):
                raise


def _begin_snapshot(engine: sa.Engine) -> sa.Connection | None:
    """Return a connection in a transaction, or None if the database is locked.

    The transaction is run on the driver's connection: 2 µs, where an event listener of SQLAlchemy adds 20.
    """
    connection = None
    try:
        connection = engine.connect()
        driver: Any = connection.connection.dbapi_connection
        driver.execute("BEGIN")
        driver.execute("PRAGMA schema_version")  # reads the file: after this, no query of the snapshot meets a lock
    except BaseException as error:
        if connection is not None:
            _end_snapshot(connection)
        if is_locked(error):
            return None
        raise
    return connection


def _end_snapshot(connection: sa.Connection) -> None:
    """Return the connection to the pool, or close it if it cannot be rolled back."""
    if not connection.invalidated:
        driver: Any = connection.connection.dbapi_connection
        try:
            driver.rollback()
        except sqlite3.Error as error:  # not raised: it would hide an earlier error, and what was read is valid
            _log.warning("A connection for lookups was closed, because it could not be rolled back: %s", error)
            connection.invalidate(error)
    connection.close()


def _postgres(url: str, replica_url: str | None, limits: postgres.PoolLimits) -> _Engines:
    pools = postgres.open_pools(url, limits)
    replica = None
    if replica_url:
        replica = Replica(postgres.open_readers(replica_url, limits, postgres.REPLICA_CONNECT_S))
    return _Engines(pools.reader, pools.snapshots, pools.writer, None, pools.sessions, _SqliteAccess(), replica)
