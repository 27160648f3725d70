"""Counts of what is deleted together with a project, a table or a tool."""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.schema import bindings, documents, endpoints, index_states, tables, tools


@dataclass(frozen=True, slots=True)
class Dependents:
    """Counts of the objects deleted with another one. `endpoints_without_tools` stay, but lose their last tool."""

    tables: int = 0
    documents: int = 0
    tools: int = 0
    endpoints: int = 0
    endpoints_without_tools: int = 0
    chunks: int = 0


async def of_project(connection: AsyncConnection, project_id: int) -> Dependents:
    counts = [
        sa.select(sa.func.count()).select_from(each).where(each.c.project_id == project_id).scalar_subquery()
        for each in (tables, documents, tools, endpoints)
    ]
    row = (await connection.execute(sa.select(*counts, _chunks(index_states.c.project_id == project_id)))).one()
    held = dict(zip(("tables", "documents", "tools", "endpoints", "chunks"), map(int, row), strict=True))
    return Dependents(**held)


async def of_table(connection: AsyncConnection, table_id: int) -> Dependents:
    mine = tools.c.table_id == table_id
    count = sa.select(sa.func.count()).select_from(tools).where(mine).scalar_subquery()
    query = sa.select(count, _left_without_tools(mine), _chunks(index_states.c.table_id == table_id))
    row = (await connection.execute(query)).one()
    return Dependents(tools=int(row[0]), endpoints_without_tools=int(row[1]), chunks=int(row[2]))


async def of_tool(connection: AsyncConnection, tool_id: int) -> Dependents:
    row = (await connection.execute(sa.select(_left_without_tools(tools.c.id == tool_id)))).one()
    return Dependents(endpoints_without_tools=int(row[0]))


def _chunks(where: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    """Add up the totals of sources: counting millions of chunk rows would take too long."""
    return sa.select(sa.func.coalesce(sa.func.sum(index_states.c.total), 0)).where(where).scalar_subquery()


def _left_without_tools(gone: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    """Count the endpoints that have tools now, all of which go."""
    bound = sa.select(bindings.c.endpoint_id).join_from(bindings, tools, tools.c.id == bindings.c.tool_id)
    per_endpoint = (
        bound.where(bindings.c.endpoint_id.in_(bound.where(gone).correlate(None)))
        .group_by(bindings.c.endpoint_id)
        .having(sa.func.sum(sa.case((gone, 0), else_=1)) == 0)
        .subquery()
    )
    return sa.select(sa.func.count()).select_from(per_endpoint).scalar_subquery()
