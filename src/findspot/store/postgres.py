"""Opens the connections to PostgreSQL: a pool for readers, one for writers, and connections that are never shared."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from findspot.models import Backoff

# Connections of one process. PostgreSQL allows 100 by default, of all processes. Readers and writers have pools of
# their own, so that many long reads never keep a save waiting.
READERS, MORE_READERS = 8, 8  # open all the time, and at a peak
WRITERS, MORE_WRITERS = 4, 4
READ_STATEMENT_S = 30  # no query of a request needs more than a second; a snapshot for a backup has no limit
RECONNECT_S = 3.0  # how long a reader waits for a database that restarts: a search has 5 seconds in all
_RETRY = Backoff(first_s=0.05, longest_s=0.5)
_WAIT_S = 30  # for a free connection of a pool
_CONNECT_S = 10
_READ_TIMEOUT = f"SET statement_timeout = '{READ_STATEMENT_S}s'"
NO_TIMEOUT = sa.text("SET LOCAL statement_timeout = 0")


@dataclass(frozen=True, slots=True)
class Pools:
    """The SQLAlchemy engines of one PostgreSQL database."""

    reader: AsyncEngine
    snapshots: AsyncEngine
    writer: AsyncEngine
    sessions: AsyncEngine  # each connection is new, and closed after its use


def open_pools(url: str) -> Pools:
    """Return engines for a database. None connects before its first use."""
    address = sa.make_url(url).set(drivername="postgresql+psycopg")
    common = {"hide_parameters": True, "connect_args": {"connect_timeout": _CONNECT_S}}
    pooled = {"pool_timeout": _WAIT_S, "pool_pre_ping": True, **common}
    reader = create_async_engine(address, pool_size=READERS, max_overflow=MORE_READERS, **pooled)
    writer = create_async_engine(address, pool_size=WRITERS, max_overflow=MORE_WRITERS, **pooled)
    sa.event.listen(reader.sync_engine, "connect", _stream_in_binary)
    sa.event.listen(writer.sync_engine, "connect", _stream_in_binary)
    sa.event.listen(reader.sync_engine, "connect", _limit_statements)
    snapshots = reader.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    sessions = create_async_engine(address, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT", **common)
    return Pools(reader, snapshots, writer, sessions)


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


def _limit_statements(connection: Any, record: object) -> None:
    """Have PostgreSQL cancel statements of readers that take too long."""
    cursor = connection.cursor()
    cursor.execute(_READ_TIMEOUT)
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
