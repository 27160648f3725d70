"""Opens the database, brings it up to date, and hands out transactions: many that read, one at a time that writes."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from findspot.errors import FindspotError
from findspot.store import migrate

P = ParamSpec("P")
T = TypeVar("T")

_READERS = 8
_WAIT_S = 30
_DO_NOT_WAIT = sa.text("SET LOCAL synchronous_commit = off")
_BEGIN_SNAPSHOT = {
    "sqlite": "BEGIN",
    "postgresql": "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
}
_SQLITE_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # an acknowledged write survives a power cut, not only a killed process
    "PRAGMA foreign_keys = ON",
    f"PRAGMA busy_timeout = {_WAIT_S * 1000}",
    "PRAGMA journal_size_limit = 67108864",  # after a large write the log gives its room back
)


class Reads(Protocol):
    """Something that a query can be asked of."""

    async def execute(
        self, statement: sa.Executable, parameters: Mapping[str, Any] | None = None, /
    ) -> sa.CursorResult[*tuple[Any, ...]]: ...

    async def run_sync(self, fn: Callable[Concatenate[sa.Connection, P], T], *arg: P.args, **kw: P.kwargs) -> T:
        """What a function finds that asks a plain connection."""


class _AtOnce:
    """A connection that answers without leaving the event loop."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    async def execute(
        self, statement: sa.Executable, parameters: Mapping[str, Any] | None = None, /
    ) -> sa.CursorResult[*tuple[Any, ...]]:
        return self._connection.execute(statement, parameters)

    async def run_sync(self, fn: Callable[Concatenate[sa.Connection, P], T], *arg: P.args, **kw: P.kwargs) -> T:
        return fn(self._connection, *arg, **kw)


class Store:
    """The open database. `read` and `write` give a transaction; `write` commits when its block ends well."""

    def __init__(self, reader: AsyncEngine, writer: AsyncEngine, direct: sa.Engine | None = None) -> None:
        self._reader = reader
        self._writer = writer
        self._direct = direct  # SQLite without a thread of its own for every connection
        self.written = asyncio.Event()  # set by every durable write; whoever waits for it clears it

    @classmethod
    async def open(cls, url: str | None, file: Path) -> "Store":
        """Open PostgreSQL at `url`, or SQLite in `file`, and apply the migrations that are missing."""
        if not url:
            make_private(file)
        store = cls.unprepared(url, file)
        try:
            await store._migrate()
        except BaseException:
            await store.close()
            raise
        return store

    @classmethod
    def unprepared(cls, url: str | None, file: Path) -> "Store":
        """The same, as it is: nothing migrated, nothing touched before it is used."""
        return cls(*(_postgres(url) if url else _sqlite(file)))

    @property
    def kind(self) -> str:
        return self._writer.dialect.name

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        async with _said_plainly(), self._reader.connect() as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def glance(self) -> AsyncIterator[Reads]:
        """For a row or two by their key. SQLite finds them in less time than it takes to ask a thread for them."""
        if self._direct is None:
            async with self.read() as connection:
                yield connection
        else:
            async with _said_plainly():
                with self._direct.connect() as at_once:
                    yield _AtOnce(at_once)

    @contextlib.asynccontextmanager
    async def moment(self) -> AsyncIterator[Reads]:
        """The same for several looks, which all see one moment, whoever writes in between."""
        async with self.glance() as connection:
            await connection.run_sync(lambda plain: plain.exec_driver_sql(_BEGIN_SNAPSHOT[plain.dialect.name]))
            try:
                yield connection
            finally:
                await connection.run_sync(sa.Connection.rollback)

    async def ask(self, question: Callable[[sa.Connection], T]) -> T:
        """The answer to a question that a search cannot go on without. On SQLite it costs one trip to a thread and
        back, where `read` makes several for every statement."""
        if self._direct is None:
            async with self.read() as connection:
                return await connection.run_sync(question)
        async with _said_plainly():
            return await asyncio.to_thread(_asked, self._direct, question)

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """The whole database at one moment, for as long as it takes to read it; no writer waits for that."""
        async with _said_plainly(), self._reader.connect() as connection:
            if self.kind == "sqlite":  # its readers are not reset: one that still looks at that moment must not return
                await connection.run_sync(sa.Connection.detach)
            await connection.exec_driver_sql(_BEGIN_SNAPSHOT[self.kind])
            await migrate.revision(connection)  # the moment is that of the first look
            yield connection

    @contextlib.asynccontextmanager
    async def write(self, *, durable: bool = True) -> AsyncIterator[AsyncConnection]:
        """A transaction that writes. One that need not be durable is so as soon as a later one is that is: the wait for
        the disk is saved for steps that mean nothing before that."""
        async with _said_plainly(), self._writer.execution_options(durable=durable).begin() as connection:
            if not durable and self.kind == "postgresql":
                await connection.execute(_DO_NOT_WAIT)
            yield connection
        if durable:
            self.written.set()

    async def _migrate(self) -> None:
        async with _said_plainly(), self._writer.connect() as connection:
            current = await migrate.revision(connection)
            await connection.rollback()
        if current != migrate.HEAD:
            async with _said_plainly(), self._writer.begin() as connection:
                await migrate.upgrade(connection)

    async def close(self) -> None:
        await self._reader.dispose()
        await self._writer.dispose()
        if self._direct is not None:
            self._direct.dispose()


@contextlib.asynccontextmanager
async def _said_plainly() -> AsyncIterator[None]:
    """Turn a database that is gone, full, locked or damaged into one error that says so, without its SQL."""
    try:
        yield
    except (sa.exc.IntegrityError, sa.exc.ProgrammingError, sa.exc.DataError):
        raise  # the statement does not fit; the database is well
    except (DBAPIError, PoolTimeout, OSError) as error:
        raise FindspotError("STORE_UNAVAILABLE", "The database cannot be used right now.") from error


def make_private(file: Path) -> None:
    """Only this user may read the database, wherever it lies; SQLite gives the files beside it the same rights."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))


def _sqlite(file: Path) -> tuple[AsyncEngine, AsyncEngine, sa.Engine]:
    """One connection writes, so that writers queue in order instead of polling for the lock. Those that read need no
    transaction: each statement sees the database as it is at one moment, and a round trip or two is saved."""
    address = f"sqlite+aiosqlite:///{file}"
    common = {"max_overflow": 0, "pool_timeout": _WAIT_S, "hide_parameters": True}
    reader = create_async_engine(address, pool_size=_READERS, pool_reset_on_return=None, **common)
    writer = create_async_engine(address, pool_size=1, **common)
    # No limit: there are never more than threads, and the event loop must not wait for one of those.
    unbounded = {"pool_size": _READERS, "max_overflow": -1, "pool_reset_on_return": None, "hide_parameters": True}
    direct = sa.create_engine(f"sqlite:///{file}", **unbounded)
    for engine in (reader.sync_engine, writer.sync_engine, direct):
        sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(writer.sync_engine, "begin", _begin_immediately)
    return reader, writer, direct


def _asked(engine: sa.Engine, question: Callable[[sa.Connection], T]) -> T:
    with engine.connect() as connection:
        return question(connection)


def _prepare_sqlite(connection: Any, record: object) -> None:
    connection.isolation_level = None  # BEGIN is ours to send: sqlite3 would send it late, and never IMMEDIATE
    cursor = connection.cursor()
    for pragma in _SQLITE_PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin_immediately(connection: sa.Connection) -> None:
    wanted = "FULL" if connection.get_execution_options().get("durable", True) else "NORMAL"
    if connection.info.get("synchronous", "FULL") != wanted:
        connection.exec_driver_sql(f"PRAGMA synchronous = {wanted}")
        connection.info["synchronous"] = wanted
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _postgres(url: str) -> tuple[AsyncEngine, AsyncEngine]:
    engine = create_async_engine(
        sa.make_url(url).set(drivername="postgresql+psycopg"),
        pool_size=_READERS,
        max_overflow=_READERS,
        pool_timeout=_WAIT_S,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={"connect_timeout": 10},
    )
    sa.event.listen(engine.sync_engine, "connect", _stream_in_binary)
    return engine, engine


def _stream_in_binary(connection: Any, record: object) -> None:
    """Large values are streamed. In binary they arrive as they are, not as twice as many hex digits."""
    from psycopg import AsyncServerCursor  # here, since most installations never need it
    from psycopg.pq import Format

    class BinaryCursor(AsyncServerCursor[Any]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.format = Format.BINARY

        def __del__(self, *_: Any) -> None:
            """One that is given up in the middle ends with its connection; psycopg would warn of it."""

    connection.driver_connection.server_cursor_factory = BinaryCursor
