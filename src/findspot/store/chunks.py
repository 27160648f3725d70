"""Chunk rows: the text of every chunk, and whether the engine holds it."""

import asyncio
from array import array
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import ChunkToIndex
from findspot.store import driver
from findspot.store.column_types import Timestamp
from findspot.store.schema import chunks, index_states

_AT_ONCE = 250  # rows in one statement or one part of an answer: the event loop is free in between
_IDS_AT_ONCE = 500
_NUMBERS_AT_ONCE = 20_000  # numbers that are read as one text; decoding it takes a millisecond
_WAITS = sa.text("NOT chunks.indexed")  # as in the partial index; otherwise SQLite reads every chunk of the namespace

_TO_INDEX = sa.select(
    chunks.c.id,
    chunks.c.table_id,
    chunks.c.document_id,
    chunks.c.json_pointer,
    chunks.c.chunk_index,
    chunks.c.chunk_size,
    chunks.c.chunk_overlap,
    chunks.c.node_length,
    chunks.c.turbopuffer_doc_id,
    chunks.c.context,
    chunks.c.chunk_text,
).order_by(chunks.c.id)

T = TypeVar("T")


class NewChunk(NamedTuple):
    """The columns of a new chunk row."""

    table_id: int | None
    document_id: int | None
    json_pointer: str
    chunk_index: int
    total_chunks: int
    chunk_size: int
    chunk_overlap: int
    char_start: int
    char_end: int
    content_hash: str
    turbopuffer_namespace: str
    turbopuffer_doc_id: str
    node_length: int
    context: str | None
    chunk_text: str


Node: TypeAlias = tuple[str, str, int, int]  # pointer, content hash, chunk size and overlap


async def insert(connection: AsyncConnection, rows: Sequence[NewChunk]) -> None:
    bind = Timestamp().bind_processor(connection.dialect)
    assert bind is not None
    now = bind(datetime.now(UTC))
    if connection.dialect.name == "sqlite":
        now = str(now)  # as the driver would write it, for each row anew: 2 % of the processor time of an import
    added = [
        (*row[:-2], None if row.context is None else row.context.encode(), row.chunk_text.encode(), now, now)
        for row in rows
    ]
    await driver.insert(connection, chunks, (*NewChunk._fields, "created_at", "updated_at"), added)


async def move(connection: AsyncConnection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Update the positions of chunks whose text is in the current revision: `{which, start, end, index, total}`."""
    query = (
        sa.update(chunks)
        .where(chunks.c.id == sa.bindparam("which"))
        .values(
            char_start=sa.bindparam("start"),
            char_end=sa.bindparam("end"),
            chunk_index=sa.bindparam("index"),
            total_chunks=sa.bindparam("total"),
            last_revision=None,
        )
    )
    for some in _groups(rows, _AT_ONCE):
        await connection.execute(query, list(some))


async def set_contexts(connection: AsyncConnection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Set the contexts of chunks whose text has not changed, `{which, where}`, and have them indexed again."""
    query = sa.update(chunks).where(chunks.c.id == sa.bindparam("which"))
    for some in _groups(rows, _AT_ONCE):
        await connection.execute(query.values(context=sa.bindparam("where"), indexed=False), list(some))


async def delete(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """Delete chunk rows; a trigger notes them for the engine."""
    for some in _groups(ids, _AT_ONCE):
        await connection.execute(sa.delete(chunks).where(chunks.c.id.in_(some)))


async def of_documents(connection: AsyncConnection, document_ids: Sequence[int]) -> list[Any]:
    """Return the chunk rows of some documents, without their texts."""
    query = sa.select(
        chunks.c.id,
        chunks.c.document_id,
        chunks.c.turbopuffer_doc_id,
        chunks.c.char_start,
        chunks.c.char_end,
        chunks.c.chunk_index,
        chunks.c.total_chunks,
        chunks.c.last_revision,
        chunks.c.context,
    ).where(chunks.c.document_id.in_(document_ids))
    return [row async for part in _parts(connection, query) for row in part]


async def nodes_of(connection: AsyncConnection, table_id: int) -> AsyncIterator[list[Node]]:
    """Yield the nodes of a table that have chunks, some at a time."""
    place = (chunks.c.json_pointer, chunks.c.content_hash, chunks.c.chunk_size, chunks.c.chunk_overlap)
    query = sa.select(*place).where(chunks.c.table_id == table_id, chunks.c.chunk_index == 0)
    async for part in _parts(connection, query):
        yield [(row[0], row[1], row[2], row[3]) for row in part]


async def incomplete_nodes(connection: AsyncConnection, table_id: int) -> list[Node]:
    """Return the nodes of a table that lack chunks, because an update was interrupted."""
    place = (chunks.c.json_pointer, chunks.c.content_hash, chunks.c.chunk_size, chunks.c.chunk_overlap)
    query = (
        sa.select(*place)
        .where(chunks.c.table_id == table_id)
        .group_by(*place)
        .having(sa.func.count() != sa.func.max(chunks.c.total_chunks))
    )
    return [(row[0], row[1], row[2], row[3]) for row in await connection.execute(query)]


async def delete_nodes(connection: AsyncConnection, table_id: int, nodes: Sequence[Node]) -> None:
    """Delete the chunks of nodes, each with one chunk size and overlap."""
    query = sa.delete(chunks).where(
        chunks.c.table_id == table_id,
        chunks.c.json_pointer == sa.bindparam("pointer"),
        chunks.c.content_hash == sa.bindparam("content"),
        chunks.c.chunk_size == sa.bindparam("size"),
        chunks.c.chunk_overlap == sa.bindparam("overlap"),
    )
    names = ("pointer", "content", "size", "overlap")
    for some in _groups(nodes, _AT_ONCE):
        await connection.execute(query, [dict(zip(names, node, strict=True)) for node in some])


def _waits_after_error(column: sa.Column[int], source: sa.Column[int]) -> sa.ColumnElement[bool]:
    waiting = sa.select(source).where(index_states.c.status == "error", source.is_not(None))
    return sa.func.coalesce(column, 0).in_(waiting)


_EVERY = _TO_INDEX.where(
    chunks.c.turbopuffer_namespace == sa.bindparam("namespace"), chunks.c.id > sa.bindparam("after")
).limit(sa.bindparam("most", type_=sa.Integer))
_WAITING = _EVERY.where(
    _WAITS,
    ~_waits_after_error(chunks.c.table_id, index_states.c.table_id),
    ~_waits_after_error(chunks.c.document_id, index_states.c.document_id),
)


async def waiting(connection: AsyncConnection, namespace: str, after: int, limit: int) -> list[ChunkToIndex]:
    """Return chunks that the engine lacks, in order of their ids; not those whose source waits after an error."""
    return await _to_index(connection, _WAITING, namespace, after, limit)


async def every(connection: AsyncConnection, namespace: str, after: int, limit: int) -> list[ChunkToIndex]:
    """Return chunks of a namespace in order of their ids, whether the engine holds them or not."""
    return await _to_index(connection, _EVERY, namespace, after, limit)


async def _to_index(
    connection: AsyncConnection, query: sa.Select[Any], namespace: str, after: int, limit: int
) -> list[ChunkToIndex]:
    found: list[ChunkToIndex] = []
    rows = await connection.execute(query, {"namespace": namespace, "after": after, "most": limit})
    for part in rows.partitions(_AT_ONCE):
        found += [ChunkToIndex(*row) for row in part]
        await asyncio.sleep(0)
    return found


async def mark(connection: AsyncConnection, ids: Sequence[int], *, indexed: bool) -> None:
    """Note that the engine holds these chunks, or that it does not, whatever has changed since they were read."""
    await driver.run(connection, "UPDATE chunks SET indexed = ? WHERE id IN (??)", indexed, among=ids)


# What the engine holds of a chunk depends on its context, and on whether it is the first one of its document.
_MARK_WITHOUT_CONTEXT = "UPDATE chunks SET indexed = ? WHERE context IS NULL AND id IN (??)"
_MARK_WITH_CONTEXT = """\
UPDATE chunks SET indexed = ? FROM (VALUES (??)) AS written
WHERE chunks.id = written.column1 AND chunks.context = written.column2
  AND (chunks.chunk_index = 0) = (written.column3 = 0)"""


async def mark_written(connection: AsyncConnection, written: Sequence[ChunkToIndex]) -> None:
    """Note that the engine holds these chunks, except those that have changed since they were read."""
    bare = [row.id for row in written if row.context is None]
    placed = [(row.id, row.context.encode(), row.chunk_index) for row in written if row.context is not None]
    await driver.run(connection, _MARK_WITHOUT_CONTEXT, True, among=bare)
    await driver.run(connection, _MARK_WITH_CONTEXT, True, among=placed)


async def ids(connection: AsyncConnection, namespace: str) -> "array[int]":
    """Return the ids of all chunks of a namespace, in order.

    The database joins many of them to one text: row by row, a million takes 0.75 s of processor time, not 0.3 s.
    """
    found = array("q")
    while True:
        after = found[-1] if found else 0
        of_namespace = sa.select(chunks.c.id).where(chunks.c.turbopuffer_namespace == namespace, chunks.c.id > after)
        some = of_namespace.order_by(chunks.c.id).limit(_NUMBERS_AT_ONCE).subquery()
        joined = sa.select(sa.func.aggregate_strings(sa.cast(some.c.id, sa.Text), ","))
        text: str | None = (await connection.execute(joined)).scalar_one()
        if text is None:
            return found
        found.extend(sorted(msgspec.json.decode(f"[{text}]", type=list[int])))


async def waiting_ids(connection: AsyncConnection, namespace: str) -> list[int]:
    """Return the ids of the chunks that the engine lacks."""
    query = sa.select(chunks.c.id).where(chunks.c.turbopuffer_namespace == namespace, _WAITS)
    return [row[0] async for part in _parts(connection, query) for row in part]


async def first_waiting(connection: AsyncConnection, namespace: str) -> int | None:
    """Return the oldest chunk that the engine lacks."""
    query = sa.select(sa.func.min(chunks.c.id)).where(chunks.c.turbopuffer_namespace == namespace, _WAITS)
    first: int | None = (await connection.execute(query)).scalar_one()
    return first


async def existing(connection: AsyncConnection, ids: Sequence[int]) -> set[int]:
    """Return those of the ids that have a row."""
    found: set[int] = set()
    for some in _groups(ids, _IDS_AT_ONCE):
        found.update((await connection.execute(sa.select(chunks.c.id).where(chunks.c.id.in_(some)))).scalars())
    return found


_COUNTS = (
    sa.select(chunks.c.turbopuffer_namespace, sa.func.count())
    .where(chunks.c.turbopuffer_namespace.in_(sa.bindparam("namespaces", expanding=True)))
    .group_by(chunks.c.turbopuffer_namespace)
)
_COUNTS_WAITING = _COUNTS.where(_WAITS)


async def counts(connection: AsyncConnection, namespaces: Sequence[str]) -> dict[str, int]:
    """Return for each namespace with chunks how many it has. Reads every row: half a second for five million."""
    return await _counted(connection, _COUNTS, namespaces)


async def counts_waiting(connection: AsyncConnection, namespaces: Sequence[str]) -> dict[str, int]:
    """Return for each namespace of which the engine lacks chunks how many it lacks."""
    return await _counted(connection, _COUNTS_WAITING, namespaces)


async def _counted(connection: AsyncConnection, query: sa.Select[Any], namespaces: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for some in _groups(namespaces, _IDS_AT_ONCE):
        found.update((row[0], row[1]) for row in await connection.execute(query, {"namespaces": list(some)}))
    return found


async def is_empty(connection: AsyncConnection, namespace: str) -> bool:
    """Return whether a namespace has no chunks."""
    query = sa.select(chunks.c.id).where(chunks.c.turbopuffer_namespace == namespace).limit(1)
    return (await connection.execute(query)).first() is None


async def any_indexed(connection: AsyncConnection, namespace: str) -> bool:
    """Return whether the engine holds a chunk of a namespace."""
    query = sa.select(chunks.c.id).where(chunks.c.turbopuffer_namespace == namespace, chunks.c.indexed).limit(1)
    return (await connection.execute(query)).first() is not None


async def _parts(connection: AsyncConnection, query: sa.Select[Any]) -> AsyncIterator[Sequence[Any]]:
    """Yield the rows of a query in parts, so that other tasks run in between."""
    async with connection.stream(query, execution_options={"yield_per": _AT_ONCE}) as rows:
        async for part in rows.partitions():
            yield part


def _groups(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
