"""Opens the connections to an SQLite database: those that read, the one that writes, and those for look-ups."""

import logging
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from findspot.store.failures import is_locked
from findspot.store.files import DatabaseFiles
from findspot.store.sqlite_connection import connector

_log = logging.getLogger(__name__)

_READERS = 8
_WAIT_S = 30
# How often a writer that waits for another process tries again. SQLite alone would soon sleep for 100 ms between two
# tries, and miss the moment between two transactions of a process that writes much.
_POLL_MS = 2
_LOOKUP_WAIT_S = 0.05  # for a lock of SQLite; then another thread waits, so that the event loop can go on
_PRAGMAS = (
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


class SqliteAccess:
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


@dataclass(frozen=True, slots=True)
class SqlitePools:
    """The SQLAlchemy engines of a database file. Those for look-ups run in the calling thread."""

    reader: AsyncEngine
    writer: AsyncEngine
    lookups: sa.Engine
    access: SqliteAccess


def open_pools(file: Path) -> SqlitePools:
    """Return pools with one writer, so that writers queue in order instead of polling for the lock.

    Readers run without a transaction, which saves a round trip or two: each statement sees a consistent state anyway.
    """
    address = f"sqlite+aiosqlite:///{file}"
    access = SqliteAccess()
    connect = connector(file, _WAIT_S, access.require_present)
    common = {"max_overflow": 0, "pool_timeout": _WAIT_S, "hide_parameters": True, "async_creator": connect}
    reader = create_async_engine(address, pool_size=_READERS, pool_reset_on_return=None, **common)
    writer = create_async_engine(address, pool_size=1, **common)
    # Unlimited: each task holds at most one, and the event loop must not wait for a free connection.
    unbounded = {"pool_size": _READERS, "max_overflow": -1, "pool_reset_on_return": None, "hide_parameters": True}
    lookups = sa.create_engine(f"sqlite:///{file}", connect_args={"timeout": _LOOKUP_WAIT_S}, **unbounded)
    for engine in (reader.sync_engine, writer.sync_engine, lookups):
        sa.event.listen(engine, "connect", _prepare)
    sa.event.listen(lookups, "do_connect", lambda *_: access.require_present())
    sa.event.listen(writer.sync_engine, "connect", _prepare_writer)
    sa.event.listen(writer.sync_engine, "begin", lambda connection: _begin_immediate(connection, access))
    return SqlitePools(reader, writer, lookups, access)


def _prepare(connection: Any, record: object) -> None:
    connection.isolation_level = None  # we send BEGIN: sqlite3 would send it late, and never IMMEDIATE
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _prepare_writer(connection: Any, record: object) -> None:
    """Enlarge the cache, and have SQLite return soon when the database is locked: `_begin_immediate` tries again."""
    connection.cursor().execute(f"PRAGMA busy_timeout = {_POLL_MS}")
    connection.cursor().execute(f"PRAGMA cache_size = -{_CACHE_KIB}")


def _begin_immediate(connection: sa.Connection, access: SqliteAccess) -> None:
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


def begin_snapshot(engine: sa.Engine) -> sa.Connection | None:
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
            end_snapshot(connection)
        if is_locked(error):
            return None
        raise
    return connection


def end_snapshot(connection: sa.Connection) -> None:
    """Return the connection to the pool, or close it if it cannot be rolled back."""
    if not connection.invalidated:
        driver: Any = connection.connection.dbapi_connection
        try:
            driver.rollback()
        except sqlite3.Error as error:  # not raised: it would hide an earlier error, and what was read is valid
            _log.warning("A connection for lookups was closed, because it could not be rolled back: %s", error)
            connection.invalidate(error)
    connection.close()
