"""Rows of endpoints and their bindings. Of a key only the hash is stored."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import Binding, Endpoint, Tool
from findspot.store import tools as tool_rows
from findspot.store.reader import Reader
from findspot.store.schema import bindings, endpoints, index_states, tools

_columns = (
    endpoints.c.id,
    endpoints.c.project_id,
    endpoints.c.name,
    endpoints.c.lean,
    endpoints.c.reading,
    endpoints.c.created_at,
)


def _endpoint(row: Sequence[Any] | None) -> Endpoint | None:
    return Endpoint(*row) if row else None


async def create(
    connection: AsyncConnection, project_id: int, name: str, key_hash: str, *, lean: bool, reading: bool
) -> Endpoint:
    values = {"project_id": project_id, "name": name, "key_hash": key_hash, "lean": lean, "reading": reading}
    return Endpoint(*(await connection.execute(sa.insert(endpoints).returning(*_columns), values)).one())


async def get(connection: Reader, endpoint_id: int) -> Endpoint | None:
    query = sa.select(*_columns).where(endpoints.c.id == endpoint_id)
    return _endpoint((await connection.execute(query)).one_or_none())


async def every(connection: AsyncConnection, project_id: int) -> list[Endpoint]:
    query = sa.select(*_columns).where(endpoints.c.project_id == project_id).order_by(endpoints.c.id)
    return [Endpoint(*row) for row in await connection.execute(query)]


async def change(connection: AsyncConnection, endpoint_id: int, values: dict[str, Any]) -> bool:
    query = sa.update(endpoints).where(endpoints.c.id == endpoint_id).values(values)
    return (await connection.execute(query)).rowcount > 0


async def delete(connection: AsyncConnection, endpoint_id: int) -> bool:
    return (await connection.execute(sa.delete(endpoints).where(endpoints.c.id == endpoint_id))).rowcount > 0


# Built once: every call of an agent runs it.
_OPENED_BY = (
    sa.select(*_columns, *tool_rows.columns_to_call)
    .select_from(endpoints)
    .outerjoin(bindings, sa.and_(bindings.c.endpoint_id == endpoints.c.id, bindings.c.enabled))
    .outerjoin(tools, tools.c.id == bindings.c.tool_id)
    .outerjoin(index_states, index_states.c.table_id == tools.c.table_id)
    .where(endpoints.c.key_hash == sa.bindparam("key_hash"))
    .order_by(tools.c.id)
)


async def opened_by(connection: Reader, key_hash: str) -> tuple[Endpoint, list[Tool]] | None:
    """Return the endpoint of a key and its enabled tools by id, each with the state of its index.

    One statement, because every call runs it.
    """
    found = (await connection.execute(_OPENED_BY, {"key_hash": key_hash})).all()
    if not found:
        return None
    width = len(_columns)
    enabled = (tool_rows.read_row_to_call(row[width:]) for row in found)
    return Endpoint(*found[0][:width]), [tool for tool in enabled if tool is not None]


async def listed(connection: AsyncConnection, ids: Collection[int]) -> dict[int, tuple[str, Endpoint, list[Tool]]]:
    """Return each of these endpoints that exists, with the hash of its key and its enabled tools."""
    query = (
        sa.select(endpoints.c.key_hash, *_columns, *tool_rows.columns)
        .select_from(endpoints)
        .outerjoin(bindings, sa.and_(bindings.c.endpoint_id == endpoints.c.id, bindings.c.enabled))
        .outerjoin(tools, tools.c.id == bindings.c.tool_id)
        .where(endpoints.c.id.in_(ids))
        .order_by(endpoints.c.id, tools.c.id)
    )
    found: dict[int, tuple[str, Endpoint, list[Tool]]] = {}
    width = len(_columns)
    for key_hash, *row in await connection.execute(query):
        endpoint, tool = Endpoint(*row[:width]), row[width:]
        *_, enabled = found.setdefault(endpoint.id, (key_hash, endpoint, []))
        if tool[0] is not None:
            enabled.append(tool_rows.read_row(tool))
    return found


# ── bindings ──


async def bound(connection: AsyncConnection, endpoint_id: int) -> list[Binding]:
    """Return the tools of an endpoint by id."""
    query = (
        sa.select(*tool_rows.columns, bindings.c.enabled)
        .join_from(bindings, tools, tools.c.id == bindings.c.tool_id)
        .where(bindings.c.endpoint_id == endpoint_id)
        .order_by(tools.c.id)
    )
    return [Binding(tool_rows.read_row(row[:-1]), row[-1]) for row in await connection.execute(query)]


async def bind(connection: AsyncConnection, endpoint_id: int, tool_id: int, tool_name: str) -> None:
    values = {"endpoint_id": endpoint_id, "tool_id": tool_id, "tool_name": tool_name, "enabled": True}
    await connection.execute(sa.insert(bindings).values(values))


async def is_bound(connection: AsyncConnection, endpoint_id: int, tool_id: int) -> bool:
    return (
        await connection.execute(sa.select(bindings.c.tool_id).where(_binding(endpoint_id, tool_id)))
    ).first() is not None


async def unbind(connection: AsyncConnection, endpoint_id: int, tool_id: int) -> bool:
    return (await connection.execute(sa.delete(bindings).where(_binding(endpoint_id, tool_id)))).rowcount > 0


async def enable(connection: AsyncConnection, endpoint_id: int, tool_id: int, enabled: bool) -> bool:
    query = sa.update(bindings).where(_binding(endpoint_id, tool_id)).values(enabled=enabled)
    return (await connection.execute(query)).rowcount > 0


def _binding(endpoint_id: int, tool_id: int) -> sa.ColumnElement[bool]:
    return sa.and_(bindings.c.endpoint_id == endpoint_id, bindings.c.tool_id == tool_id)
