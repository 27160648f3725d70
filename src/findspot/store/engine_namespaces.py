"""The namespaces of a remote engine: which one serves, which is being built, and which are to be deleted.

A row belongs to one installation: a store that was copied or restored has a new identity, and does not use the index of
the other one.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.column_types import Id
from findspot.store.schema import metadata

SERVING, BUILDING, UNWANTED = "serving", "building", "unwanted"

_SERVES = sa.text("state = 'serving'")

engine_namespaces = sa.Table(
    "engine_namespaces",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("installation", sa.Text, nullable=False),
    sa.Column("namespace", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("dimension", sa.Integer, nullable=False),
    sa.Column("fence", Id, nullable=False),  # of the last worker that wrote
    sa.CheckConstraint("state IN ('serving', 'building', 'unwanted')", name="state"),
    sa.Index(
        "ix_engine_namespaces_serving",
        "installation",
        "namespace",
        unique=True,
        sqlite_where=_SERVES,
        postgresql_where=_SERVES,
    ),
)
_columns = engine_namespaces.c


async def serving(connection: AsyncConnection, installation: str, namespace: str) -> sa.Row[str, str, int, int] | None:
    """Return name, fingerprint, dimension and fence of the namespace in service."""
    query = sa.select(_columns.name, _columns.fingerprint, _columns.dimension, _columns.fence)
    return (await connection.execute(query.where(*_is(installation, namespace, SERVING)))).one_or_none()


async def add(connection: AsyncConnection, values: dict[str, Any]) -> None:
    """Add a row. If it is to serve and another does already, add nothing."""
    insert = (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(engine_namespaces)
    await connection.execute(insert.on_conflict_do_nothing(), values)


async def raise_fence(connection: AsyncConnection, name: str, fence: int) -> None:
    """Note that a worker with this fence writes."""
    query = sa.update(engine_namespaces).values(fence=fence)
    await connection.execute(query.where(_columns.name == name, _columns.fence < fence))


async def replace(connection: AsyncConnection, installation: str, namespace: str, name: str) -> bool:
    """Put a namespace that is being built into service; return False if it is not being built any more."""
    is_built = _columns.name == name, _columns.state == BUILDING
    if (await connection.execute(sa.select(_columns.name).where(*is_built).with_for_update())).first() is None:
        return False
    update, served = sa.update(engine_namespaces), _is(installation, namespace, SERVING)
    fence = (await connection.execute(sa.select(_columns.fence).where(*served))).scalar_one_or_none() or 0
    await connection.execute(update.where(*served).values(state=UNWANTED))
    await connection.execute(update.where(*is_built).values(state=SERVING, fence=fence))
    return True


async def discard(connection: AsyncConnection, name: str) -> None:
    """Note that a namespace is to be deleted."""
    await connection.execute(sa.update(engine_namespaces).where(_columns.name == name).values(state=UNWANTED))


async def discard_all(connection: AsyncConnection, installation: str, namespace: str, states: Sequence[str]) -> None:
    """Note that all namespaces in these states are to be deleted."""
    query = sa.update(engine_namespaces).values(state=UNWANTED)
    query = query.where(
        _columns.installation == installation, _columns.namespace == namespace, _columns.state.in_(states)
    )
    await connection.execute(query)


async def unwanted(connection: AsyncConnection, installation: str, namespace: str | None) -> list[str]:
    query = sa.select(_columns.name).where(_columns.installation == installation, _columns.state == UNWANTED)
    return list((await connection.scalars(query.where(_columns.namespace == namespace) if namespace else query)).all())


async def delete(connection: AsyncConnection, name: str) -> None:
    query = sa.delete(engine_namespaces).where(_columns.name == name, _columns.state == UNWANTED)
    await connection.execute(query)


async def namespaces(connection: AsyncConnection, installation: str) -> list[str]:
    """Return the namespaces that have one in service."""
    query = sa.select(_columns.namespace).where(_columns.installation == installation, _columns.state == SERVING)
    return list((await connection.scalars(query)).all())


def _is(installation: str, namespace: str, state: str) -> tuple[sa.ColumnElement[bool], ...]:
    return _columns.installation == installation, _columns.namespace == namespace, _columns.state == state
