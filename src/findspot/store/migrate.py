"""Brings a database to the newest schema. Alembic is loaded only when there is something to do."""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.errors import FindspotError

HEAD = "0002"
_LOCK = 0x66696E64  # any constant: two processes that start at once migrate one after the other
_FOLDER = Path(__file__).parent / "migrations"


async def revision(connection: AsyncConnection) -> str | None:
    """The revision the database is at; None for an empty one."""
    if not await connection.run_sync(lambda sync: sa.inspect(sync).has_table("alembic_version")):
        return None
    found = await connection.execute(sa.text("SELECT version_num FROM alembic_version"))
    return found.scalar_one_or_none()


async def upgrade(connection: AsyncConnection) -> None:
    """Apply what is missing, in the transaction of this connection."""
    if connection.dialect.name == "postgresql":
        await connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    current = await revision(connection)
    if current is not None and current > HEAD:
        raise FindspotError(
            "STORE_UNAVAILABLE",
            f"The database was written by a newer Findspot (schema {current}; this one knows {HEAD}).",
        )
    await connection.run_sync(_run)


def _run(connection: sa.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)
