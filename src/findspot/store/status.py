"""Counts of what a project holds."""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.schema import documents, index_states, tables


@dataclass(frozen=True, slots=True)
class Contents:
    """How much a project holds."""

    tables: int
    table_bytes: int
    documents: int


async def contents(connection: AsyncConnection, project_id: int) -> Contents:
    def count(of: sa.Table, *where: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
        return sa.select(sa.func.count()).select_from(of).where(*where).scalar_subquery()

    visible = (tables.c.project_id == project_id, tables.c.revision > 0)
    size = sa.select(sa.func.coalesce(sa.func.sum(tables.c.size), 0)).where(*visible)
    row = await connection.execute(
        sa.select(
            count(tables, *visible),
            size.scalar_subquery(),
            count(documents, documents.c.project_id == project_id),
        )
    )
    return Contents(*map(int, row.one()))


async def active_chunks(connection: AsyncConnection, only: int | None = None) -> dict[int, int]:
    """Return the number of chunks of each project, or of the project `only`.

    Adds up the totals in `index_states`: counting five million chunk rows would take too long.
    """
    query = sa.select(index_states.c.project_id, sa.func.sum(index_states.c.total)).group_by(index_states.c.project_id)
    if only is not None:
        query = query.where(index_states.c.project_id == only)
    return {row[0]: int(row[1]) for row in await connection.execute(query)}
