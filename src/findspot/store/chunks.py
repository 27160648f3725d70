"""Chunks in the store: what an index holds, and what it has yet to take in or to forget."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import ChunkRow, FoundChunk
from findspot.store.schema import changes, chunks, documents, gone_chunks, index_states, tables

_AT_ONCE = 250  # rows in one statement, which is one moment of the event loop
_IDS_AT_ONCE = 5000

_columns: tuple[sa.ColumnElement[Any], ...] = (
    chunks.c.id,
    chunks.c.table_id,
    chunks.c.document_id,
    chunks.c.json_pointer,
    chunks.c.chunk_index,
    chunks.c.total_chunks,
    chunks.c.chunk_size,
    chunks.c.chunk_overlap,
    chunks.c.char_start,
    chunks.c.char_end,
    chunks.c.content_hash,
    chunks.c.turbopuffer_namespace,
    chunks.c.turbopuffer_doc_id,
    chunks.c.node_length,
    chunks.c.chunk_text,
)

T = TypeVar("T")


async def insert(connection: AsyncConnection, rows: Sequence[Mapping[str, Any]]) -> None:
    for some in _groups(rows, _AT_ONCE):
        await connection.execute(sa.insert(chunks), list(some))


async def move(connection: AsyncConnection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Say where chunks stand now whose text is as it was: `{which, start, end, index, total}`."""
    query = (
        sa.update(chunks)
        .where(chunks.c.id == sa.bindparam("which"))
        .values(
            char_start=sa.bindparam("start"),
            char_end=sa.bindparam("end"),
            chunk_index=sa.bindparam("index"),
            total_chunks=sa.bindparam("total"),
        )
    )
    for some in _groups(rows, _AT_ONCE):
        await connection.execute(query, list(some))


async def delete(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """Delete chunks; a trigger notes them for the engine."""
    for some in _groups(ids, _AT_ONCE):
        await connection.execute(sa.delete(chunks).where(chunks.c.id.in_(some)))


async def of_documents(connection: AsyncConnection, document_ids: Sequence[int]) -> list[Any]:
    """What is known of the chunks of some documents, without their texts."""
    query = sa.select(
        chunks.c.id,
        chunks.c.document_id,
        chunks.c.turbopuffer_doc_id,
        chunks.c.char_start,
        chunks.c.char_end,
        chunks.c.chunk_index,
        chunks.c.total_chunks,
    ).where(chunks.c.document_id.in_(document_ids))
    return list(await connection.execute(query))


async def nodes_of(connection: AsyncConnection, table_id: int) -> list[tuple[str, str, int, int]]:
    """The nodes of a table that have chunks: pointer, content hash, chunk size and overlap."""
    place = (chunks.c.json_pointer, chunks.c.content_hash, chunks.c.chunk_size, chunks.c.chunk_overlap)
    query = sa.select(*place).where(chunks.c.table_id == table_id).distinct()
    return [(row[0], row[1], row[2], row[3]) for row in await connection.execute(query)]


async def delete_node(connection: AsyncConnection, table_id: int, node: tuple[str, str, int, int]) -> None:
    """Delete the chunks of one node under one way of cutting."""
    pointer, content_hash, size, overlap = node
    where = (
        chunks.c.table_id == table_id,
        chunks.c.json_pointer == pointer,
        chunks.c.content_hash == content_hash,
        chunks.c.chunk_size == size,
        chunks.c.chunk_overlap == overlap,
    )
    await connection.execute(sa.delete(chunks).where(*where))


async def waiting(connection: AsyncConnection, namespace: str, after: int, limit: int) -> list[ChunkRow]:
    """Chunks that the engine does not have yet, in order of their ids; not those whose source rests after an error."""
    resting = sa.exists().where(
        sa.or_(
            index_states.c.table_id == chunks.c.table_id,
            index_states.c.document_id == chunks.c.document_id,
        ),
        index_states.c.status == "error",
    )
    query = (
        sa.select(*_columns)
        .where(chunks.c.turbopuffer_namespace == namespace, ~chunks.c.indexed, chunks.c.id > after, ~resting)
        .order_by(chunks.c.id)
        .limit(limit)
    )
    return [ChunkRow(*row) for row in await connection.execute(query)]


async def every(connection: AsyncConnection, namespace: str, after: int, limit: int) -> list[ChunkRow]:
    """Chunks of a namespace in order of their ids, whether the engine has them or not."""
    query = (
        sa.select(*_columns)
        .where(chunks.c.turbopuffer_namespace == namespace, chunks.c.id > after)
        .order_by(chunks.c.id)
        .limit(limit)
    )
    return [ChunkRow(*row) for row in await connection.execute(query)]


async def mark(connection: AsyncConnection, ids: Sequence[int], *, indexed: bool) -> None:
    """Say that the engine has these chunks, or that it has not."""
    for some in _groups(ids, _IDS_AT_ONCE):
        query = sa.update(chunks).where(chunks.c.id.in_(some)).values(indexed=indexed, updated_at=chunks.c.updated_at)
        await connection.execute(query)


async def indexed_ids(connection: AsyncConnection, namespace: str) -> list[int]:
    """The chunks that the engine should have, in order."""
    query = (
        sa.select(chunks.c.id)
        .where(chunks.c.turbopuffer_namespace == namespace, chunks.c.indexed)
        .order_by(chunks.c.id)
    )
    return list((await connection.execute(query)).scalars())


async def counts(connection: AsyncConnection, project_id: int) -> dict[str, tuple[int, int]]:
    """How many chunks each namespace of a project has, and how many of them the engine has."""
    query = (
        sa.select(
            chunks.c.turbopuffer_namespace,
            sa.func.count(),
            sa.func.sum(sa.case((chunks.c.indexed, 1), else_=0)),
        )
        .where(chunks.c.turbopuffer_namespace.like(f"project\\_{project_id}\\_%", escape="\\"))
        .group_by(chunks.c.turbopuffer_namespace)
    )
    return {row[0]: (row[1], int(row[2])) for row in await connection.execute(query)}


async def namespaces(connection: AsyncConnection) -> list[str]:
    """Every namespace that has chunks."""
    query = sa.select(chunks.c.turbopuffer_namespace).distinct().order_by(chunks.c.turbopuffer_namespace)
    return list((await connection.execute(query)).scalars())


# ── what the engine has to forget ──


async def debts(connection: AsyncConnection) -> list[str]:
    """The namespaces in which the engine has something to forget."""
    return list((await connection.execute(sa.select(gone_chunks.c.namespace).distinct())).scalars())


async def gone(connection: AsyncConnection, namespace: str, limit: int) -> list[int]:
    query = sa.select(gone_chunks.c.chunk_id).where(gone_chunks.c.namespace == namespace)
    return list((await connection.execute(query.order_by(gone_chunks.c.chunk_id).limit(limit))).scalars())


async def settle_debt(connection: AsyncConnection, ids: Sequence[int]) -> None:
    for some in _groups(ids, _IDS_AT_ONCE):
        await connection.execute(sa.delete(gone_chunks).where(gone_chunks.c.chunk_id.in_(some)))


async def cancel_debt(connection: AsyncConnection, namespace: str) -> None:
    """A namespace that is dropped has nothing left to forget."""
    await connection.execute(sa.delete(gone_chunks).where(gone_chunks.c.namespace == namespace))


# ── what a search shows ──


async def found(connection: AsyncConnection, ids: Iterable[int]) -> dict[int, FoundChunk]:
    """Chunks by id, each with its source as it is now. Those that are gone are left out."""
    query = (
        sa.select(
            *_columns,
            sa.func.coalesce(tables.c.revision, documents.c.revision),
            index_states.c.indexed_revision,
            documents.c.title,
            documents.c.type,
            documents.c.updated_at,
        )
        .select_from(chunks)
        .outerjoin(tables, tables.c.id == chunks.c.table_id)
        .outerjoin(documents, documents.c.id == chunks.c.document_id)
        .join(
            index_states,
            sa.or_(index_states.c.table_id == chunks.c.table_id, index_states.c.document_id == chunks.c.document_id),
        )
        .where(chunks.c.id.in_(list(ids)))
    )
    width = len(_columns)
    return {row[0]: FoundChunk(ChunkRow(*row[:width]), *row[width:]) for row in await connection.execute(query)}


async def changed_since(connection: AsyncConnection, table_ids: Iterable[int]) -> dict[int, list[tuple[int, str]]]:
    """Where tables were changed that the index has not followed yet: revisions and pointers."""
    places: dict[int, list[tuple[int, str]]] = {}
    query = sa.select(changes.c.table_id, changes.c.revision, changes.c.json_pointer)
    for row in await connection.execute(query.where(changes.c.table_id.in_(list(table_ids)))):
        places.setdefault(row[0], []).append((row[1], row[2]))
    return places


def _groups(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
