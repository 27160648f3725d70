"""Counts of what a project holds."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.schema import documents, gone_chunks, index_states, tables

_BEHIND = ("pending", "indexing", "error")


@dataclass(frozen=True, slots=True)
class Contents:
    """How much a project holds."""

    tables: int
    table_bytes: int
    documents: int


@dataclass(frozen=True, slots=True)
class Lag:
    """How far the index is behind: sources that have changed, those of them that failed, chunks to delete, and since
    when the oldest of these sources waits."""

    sources: int
    errors: int
    deletes: int
    since: datetime | None


async def lag(connection: AsyncConnection) -> Lag:
    """Return how far the index is behind, in all projects."""
    counts = {
        row[0]: int(row[1])
        for row in await connection.execute(
            sa.select(index_states.c.status, sa.func.count())
            .where(index_states.c.status.in_(_BEHIND))
            .group_by(index_states.c.status)
        )
    }
    oldest = [
        (
            await connection.execute(
                sa.select(sa.func.min(source.c.updated_at))
                .join(index_states, column == source.c.id)
                .where(index_states.c.status.in_(_BEHIND))
            )
        ).scalar_one()
        for source, column in ((documents, index_states.c.document_id), (tables, index_states.c.table_id))
    ]
    deletes = int((await connection.execute(sa.select(sa.func.count()).select_from(gone_chunks))).scalar_one())
    since = min((each for each in oldest if each is not None), default=None)
    return Lag(sum(counts.values()), counts.get("error", 0), deletes, since)


_TABLES = sa.select().where(tables.c.project_id == sa.bindparam("project_id"), tables.c.revision > 0)
_DOCUMENTS = sa.select().where(documents.c.project_id == sa.bindparam("project_id"))
_CONTENTS = sa.select(
    _TABLES.with_only_columns(sa.func.count()).scalar_subquery(),
    _TABLES.with_only_columns(sa.func.coalesce(sa.func.sum(tables.c.size), 0)).scalar_subquery(),
    _DOCUMENTS.with_only_columns(sa.func.count()).scalar_subquery(),
)


async def contents(connection: AsyncConnection, project_id: int) -> Contents:
    row = await connection.execute(_CONTENTS, {"project_id": project_id})
    return Contents(*map(int, row.one()))


async def active_chunks(connection: AsyncConnection, only: int | None = None) -> dict[int, int]:
    """Return the number of chunks of each project, or of the project `only`.

    Adds up the totals in `index_states`: counting five million chunk rows would take too long.
    """
    query = sa.select(index_states.c.project_id, sa.func.sum(index_states.c.total)).group_by(index_states.c.project_id)
    if only is not None:
        query = query.where(index_states.c.project_id == only)
    return {row[0]: int(row[1]) for row in await connection.execute(query)}


async def waiting_sources(connection: AsyncConnection, only: int | None = None) -> dict[int, int]:
    """Return for each project, or for the project `only`, how many tables and documents are not completely indexed."""
    waits = sa.case((index_states.c.status == "ready", 0), else_=1)
    query = sa.select(index_states.c.project_id, sa.func.sum(waits)).group_by(index_states.c.project_id)
    if only is not None:
        query = query.where(index_states.c.project_id == only)
    return {row[0]: int(row[1]) for row in await connection.execute(query)}
