"""Opens the connections to PostgreSQL: a pool for readers, one for writers, and connections that are never shared."""

import asyncio
import contextlib
import select
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from findspot.models import Backoff

RECONNECT_S = 3.0  # how long a reader waits for a database that restarts: a search has 5 seconds in all
_RETRY = Backoff(first_s=0.05, longest_s=0.5)
_WAIT_S = 30  # for a free connection of a pool
_CONNECT_S = 10
TRUSTED_S = 5.0  # how long a connection that was not used is taken to be alive, if the other side has not closed it
_USED = "used"  # when a connection was last used, among what a pool knows of it
REPLICA_CONNECT_S = 2  # then the primary answers instead
NO_TIMEOUT = sa.text("SET LOCAL statement_timeout = 0")


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Limits of the connections of one process. Each is opened when it is needed.

    PostgreSQL allows 100 by default, of all processes. Readers and writers have pools of their own, so that many long
    reads never keep a save waiting.
    """

    readers: int  # kept open
    more_readers: int  # at a peak
    writers: int
    more_writers: int
    read_statement_s: float  # a statement of a reader that takes longer is cancelled


API = PoolLimits(8, 8, 4, 4, read_statement_s=30)  # no query of a request needs more than a second
WORKER = PoolLimits(2, 4, 4, 4, read_statement_s=300)  # reads all ids of a namespace, and no one waits for it


@dataclass(frozen=True, slots=True)
class Pools:
    """The SQLAlchemy engines of one PostgreSQL database."""

    reader: AsyncEngine
    snapshots: AsyncEngine
    writer: AsyncEngine
    sessions: AsyncEngine  # each connection is new, and closed after its use


def open_pools(url: str, limits: PoolLimits) -> Pools:
    """Return engines for a database. None connects before its first use."""
    reader = open_readers(url, limits, _CONNECT_S)
    writer = _pooled(url, limits.writers, limits.more_writers, _CONNECT_S)
    snapshots = reader.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    sessions = create_async_engine(
        _address(url), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT", **_common(_CONNECT_S)
    )
    return Pools(reader, snapshots, writer, sessions)


def open_readers(url: str, limits: PoolLimits, connect_s: int) -> AsyncEngine:
    """Return an engine for reading, whose statements are limited in time."""
    reader = _pooled(url, limits.readers, limits.more_readers, connect_s)
    sa.event.listen(reader.sync_engine, "connect", lambda each, _: _limit_statements(each, limits.read_statement_s))
    return reader


def _address(url: str) -> sa.URL:
    return sa.make_url(url).set(drivername="postgresql+psycopg")


def _common(connect_s: int) -> dict[str, Any]:
    return {"hide_parameters": True, "connect_args": {"connect_timeout": connect_s}}


def _pooled(url: str, size: int, more: int, connect_s: int) -> AsyncEngine:
    pool = {"pool_size": size, "max_overflow": more, "pool_timeout": _WAIT_S}
    engine = create_async_engine(_address(url), **pool, **_common(connect_s))
    sa.event.listen(engine.sync_engine, "connect", _stream_in_binary)
    sa.event.listen(engine.sync_engine, "checkin", _note_use)
    sa.event.listen(engine.sync_engine, "checkout", partial(_require_alive, engine.dialect))
    return engine


def _note_use(connection: Any, record: Any) -> None:
    record.info[_USED] = time.monotonic()


def _require_alive(dialect: sa.Dialect, connection: Any, record: Any, proxy: object) -> None:
    """Replace a connection of the pool that has ended. A round trip asks only if it was idle for long, or if something
    was received meanwhile, such as its end: asking always takes 0.5 ms of processor time."""
    used = record.info.get(_USED)
    if used is None:  # it is new
        return
    driver = connection.driver_connection
    if not driver.closed and time.monotonic() - used < TRUSTED_S and not _has_received(driver.fileno()):
        return
    try:
        dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error:
        raise sa.exc.InvalidatePoolError from None


def _has_received(descriptor: int) -> bool:
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(0))


@contextlib.asynccontextmanager
async def connected(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Give a connection of the pool. While the database accepts none, try again for up to RECONNECT_S."""
    async with contextlib.AsyncExitStack() as closing:
        began, failures = time.monotonic(), 0
        while True:
            try:
                connection = await closing.enter_async_context(engine.connect())
                break
            except sa.exc.OperationalError:
                failures += 1
                delay_s = _RETRY.delay_s(failures)
                if time.monotonic() - began + delay_s > RECONNECT_S:
                    raise
            await asyncio.sleep(delay_s)
        yield connection


def _limit_statements(connection: Any, seconds: float) -> None:
    """Have PostgreSQL cancel statements of readers that take too long."""
    cursor = connection.cursor()
    cursor.execute(f"SET statement_timeout = {round(seconds * 1000)}")
    cursor.close()
    connection.commit()  # otherwise the end of the first transaction would undo it


def _stream_in_binary(connection: Any, record: object) -> None:
    """Stream large values in binary format. The text format would double their size with hex digits."""
    from psycopg import AsyncServerCursor  # here, because most installations never need it
    from psycopg.pq import Format

    class BinaryCursor(AsyncServerCursor[Any]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.format = Format.BINARY

        def __del__(self, *_: Any) -> None:
            """Do not warn about a cursor that was abandoned: it ends with its connection."""

    connection.driver_connection.server_cursor_factory = BinaryCursor


# ── many rows ──


async def copy(connection: AsyncConnection, table: sa.Table, columns: Sequence[str], rows: Sequence[Any]) -> None:
    """Add rows by COPY: a twentieth of the processor time of INSERT here, and half of it in the database."""
    from psycopg import Error

    query = f"COPY {table.name} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    driver: Any = (await connection.get_raw_connection()).driver_connection
    try:
        async with driver.cursor() as cursor, cursor.copy(query) as copying:
            copying.set_types(_type_names(connection, table, columns))
            for row in rows:
                await copying.write_row(row)
    except Error as error:
        raise sa.exc.DBAPIError.instance(
            query, None, error, Error, hide_parameters=True, dialect=connection.dialect
        ) from error


async def insert_new(connection: AsyncConnection, table: sa.Table, columns: Sequence[str], rows: Sequence[Any]) -> None:
    """Add rows that do not exist, in one statement with an array per column."""
    arrays = ", ".join(f"%b::{name}[]" for name in _type_names(connection, table, columns))
    query = f"INSERT INTO {table.name} ({', '.join(columns)}) SELECT * FROM unnest({arrays}) ON CONFLICT DO NOTHING"
    await connection.exec_driver_sql(query, tuple(map(list, zip(*rows, strict=True))))


def _type_names(connection: AsyncConnection, table: sa.Table, columns: Sequence[str]) -> list[str]:
    """Return the types of columns as PostgreSQL writes them."""
    return [table.c[name].type.compile(connection.dialect).lower() for name in columns]
