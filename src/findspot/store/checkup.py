"""Is the database whole? Looks without changing anything."""

from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.errors import FindspotError
from findspot.store import migrate
from findspot.store.database import Store

_SQLITE_SIZE = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"


@dataclass(frozen=True, slots=True)
class Report:
    """What a look at the database found. `damage` is None when SQLite finds its file in order."""

    name: str
    schema: str | None
    size: int
    damage: str | None

    @property
    def current(self) -> bool:
        return self.schema == migrate.HEAD


async def examine(url: str | None, file: Path) -> Report:
    """Open the database as it is, without migrating it, and report."""
    store = Store.unprepared(url, file)
    try:
        async with store.read() as connection:
            schema = await migrate.revision(connection)
            look = _look_at_sqlite if store.kind == "sqlite" else _look_at_postgres
            return await look(connection, schema)
    except FindspotError as error:
        cause = error.__cause__
        if store.kind == "sqlite" and isinstance(cause, DatabaseError) and not isinstance(cause, OperationalError):
            return Report("SQLite", None, 0, str(cause.orig))  # there, but not a database any more
        raise
    finally:
        await store.close()


async def _look_at_sqlite(connection: AsyncConnection, schema: str | None) -> Report:
    version = (await connection.execute(sa.text("SELECT sqlite_version()"))).scalar_one()
    found = (await connection.execute(sa.text("PRAGMA quick_check(1)"))).scalar_one()
    size = (await connection.execute(sa.text(_SQLITE_SIZE))).scalar_one()
    return Report(f"SQLite {version}", schema, size, None if found == "ok" else found)


async def _look_at_postgres(connection: AsyncConnection, schema: str | None) -> Report:
    version = (await connection.execute(sa.text("SHOW server_version"))).scalar_one()
    size = (await connection.execute(sa.text("SELECT pg_database_size(current_database())"))).scalar_one()
    return Report(f"PostgreSQL {version}", schema, size, None)
