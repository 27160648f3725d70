"""What the store can tell of a project as a whole."""

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import IndexState, documents_namespace, table_namespace
from findspot.store.schema import chunks, documents, index_states, tables


@dataclass(frozen=True, slots=True)
class Contents:
    """How much a project holds."""

    tables: int
    table_bytes: int
    documents: int
    chunks: int


async def contents(connection: AsyncConnection, project_id: int) -> Contents:
    def count(of: sa.Table, *where: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
        return sa.select(sa.func.count()).select_from(of).where(*where).scalar_subquery()

    mine = sa.select(tables.c.id).where(tables.c.project_id == project_id)
    texts = sa.select(documents.c.id).where(documents.c.project_id == project_id)
    shown = (tables.c.project_id == project_id, tables.c.revision > 0)
    size = sa.select(sa.func.coalesce(sa.func.sum(tables.c.size), 0)).where(*shown)
    row = await connection.execute(
        sa.select(
            count(tables, *shown),
            size.scalar_subquery(),
            count(documents, documents.c.project_id == project_id),
            count(chunks, chunks.c.table_id.in_(mine) | chunks.c.document_id.in_(texts)),
        )
    )
    return Contents(*map(int, row.one()))


async def index(connection: AsyncConnection, project_id: int) -> list[IndexState]:
    """The index state of every source of a project: each table by itself, the documents as one namespace."""
    query = (
        sa.select(index_states, tables.c.revision, documents.c.revision.label("document_revision"))
        .select_from(index_states.outerjoin(tables).outerjoin(documents))
        .where(index_states.c.project_id == project_id)
        .order_by(index_states.c.id)
    )
    return [
        IndexState(
            namespace=table_namespace(project_id, row.table_id) if row.table_id else documents_namespace(project_id),
            status=row.status,
            revision=row.revision or row.document_revision,
            indexed_revision=row.indexed_revision,
            done=row.done,
            total=row.total,
            last_error=row.last_error,
        )
        for row in await connection.execute(query)
    ]
