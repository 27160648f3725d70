"""What the store can tell of a project as a whole."""

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

    shown = (tables.c.project_id == project_id, tables.c.revision > 0)
    size = sa.select(sa.func.coalesce(sa.func.sum(tables.c.size), 0)).where(*shown)
    row = await connection.execute(
        sa.select(
            count(tables, *shown),
            size.scalar_subquery(),
            count(documents, documents.c.project_id == project_id),
        )
    )
    return Contents(*map(int, row.one()))


async def active_chunks(connection: AsyncConnection) -> int:
    """How many chunks there are, as the states of their sources tell: counting five million rows takes too long."""
    query = sa.select(sa.func.coalesce(sa.func.sum(index_states.c.total), 0))
    return int((await connection.execute(query)).scalar_one())
