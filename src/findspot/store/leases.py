"""Leases: which index worker may write a namespace. PostgreSQL only, and by its clock: those of workers may differ.

A claim locks the row of a lease and gives it a new token. Transactions of a worker lock the row of the lease that they
rely on weakly (`FOR KEY SHARE`): renewals pass, claims skip the row until the transaction has ended.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import NamespaceKey
from findspot.store.process_schema import leases

_FREE = sa.text(
    "SELECT token, holder IS NOT NULL FROM leases "
    "WHERE namespace = :namespace AND (holder IS NULL OR expires_at <= clock_timestamp()) FOR UPDATE SKIP LOCKED"
)
# The commit waits for the disk: a token must not be given out again after a crash of the database.
_DURABLE = "set_config('synchronous_commit', 'on', true)"
_TAKE = sa.text(
    "UPDATE leases SET token = nextval('lease_tokens'), holder = :holder, claimed_at = clock_timestamp(), "
    "expires_at = clock_timestamp() + make_interval(secs => :lease_s) WHERE namespace = :namespace RETURNING token, "
    + _DURABLE
)
_ADD = sa.text(
    "INSERT INTO leases (namespace, token, holder, claimed_at, expires_at) VALUES (:namespace, "
    "nextval('lease_tokens'), :holder, clock_timestamp(), clock_timestamp() + make_interval(secs => :lease_s)) "
    "ON CONFLICT DO NOTHING RETURNING token, " + _DURABLE
)
_RENEW = sa.text(
    "UPDATE leases SET expires_at = clock_timestamp() + make_interval(secs => :lease_s) "
    "WHERE namespace = ANY(:namespaces) AND token = ANY(:tokens) AND holder IS NOT NULL RETURNING namespace"
)
# A worker that stands still in the middle of a transaction must not keep others from its namespaces for ever.
_LOCK = sa.text(
    "SELECT namespace, set_config('idle_in_transaction_session_timeout', '10s', true) FROM leases "
    "WHERE namespace = ANY(:namespaces) AND token = ANY(:tokens) FOR KEY SHARE"
)
_RELEASE = sa.text(
    "UPDATE leases SET holder = NULL, expires_at = clock_timestamp() WHERE namespace = :namespace AND token = :token"
)
_EXPIRE = sa.text("UPDATE leases SET expires_at = clock_timestamp() WHERE holder IS NOT NULL")
_DELETE = sa.text("DELETE FROM leases WHERE namespace = :namespace AND token = :token")
_ABANDONED = sa.text("SELECT namespace FROM leases WHERE holder IS NOT NULL AND expires_at <= clock_timestamp()")


class Claim(NamedTuple):
    """A lease that was granted. `previous` is the token of the claim before; `is_abandoned` if its holder let the lease
    expire: nobody knows how far it came."""

    token: int
    previous: int | None = None
    is_abandoned: bool = False


class HeldLease(NamedTuple):
    """A lease that a process holds."""

    namespace: str
    token: int
    holder: str
    claimed_at: datetime
    expires_at: datetime


async def claim(connection: AsyncConnection, namespace: str, holder: str, lease_s: float) -> Claim | None:
    """Claim the lease of a namespace; None if another worker holds it."""
    values = {"namespace": namespace, "holder": holder, "lease_s": lease_s}
    free = (await connection.execute(_FREE, {"namespace": namespace})).one_or_none()
    if free is not None:
        return Claim((await connection.execute(_TAKE, values)).scalar_one(), free[0], free[1])
    token = (await connection.execute(_ADD, values)).scalar_one_or_none()
    return None if token is None else Claim(token)


async def renew(connection: AsyncConnection, tokens: dict[str, int], lease_s: float) -> set[str]:
    """Extend leases, by namespace; return those that are still held with these tokens."""
    return set((await connection.execute(_RENEW, {**_arrays(tokens), "lease_s": lease_s})).scalars())


async def lock(connection: AsyncConnection, tokens: dict[str, int]) -> set[str]:
    """Have leases stay what they are until the transaction ends; return those that still have these tokens."""
    return set((await connection.execute(_LOCK, _arrays(tokens))).scalars())


async def release(connection: AsyncConnection, namespace: str, token: int) -> None:
    """Give a lease back, for others to claim at once."""
    await connection.execute(_RELEASE, {"namespace": namespace, "token": token})


async def delete(connection: AsyncConnection, namespace: str, token: int) -> None:
    """Remove the lease of a namespace that no longer exists."""
    await connection.execute(_DELETE, {"namespace": namespace, "token": token})


async def abandoned(connection: AsyncConnection) -> list[NamespaceKey]:
    """Return the namespaces whose holder let the lease expire."""
    return [NamespaceKey.of(each) for each in (await connection.execute(_ABANDONED)).scalars()]


async def never_claimed(connection: AsyncConnection, keys: Sequence[NamespaceKey]) -> list[NamespaceKey]:
    """Return those of the namespaces that no worker has claimed so far."""
    known = set((await connection.execute(sa.select(leases.c.namespace))).scalars())
    return [key for key in keys if key.namespace not in known]


async def held(connection: AsyncConnection) -> list[HeldLease]:
    """Return the leases that are held, in order of their claims."""
    query = sa.select(leases.c.namespace, leases.c.token, leases.c.holder, leases.c.claimed_at, leases.c.expires_at)
    found = await connection.execute(query.where(leases.c.holder.is_not(None)).order_by(leases.c.claimed_at))
    return [HeldLease(*row) for row in found]


async def expire(connection: AsyncConnection) -> None:
    """Have all leases expire now, because no process that holds one runs any more."""
    await connection.execute(_EXPIRE)


async def clear(connection: AsyncConnection) -> None:
    """Forget all leases, because another index is used from now on."""
    await connection.execute(sa.delete(leases))


def _arrays(tokens: dict[str, int]) -> dict[str, list[str] | list[int]]:
    return {"namespaces": list(tokens), "tokens": list(tokens.values())}
