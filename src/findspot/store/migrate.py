"""Migrates a database to the newest schema. Alembic is imported only if a migration is missing."""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.errors import FindspotError

HEAD = "0024"
_LOCK = 0x66696E64  # any constant: processes that start together migrate one after the other
FOLDER = Path(__file__).parent / "migrations"


async def revision(connection: AsyncConnection) -> str | None:
    """Return the schema revision of a database; None for an empty one."""
    if not await connection.run_sync(lambda sync: sa.inspect(sync).has_table("alembic_version")):
        return None
    found = await connection.execute(sa.text("SELECT version_num FROM alembic_version"))
    return found.scalar_one_or_none()


async def upgrade(connection: AsyncConnection) -> None:
    """Apply missing migrations in the transaction of this connection."""
    await check(connection)
    await connection.run_sync(_run, "upgrade", HEAD)


async def rebuild(connection: AsyncConnection, target: str) -> None:
    """Give a database without rows the schema of the revision `target`."""
    current = await revision(connection)
    if current == target:
        return
    if current is not None:
        await connection.run_sync(_run, "downgrade", "base")
    await connection.run_sync(_run, "upgrade", target)


async def check(connection: AsyncConnection) -> None:
    """Wait until no other process migrates, and raise an error if the schema is newer than this Findspot."""
    if connection.dialect.name == "postgresql":
        await connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    current = await revision(connection)
    if current is not None and current > HEAD:
        raise FindspotError(
            "STORE_UNAVAILABLE",
            f"The database was migrated by a newer Findspot (schema {current}; this one knows {HEAD}). "
            "Start that version, or a later one.",
        )


def known(wanted: str) -> bool:
    """Return whether a revision exists."""
    from alembic.script import ScriptDirectory

    return wanted in {each.revision for each in ScriptDirectory(str(FOLDER)).walk_revisions()}


def _run(connection: sa.Connection, command_name: str, target: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["connection"] = connection
    getattr(command, command_name)(config, target)
