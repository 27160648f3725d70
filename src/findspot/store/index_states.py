"""How far the index has followed each source. Triggers set a source to `pending` when it changes; the worker writes the
rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.errors import Failure
from findspot.models import Backoff, NamespaceKey, SourceState, TableIndexState, documents_namespace
from findspot.pointer import indexable
from findspot.store import driver
from findspot.store.schema import changes, chunks, documents, index_states, installation, tables

SOURCE_BACKOFF = Backoff(first_s=1.0, longest_s=60.0)
_IDS_PER_STATEMENT = 1000

_COLUMNS: tuple[sa.ColumnElement[Any], ...] = (
    index_states.c.project_id,
    index_states.c.table_id,
    index_states.c.document_id,
    index_states.c.status,
    index_states.c.indexed_revision,
    index_states.c.done,
    index_states.c.total,
    index_states.c.nodes,
    index_states.c.skipped,
    index_states.c.error_code,
    index_states.c.error_message,
    index_states.c.error_fields,
    index_states.c.attempts,
    index_states.c.retry_at,
    index_states.c.indexed_at,
    index_states.c.updated_at,
)


async def identity(connection: AsyncConnection) -> str:
    """Return the id of this installation: no other store has it."""
    return str((await connection.execute(sa.select(installation.c.identity))).scalar_one())


def error_columns(error: Failure | None) -> dict[str, Any]:
    """Return the values of the columns that hold an error."""
    if error is None:
        return {"error_code": None, "error_message": None, "error_fields": None}
    return {"error_code": error.code, "error_message": error.message, "error_fields": dict(error.fields) or None}


def error_of(code: str | None, message: str | None, fields: dict[str, Any] | None) -> Failure | None:
    """Return the error that these columns hold."""
    return None if code is None else Failure(code, message or "", fields or {})


def is_table(table_id: int) -> sa.ColumnElement[bool]:
    return index_states.c.table_id == table_id


def is_document(document_id: int) -> sa.ColumnElement[bool]:
    return index_states.c.document_id == document_id


def _is_due(now: datetime | sa.BindParameter[Any]) -> sa.ColumnElement[bool]:
    return sa.or_(
        index_states.c.status.in_(("pending", "indexing")),
        sa.and_(index_states.c.status == "error", index_states.c.retry_at <= now),
    )


def _is_in(key: NamespaceKey) -> sa.ColumnElement[bool]:
    """Return the condition for the sources of a namespace."""
    if key.table_id is not None:
        return index_states.c.table_id == key.table_id
    return sa.and_(index_states.c.project_id == key.project_id, index_states.c.document_id.is_not(None))


# ── reading ──


@dataclass(frozen=True, slots=True)
class SourceGroup:
    """How many sources have the same status and last error, and how many chunks these had when they were last cut."""

    status: str
    error: Failure | None
    count: int
    chunks: int


_is_visible = sa.exists().where(tables.c.id == index_states.c.table_id, tables.c.revision > 0)
_DUE = (
    sa.select(index_states.c.project_id, index_states.c.table_id)
    .where(_is_due(sa.bindparam("now")), sa.or_(index_states.c.table_id.is_(None), _is_visible))
    .group_by(index_states.c.project_id, index_states.c.table_id)
)


async def due_namespaces(connection: AsyncConnection) -> list[NamespaceKey]:
    """Return the namespaces with a source to index. A table that is being deleted is left out."""
    return [NamespaceKey(row[0], row[1]) for row in await connection.execute(_DUE, {"now": datetime.now(UTC)})]


async def is_due(connection: AsyncConnection, key: NamespaceKey) -> bool:
    """Return whether a namespace has a source to index."""
    query = sa.select(index_states.c.id).where(_is_in(key), _is_due(datetime.now(UTC))).limit(1)
    return (await connection.execute(query)).first() is not None


async def namespaces_with_chunks(connection: AsyncConnection) -> list[NamespaceKey]:
    """Return the namespaces whose sources have chunks. Reads the totals: the chunk rows may be millions."""
    query = sa.select(index_states.c.project_id, index_states.c.table_id).where(index_states.c.total > 0).distinct()
    return [NamespaceKey(row[0], row[1]) for row in await connection.execute(query)]


async def next_retry(connection: AsyncConnection) -> datetime | None:
    """Return when the next source that failed is to be tried again."""
    query = sa.select(sa.func.min(index_states.c.retry_at)).where(index_states.c.status == "error")
    retry_at: datetime | None = (await connection.execute(query)).scalar_one()
    return retry_at


async def pending_documents(connection: AsyncConnection, project_id: int, limit: int, max_bytes: int) -> list[Any]:
    """Return documents whose chunk rows are behind: id, revision, title, format and content.

    At least one if there are any, and then as many as `limit` and `max_bytes` allow.
    """
    is_mine = index_states.c.project_id == project_id, index_states.c.document_id.is_not(None)
    query = (
        sa.select(documents.c.id, sa.func.length(documents.c.content))
        .join(index_states, index_states.c.document_id == documents.c.id)
        .where(*is_mine, index_states.c.status.in_(("pending", "error")), _is_due(datetime.now(UTC)))
        .order_by(documents.c.id)
        .limit(limit)
    )
    ids: list[int] = []
    size = 0
    for row in await connection.execute(query):
        size += row[1]
        if ids and size > max_bytes:
            break
        ids.append(row[0])
    columns = documents.c.id, documents.c.revision, documents.c.title, documents.c.format, documents.c.content
    found = sa.select(*columns).where(documents.c.id.in_(ids)).order_by(documents.c.id)
    return list(await connection.execute(found)) if ids else []


async def of_table(connection: AsyncConnection, table_id: int) -> SourceState | None:
    return await _one(connection, is_table(table_id))


async def of_document(connection: AsyncConnection, document_id: int) -> SourceState | None:
    return await _one(connection, is_document(document_id))


async def _one(connection: AsyncConnection, source: sa.ColumnElement[bool]) -> SourceState | None:
    row = (await connection.execute(sa.select(*_COLUMNS).where(source))).one_or_none()
    if row is None:
        return None
    before, error, after = row[:9], error_of(*row[9:12]), row[12:]
    return SourceState(*before, error, *after)  # type: ignore[call-arg]


TABLE_STATE_COLUMNS = (index_states.c.status, index_states.c.total, index_states.c.error_code)
_TABLE_INDEX_STATE = "SELECT status, total, error_code FROM index_states WHERE table_id IN (??)"


def table_index_state(connection: sa.Connection, table_id: int) -> TableIndexState:
    """Return what a search in a table has to know about its index. One row by its key: every search asks.

    While chunks are being indexed, all of them count as done: `chunks.counts_waiting` returns how many are not.
    """
    found = driver.rows(connection, _TABLE_INDEX_STATE, among=[table_id])
    return table_state(*found[0]) if found else table_state()


def table_state(status: str | None = None, total: int | None = None, error_code: str | None = None) -> TableIndexState:
    """Return the state in TABLE_STATE_COLUMNS. A table without a row has yet to be indexed."""
    return TableIndexState(status or "pending", total or 0, total or 0, error_code)


class DocumentsInIndex(NamedTuple):
    """The phase of the index of a project's documents, if it has one, and whether a saved document is not searchable
    yet."""

    phase: str | None
    is_behind: bool


OF_DOCUMENTS = """\
(SELECT phase FROM namespace_states WHERE namespace = ?), EXISTS (
  SELECT 1 FROM index_states WHERE project_id = ? AND document_id IS NOT NULL AND status IN (??))"""
UNFINISHED = ("pending", "indexing", "error")


def of_documents(connection: sa.Connection, project_id: int) -> DocumentsInIndex:
    """Return the state of the index of a project's documents, from two indexes in one statement: every search asks."""
    values = documents_namespace(project_id), project_id
    ((phase, is_behind),) = driver.rows(connection, f"SELECT {OF_DOCUMENTS}", *values, among=UNFINISHED)
    return DocumentsInIndex(phase, bool(is_behind))


_is_in_project = index_states.c.project_id == sa.bindparam("project_id")
_NO_TABLE = -1
_CHUNKS_OF_PROJECT = sa.select(sa.func.coalesce(sa.func.sum(index_states.c.total), 0)).where(
    _is_in_project, sa.func.coalesce(index_states.c.table_id, 0) != sa.bindparam("but_table")
)


async def chunks_of_project(connection: AsyncConnection, project_id: int, *, but_table: int = _NO_TABLE) -> int:
    """Return how many chunks the sources of a project have, without those of one table."""
    values = {"project_id": project_id, "but_table": but_table}
    return int((await connection.execute(_CHUNKS_OF_PROJECT, values)).scalar_one())


_GROUPED = (
    index_states.c.table_id,
    index_states.c.status,
    index_states.c.error_code,
    index_states.c.error_message,
)
_SIZES = sa.func.count(), sa.func.sum(index_states.c.total)
_GROUPS = sa.select(*_GROUPED, *_SIZES).where(_is_in_project).group_by(*_GROUPED)


async def of_project(connection: AsyncConnection, project_id: int) -> list[tuple[int | None, SourceGroup]]:
    """Return the sources of a project by table (None for documents), status and last error."""
    return [
        (row[0], SourceGroup(row[1], error_of(row[2], row[3], None), int(row[4]), int(row[5])))
        for row in await connection.execute(_GROUPS, {"project_id": project_id})
    ]


# ── requesting ──


async def request(connection: AsyncConnection, table_id: int) -> None:
    """Have a table indexed again although it has not changed, because its tools have."""
    query = sa.update(index_states).where(index_states.c.table_id == table_id)
    await connection.execute(query.values(status="pending", attempts=0, retry_at=None))


async def request_documents(connection: AsyncConnection, document_ids: Sequence[int]) -> None:
    """Have documents cut again although they have not changed, because their chunk rows are wrong."""
    query = sa.update(index_states).where(index_states.c.document_id.in_(document_ids))
    await connection.execute(query.values(status="pending", attempts=0, retry_at=None))


# ── following a source ──


async def lock_revisions(connection: AsyncConnection, document_ids: Sequence[int]) -> dict[int, int]:
    """Return the current revisions of documents, and lock them until the transaction ends.

    An import locks them in the same order, so the two cannot deadlock.
    """
    query = sa.select(documents.c.id, documents.c.revision).where(documents.c.id.in_(document_ids))
    found = await connection.execute(query.order_by(documents.c.path, documents.c.id).with_for_update())
    return {row[0]: row[1] for row in found}


async def lock_table_revision(connection: AsyncConnection, table_id: int) -> int | None:
    """Return the current revision of a table, and lock it and its index state until the transaction ends."""
    query = sa.select(tables.c.revision).where(tables.c.id == table_id, tables.c.revision > 0).with_for_update()
    revision: int | None = (await connection.execute(query)).scalar_one_or_none()
    await connection.execute(sa.select(index_states.c.id).where(is_table(table_id)).with_for_update())
    return revision


async def set_indexed_revision(
    connection: AsyncConnection,
    source: sa.ColumnElement[bool],
    revision: int,
    *,
    is_current: bool,
    error: Failure | None = None,
    **values: Any,
) -> None:
    """Note that the chunk rows of a source are those of this revision.

    If the revision is current, only the engine is behind (`indexing`); otherwise the source is still `pending`.
    """
    status = "indexing" if is_current else "pending"
    values |= {"indexed_revision": revision, "status": status, **error_columns(error)}
    await connection.execute(sa.update(index_states).where(source).values(values))


async def set_indexed_revisions(connection: AsyncConnection, them: Sequence[tuple[int, int, int, bool]]) -> None:
    """Note for documents what `set_indexed_revision` does for one source: id, revision, chunks, is it current."""
    query = (
        sa.update(index_states)
        .where(index_states.c.document_id == sa.bindparam("which"))
        .values(indexed_revision=sa.bindparam("reached"), status=sa.bindparam("now"), total=sa.bindparam("chunks"))
        .values(done=0, **error_columns(None))
    )
    rows = [
        {"which": id, "reached": revision, "chunks": chunks, "now": "indexing" if is_current else "pending"}
        for id, revision, chunks, is_current in them
    ]
    if rows:
        await connection.execute(query, rows)


async def prune_changes(connection: AsyncConnection, table_id: int, revision: int) -> None:
    """Delete the noted changes of a table up to a revision: its chunk rows are of that revision."""
    await connection.execute(sa.delete(changes).where(changes.c.table_id == table_id, changes.c.revision <= revision))


async def note_changes(connection: AsyncConnection, table_id: int, revision: int, pointers: Sequence[str]) -> None:
    """Note where a table was changed, if it has chunks. No chunk has a pointer that is not indexable."""
    has_chunks = sa.select(index_states.c.id).where(
        index_states.c.table_id == table_id, index_states.c.indexed_revision > 0, index_states.c.total > 0
    )
    if (await connection.execute(has_chunks)).first() is not None:
        rows = [
            {"table_id": table_id, "revision": revision, "json_pointer": each}
            for each in dict.fromkeys(indexable(pointer) for pointer in pointers or [""])
        ]
        await connection.execute(sa.insert(changes), rows)


# ── the engine's side ──


async def mark_ready(connection: AsyncConnection, key: NamespaceKey) -> None:
    """Set sources to `ready` whose chunks are all in the engine."""
    is_documents = key.table_id is None
    source = index_states.c.document_id if is_documents else index_states.c.table_id
    column = chunks.c.document_id if is_documents else chunks.c.table_id
    waiting = sa.select(column).where(chunks.c.turbopuffer_namespace == key.namespace, sa.text("NOT chunks.indexed"))
    await connection.execute(
        sa.update(index_states)
        .where(_is_in(key), index_states.c.status == "indexing", source.not_in(waiting))
        .values(status="ready", done=index_states.c.total, attempts=0, retry_at=None, indexed_at=datetime.now(UTC))
    )


async def mark_incomplete(connection: AsyncConnection, chunk_ids: Sequence[int]) -> None:
    """Set the sources of these chunks from `ready` back to `indexing`: the engine lacks the chunks."""
    for start in range(0, len(chunk_ids), _IDS_PER_STATEMENT):
        some = chunks.c.id.in_(chunk_ids[start : start + _IDS_PER_STATEMENT])
        is_incomplete = sa.or_(
            index_states.c.table_id.in_(sa.select(chunks.c.table_id).where(some, chunks.c.table_id.is_not(None))),
            index_states.c.document_id.in_(
                sa.select(chunks.c.document_id).where(some, chunks.c.document_id.is_not(None))
            ),
        )
        await connection.execute(
            sa.update(index_states).where(is_incomplete, index_states.c.status == "ready").values(status="indexing")
        )


async def fail(
    connection: AsyncConnection, source: sa.ColumnElement[bool], error: Failure, *, even_pending: bool = False
) -> None:
    """Note an error of a source, which is tried again after a backoff.

    A source that has changed in the meantime (`pending`) is tried at once, unless `even_pending`.
    """
    here = (source,) if even_pending else (source, index_states.c.status != "pending")
    attempts = (await connection.execute(sa.select(index_states.c.attempts).where(*here))).scalar_one_or_none()
    if attempts is not None:
        delay = timedelta(seconds=SOURCE_BACKOFF.delay_s(attempts + 1))
        values = {"status": "error", "attempts": attempts + 1, **error_columns(error)}
        await connection.execute(
            sa.update(index_states).where(*here).values(retry_at=datetime.now(UTC) + delay, **values)
        )


async def fail_all(connection: AsyncConnection, key: NamespaceKey, error: Failure, delay_s: float) -> None:
    """Note an error of all sources of a namespace that are not ready."""
    query = sa.update(index_states).where(_is_in(key), index_states.c.status != "ready")
    retry_at = datetime.now(UTC) + timedelta(seconds=delay_s)
    await connection.execute(query.values(status="error", retry_at=retry_at, **error_columns(error)))
