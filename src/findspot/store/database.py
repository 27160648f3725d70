"""Opens the database, migrates it, and offers ways in: `read`, `read_replica`, `lookup`, `snapshot` and `write`."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from findspot.store import migrate, postgres, sqlite_pools
from findspot.store.failures import database_errors, raised_as_findspot_errors
from findspot.store.files import DatabaseFiles, disk_full, make_room_to_open
from findspot.store.reader import Reader, SameThreadReader
from findspot.store.remembered import Remembered
from findspot.store.replica import SAVED, Replica
from findspot.store.sqlite_pools import SqliteAccess

LOOKUP_ROWS = 500  # more rows than this are for `read`: they would keep the event loop busy

_ANY_WRITE = sa.text("UPDATE installation SET identity = identity")
_DO_NOT_WAIT_FOR_DISK = sa.text("SET LOCAL synchronous_commit = off")


@dataclass(frozen=True, slots=True)
class _Engines:
    """The SQLAlchemy engines of one database."""

    reader: AsyncEngine
    snapshots: AsyncEngine
    writer: AsyncEngine
    lookups: sa.Engine | None  # SQLite only
    sessions: AsyncEngine | None  # PostgreSQL only
    sqlite: SqliteAccess
    replica: Replica | None = None


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
            direct = sqlite_pools.begin_snapshot(self._engines.lookups)
            if direct is None:
                async with self.snapshot() as connection:
                    yield connection
                return
            try:
                yield SameThreadReader(direct)
            finally:
                sqlite_pools.end_snapshot(direct)

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
    pools = sqlite_pools.open_pools(file)
    return _Engines(pools.reader, pools.reader, pools.writer, pools.lookups, None, pools.access)


def _postgres(url: str, replica_url: str | None, limits: postgres.PoolLimits) -> _Engines:
    pools = postgres.open_pools(url, limits)
    replica = None
    if replica_url:
        replica = Replica(postgres.open_readers(replica_url, limits, postgres.REPLICA_CONNECT_S))
    return _Engines(pools.reader, pools.snapshots, pools.writer, None, pools.sessions, SqliteAccess(), replica)
