"""Checks the database without changing it."""

from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.errors import FindspotError
from findspot.store import index_owner, migrate
from findspot.store.database import Store
from findspot.store.failures import is_locked
from findspot.store.index_owner import IndexOwner

_LOCK_WAIT_MS = 3000
_SQLITE_SIZE = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check. `damage` is None if SQLite finds its file intact; `locked` if no one else can write."""

    name: str
    schema: str | None
    size: int
    damage: str | None
    locked: bool = False
    owner: IndexOwner | None = None  # of the index; PostgreSQL only

    @property
    def newer(self) -> bool:
        """Whether a newer Findspot has migrated the database: this one must not use it."""
        return self.schema is not None and self.schema > migrate.HEAD

    @property
    def current(self) -> bool:
        return self.schema == migrate.HEAD


async def examine(url: str | None, file: Path) -> Report:
    """Open the database without migrating it, and check it."""
    store = Store.unprepared(url, file)
    try:
        async with store.read() as connection:
            schema = await migrate.revision(connection)
            check = _check_sqlite if store.kind == "sqlite" else _check_postgres
            return await check(connection, schema)
    except FindspotError as error:
        cause = error.__cause__
        if store.kind == "sqlite" and isinstance(cause, DatabaseError) and not isinstance(cause, OperationalError):
            return Report("SQLite", None, 0, str(cause.orig))  # the file exists, but is no database
        raise
    finally:
        await store.close()


async def _check_sqlite(connection: AsyncConnection, schema: str | None) -> Report:
    version = (await connection.execute(sa.text("SELECT sqlite_version()"))).scalar_one()
    found = (await connection.execute(sa.text("PRAGMA quick_check(1)"))).scalar_one()
    size = (await connection.execute(sa.text(_SQLITE_SIZE))).scalar_one()
    damage = None if found == "ok" else found
    return Report(f"SQLite {version}", schema, size, damage, await _is_locked(connection))


async def _is_locked(connection: AsyncConnection) -> bool:
    """Return whether another process keeps the lock for writing. A server holds it for milliseconds at a time."""
    await connection.exec_driver_sql(f"PRAGMA busy_timeout = {_LOCK_WAIT_MS}")
    try:
        await connection.exec_driver_sql("BEGIN IMMEDIATE")
    except OperationalError as error:
        if is_locked(error):
            return True
        raise
    await connection.exec_driver_sql("ROLLBACK")
    return False


async def _check_postgres(connection: AsyncConnection, schema: str | None) -> Report:
    version = (await connection.execute(sa.text("SHOW server_version"))).scalar_one()
    size = (await connection.execute(sa.text("SELECT pg_database_size(current_database())"))).scalar_one()
    owner = await index_owner.get(connection) if schema == migrate.HEAD else None
    return Report(f"PostgreSQL {version}", schema, size, None, owner=owner)
