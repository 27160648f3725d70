"""Rows of tools, and the chunks in the scope of a search tool."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import Tool, ToolType
from findspot.store import index_states
from findspot.store.reader import Reader
from findspot.store.schema import chunks, tools

columns: tuple[sa.ColumnElement[Any], ...] = (
    tools.c.id,
    tools.c.project_id,
    tools.c.table_id,
    tools.c.type,
    tools.c.name,
    tools.c.description,
    tools.c.json_pointer,
    tools.c.metadata,
    tools.c.search_config,
    tools.c.created_at,
    tools.c.updated_at,
)


columns_to_call = (*columns, *index_states.TABLE_STATE_COLUMNS)  # of a tool that is called, and of its table's index


def read_row(row: Sequence[Any]) -> Tool:
    id, project_id, table_id, type, *rest = row
    return Tool(id, project_id, table_id, ToolType(type), *rest)


def read_row_to_call(row: Sequence[Any]) -> Tool | None:
    """Return the tool in a row with `columns_to_call`, and the state of its index; None if the row has none."""
    if row[0] is None:
        return None
    tool = read_row(row[: len(columns)])
    return tool if tool.table_id is None else replace(tool, index=index_states.table_state(*row[len(columns) :]))


async def create(connection: AsyncConnection, values: dict[str, Any]) -> Tool:
    return read_row((await connection.execute(sa.insert(tools).returning(*columns), values)).one())


async def get(connection: Reader, tool_id: int) -> Tool | None:
    row = (await connection.execute(sa.select(*columns).where(tools.c.id == tool_id))).one_or_none()
    return read_row(row) if row else None


async def every(connection: AsyncConnection, project_id: int) -> list[Tool]:
    query = sa.select(*columns).where(tools.c.project_id == project_id).order_by(tools.c.id)
    return [read_row(row) for row in await connection.execute(query)]


async def change(connection: AsyncConnection, tool_id: int, values: dict[str, Any]) -> Tool | None:
    """Change columns of a tool. A new name is passed on to its bindings, where no endpoint has a tool of that name."""
    query = sa.update(tools).where(tools.c.id == tool_id).values(values).returning(*columns)
    row = (await connection.execute(query)).one_or_none()
    return read_row(row) if row else None


async def delete(connection: AsyncConnection, tool_id: int) -> Tool | None:
    row = (await connection.execute(sa.delete(tools).where(tools.c.id == tool_id).returning(*columns))).one_or_none()
    return read_row(row) if row else None


async def search_scopes(connection: AsyncConnection, table_id: int) -> list[tuple[str, dict[str, Any]]]:
    """Return the scopes and configurations of a table's search tools."""
    query = (
        sa.select(tools.c.json_pointer, tools.c.search_config)
        .where(tools.c.table_id == table_id, tools.c.type == "search")
        .order_by(tools.c.id)
    )
    return [(row[0], row[1] or {}) for row in await connection.execute(query)]


# ── chunks in the scope of a search tool ──


def _in_scope(table_id: int, pointer: str, chunking: tuple[int, int], threshold: int) -> sa.ColumnElement[bool]:
    """Match the chunks of a scope with this chunk size and overlap, of nodes with at least `threshold` characters."""
    below = sa.func.substr(chunks.c.json_pointer, 1, len(pointer) + 1) == pointer + "/"
    return sa.and_(
        chunks.c.table_id == table_id,
        sa.or_(chunks.c.json_pointer == pointer, below) if pointer else sa.true(),
        chunks.c.chunk_size == chunking[0],
        chunks.c.chunk_overlap == chunking[1],
        chunks.c.node_length >= threshold,
    )


async def count_in_scope(
    connection: AsyncConnection, table_id: int, pointer: str, chunking: tuple[int, int], threshold: int, after: int = 0
) -> tuple[int, int, int, int]:
    """Count the nodes and chunks in a scope, the chunks in the engine, and the chunks with an id above `after`."""
    query = sa.select(
        sa.func.count(chunks.c.json_pointer.distinct()),
        sa.func.count(),
        sa.func.coalesce(sa.func.sum(sa.case((chunks.c.indexed, 1), else_=0)), 0),
        sa.func.coalesce(sa.func.sum(sa.case((chunks.c.id > after, 1), else_=0)), 0),
    ).where(_in_scope(table_id, pointer, chunking, threshold))
    nodes, found, indexed, new = (await connection.execute(query)).one()
    return nodes, found, int(indexed), int(new)


async def nodes_in_scope(
    connection: AsyncConnection, table_id: int, pointer: str, chunking: tuple[int, int], threshold: int, limit: int
) -> list[tuple[str, int, int]]:
    """Return the nodes in a scope in the order they were chunked: pointer, characters and number of chunks."""
    query = (
        sa.select(chunks.c.json_pointer, sa.func.max(chunks.c.node_length), sa.func.count())
        .where(_in_scope(table_id, pointer, chunking, threshold))
        .group_by(chunks.c.json_pointer)
        .order_by(sa.func.min(chunks.c.id))
        .limit(limit)
    )
    return [(row[0], row[1], row[2]) for row in await connection.execute(query)]


async def delete_in_scope(
    connection: AsyncConnection, table_id: int, pointer: str, chunking: tuple[int, int], threshold: int, limit: int
) -> bool:
    """Delete up to `limit` chunks in a scope. Return whether there may be more."""
    some = sa.select(chunks.c.id).where(_in_scope(table_id, pointer, chunking, threshold)).limit(limit)
    return (await connection.execute(sa.delete(chunks).where(chunks.c.id.in_(some)))).rowcount >= limit


async def mark_unindexed(
    connection: AsyncConnection,
    table_id: int,
    pointer: str,
    chunking: tuple[int, int],
    threshold: int,
    after: int,
    limit: int,
) -> int | None:
    """Mark up to `limit` chunks in a scope for indexing again. Return the last id, or None if there are no more."""
    in_scope = _in_scope(table_id, pointer, chunking, threshold)
    some = sa.select(chunks.c.id).where(in_scope, chunks.c.id > after).order_by(chunks.c.id).limit(limit)
    ids: list[int] = list((await connection.execute(some)).scalars())
    if not ids:
        return None
    between = chunks.c.id.between(ids[0], ids[-1])
    await connection.execute(sa.update(chunks).where(in_scope, between).values(indexed=False))
    return ids[-1]


async def last_chunk(connection: AsyncConnection) -> int:
    """Return the highest chunk id so far."""
    return int((await connection.execute(sa.select(sa.func.coalesce(sa.func.max(chunks.c.id), 0)))).scalar_one())
