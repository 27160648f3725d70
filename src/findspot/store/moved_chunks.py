"""What a move has to know of the chunks of either database: which sources are indexed, and the chunks of each."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.row_copies import Digest, hash_of
from findspot.store.schema import chunks, documents, index_states, tables, tools

_FAILED_AT_ONCE = 100
_IDS_AT_ONCE = 1000
_UNFINISHED = ("pending", "indexing")


class Source(NamedTuple):
    """A table or a document; the other one is None."""

    table_id: int | None
    document_id: int | None

    def __str__(self) -> str:
        return f"document {self.document_id}" if self.table_id is None else f"table {self.table_id}"


class Unfinished(NamedTuple):
    """How many sources that were last changed before a time are not indexed yet, and how many chunks the engine
    lacks."""

    waiting: int
    failed: int
    chunks: int


def _states(*columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    return (
        sa.select(*columns)
        .select_from(index_states)
        .outerjoin(tables, tables.c.id == index_states.c.table_id)
        .outerjoin(documents, documents.c.id == index_states.c.document_id)
    )


def _changed_before(time: datetime) -> sa.ColumnElement[bool]:
    return sa.func.coalesce(tables.c.updated_at, documents.c.updated_at) < time


async def unfinished(connection: AsyncConnection, before: datetime) -> Unfinished:
    """Count the sources that were last changed before a time and are not indexed, and the chunks that wait."""
    waits, failed = index_states.c.status.in_(_UNFINISHED), index_states.c.status == "error"
    query = _states(sa.func.count(sa.case((waits, 1))), sa.func.count(sa.case((failed, 1))))
    waiting, failures = (await connection.execute(query.where(_changed_before(before)))).one()
    lacking = sa.select(sa.func.count()).select_from(chunks).where(sa.text("NOT indexed"))
    return Unfinished(int(waiting), int(failures), int((await connection.execute(lacking)).scalar_one()))


async def failures(connection: AsyncConnection) -> dict[Source, str]:
    """Return some of the sources that could not be indexed, with their errors."""
    columns = index_states.c.table_id, index_states.c.document_id, index_states.c.error_message
    query = sa.select(*columns).where(index_states.c.status == "error").order_by(index_states.c.id)
    found = await connection.execute(query.limit(_FAILED_AT_ONCE))
    return {Source(table, document): str(message) for table, document, message in found}


async def any_ready(connection: AsyncConnection, sources: Sequence[Source]) -> bool:
    """Return whether one of these sources is indexed."""
    among = sa.or_(
        index_states.c.table_id.in_([each.table_id for each in sources if each.table_id is not None]),
        index_states.c.document_id.in_([each.document_id for each in sources if each.document_id is not None]),
    )
    query = sa.select(index_states.c.id).where(among, index_states.c.status == "ready").limit(1)
    return (await connection.execute(query)).first() is not None


async def changed_since(connection: AsyncConnection, time: datetime) -> set[Source]:
    """Return the sources that were changed at or after a time."""
    query = _states(index_states.c.table_id, index_states.c.document_id).where(~_changed_before(time))
    return {Source(*row) for row in await connection.execute(query)}


# ── chunks ──


async def digests(connection: AsyncConnection) -> Mapping[Source, Digest]:
    """Return a digest of the ids and content hashes of each source's chunks.

    Only of sources whose index is complete and of the current revision.
    """
    revision = sa.func.coalesce(tables.c.revision, documents.c.revision)
    ready = _states(index_states.c.table_id, index_states.c.document_id).where(
        index_states.c.status == "ready", index_states.c.indexed_revision == revision
    )
    found = {Source(*row): Digest() for row in await connection.execute(ready)}
    query = sa.select(chunks.c.table_id, chunks.c.document_id, chunks.c.turbopuffer_doc_id, chunks.c.content_hash)
    stream = await connection.stream(
        query.where(chunks.c.last_revision.is_(None)), execution_options={"yield_per": 5000}
    )
    try:
        async for table_id, document_id, doc_id, content_hash in stream:
            source = Source(table_id, document_id)
            if (known := found.get(source)) is not None:
                total = (known.total + hash_of((doc_id, content_hash))) % (1 << 256)
                found[source] = Digest(known.rows + 1, total)
    finally:
        await stream.close()
    return found


async def of_source(connection: AsyncConnection, source: Source) -> set[tuple[str, str]]:
    """Return the ids and content hashes of the chunks of a source."""
    is_mine = (
        chunks.c.document_id == source.document_id if source.table_id is None else chunks.c.table_id == source.table_id
    )
    query = sa.select(chunks.c.turbopuffer_doc_id, chunks.c.content_hash)
    found = await connection.execute(query.where(is_mine, chunks.c.last_revision.is_(None)))
    return {(row[0], row[1]) for row in found}


async def indexed(connection: AsyncConnection, namespace: str) -> dict[int, str]:
    """Return the ids of the chunks that the engine should hold: the row number, and the one of a remote engine."""
    query = sa.select(chunks.c.id, chunks.c.turbopuffer_doc_id).where(
        chunks.c.turbopuffer_namespace == namespace, chunks.c.indexed
    )
    stream = await connection.stream(query, execution_options={"yield_per": 5000})
    try:
        return {row[0]: row[1] async for row in stream}
    finally:
        await stream.close()


async def doc_ids(connection: AsyncConnection, ids: Sequence[int]) -> dict[int, str]:
    """Return the remote ids of those of the chunks that have a row."""
    found: dict[int, str] = {}
    query = sa.select(chunks.c.id, chunks.c.turbopuffer_doc_id)
    for start in range(0, len(ids), _IDS_AT_ONCE):
        some = await connection.execute(query.where(chunks.c.id.in_(ids[start : start + _IDS_AT_ONCE])))
        found |= {row[0]: row[1] for row in some}
    return found


# ── searches to compare ──


class Sample(NamedTuple):
    """A text to search for: in the documents of a project, or with a search tool."""

    text: str
    project_id: int | None = None
    tool_id: int | None = None


async def samples(connection: AsyncConnection, count: int, before: datetime) -> list[Sample]:
    """Return texts of indexed documents and tables that were last changed before a time. Hashes choose them."""
    ready = index_states.c.status == "ready", chunks.c.last_revision.is_(None)
    of_documents = (
        sa.select(chunks.c.chunk_text, documents.c.project_id)
        .join(documents, documents.c.id == chunks.c.document_id)
        .join(index_states, index_states.c.document_id == documents.c.id)
        .where(*ready, documents.c.updated_at < before)
    )
    of_tools = (
        sa.select(chunks.c.chunk_text, sa.null(), tools.c.id)
        .join(tables, tables.c.id == chunks.c.table_id)
        .join(index_states, index_states.c.table_id == tables.c.id)
        .join(tools, tools.c.table_id == tables.c.id)
        .where(*ready, tables.c.updated_at < before, tools.c.search_config.is_not(None))
    )
    found: list[Sample] = []
    for query in (of_documents, of_tools):
        rows = await connection.execute(query.order_by(chunks.c.content_hash).limit(count))
        found += [Sample(*row) for row in rows]
    return found
