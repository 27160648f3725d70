"""Which engine holds the index of a PostgreSQL database, and in which data folder."""

import secrets
from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.process_schema import index_owner
from findspot.store.schema import installation

_LOCK = 0x66696E65  # held by the one process that writes an index in a data folder
_TRY_LOCK = sa.text("SELECT pg_try_advisory_lock(:lock)")
# The server releases the lock of a machine that is cut off within a minute. It ignores this on a Unix socket.
_NOTICE_LOSS = sa.text(
    "SELECT set_config('tcp_keepalives_idle', '30', false), set_config('tcp_keepalives_interval', '10', false), "
    "set_config('tcp_keepalives_count', '3', false)"
)


@dataclass(frozen=True, slots=True)
class IndexOwner:
    """Who holds the index. An engine that is a service has no folder."""

    engine: str
    installation_id: str | None
    folder: str | None
    host: str | None
    claimed_at: datetime


async def get(connection: AsyncConnection) -> IndexOwner | None:
    """Return the recorded owner; None if no server has used the database."""
    row = (await connection.execute(sa.select(index_owner))).first()
    return None if row is None else IndexOwner(*row)


async def put(connection: AsyncConnection, owner: IndexOwner) -> None:
    """Record the owner in place of another one."""
    await connection.execute(sa.delete(index_owner))
    await connection.execute(sa.insert(index_owner), asdict(owner))


async def delete(connection: AsyncConnection) -> None:
    """Forget the owner: the next server becomes it."""
    await connection.execute(sa.delete(index_owner))


async def renew_identity(connection: AsyncConnection) -> None:
    """Give the store a new identity. No index that exists now is used again."""
    await connection.execute(sa.update(installation).values(identity=secrets.token_hex(16)))


async def try_lock(connection: AsyncConnection) -> bool:
    """Lock the right to write a local index for as long as this connection lives; False if another process has it."""
    await connection.execute(_NOTICE_LOSS)
    return bool((await connection.execute(_TRY_LOCK, {"lock": _LOCK})).scalar_one())
