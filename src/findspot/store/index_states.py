"""How far the index has followed each source. Triggers say what has to be done; these say what was."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import Backoff, NamespaceKey, SourceState, Standing, table_namespace
from findspot.store.schema import changes, chunks, documents, index_states, installation, tables

SOURCE_BACKOFF = Backoff(first_s=1.0, longest_s=60.0)

_columns: tuple[sa.ColumnElement[Any], ...] = (
    index_states.c.project_id,
    index_states.c.table_id,
    index_states.c.document_id,
    index_states.c.status,
    index_states.c.indexed_revision,
    index_states.c.done,
    index_states.c.total,
    index_states.c.nodes,
    index_states.c.skipped,
    index_states.c.last_error,
    index_states.c.attempts,
    index_states.c.retry_at,
    index_states.c.indexed_at,
    index_states.c.updated_at,
)


async def identity(connection: AsyncConnection) -> str:
    """What tells this store from every other."""
    return str((await connection.execute(sa.select(installation.c.identity))).scalar_one())


def _due(now: datetime) -> sa.ColumnElement[bool]:
    return sa.or_(
        index_states.c.status.in_(("pending", "indexing")),
        sa.and_(index_states.c.status == "error", index_states.c.retry_at <= now),
    )


async def work(connection: AsyncConnection) -> list[tuple[int, int | None]]:
    """Where something has to be done: projects with a table, or with None for their documents. A table that is being
    deleted asks for nothing more."""
    shown = sa.exists().where(tables.c.id == index_states.c.table_id, tables.c.revision > 0)
    query = (
        sa.select(index_states.c.project_id, index_states.c.table_id)
        .where(_due(datetime.now(UTC)), sa.or_(index_states.c.table_id.is_(None), shown))
        .group_by(index_states.c.project_id, index_states.c.table_id)
    )
    return [(row[0], row[1]) for row in await connection.execute(query)]


async def next_retry(connection: AsyncConnection) -> datetime | None:
    query = sa.select(sa.func.min(index_states.c.retry_at)).where(index_states.c.status == "error")
    due: datetime | None = (await connection.execute(query)).scalar_one()
    return due


async def pending_documents(connection: AsyncConnection, project_id: int, limit: int, most_bytes: int) -> list[Any]:
    """Documents whose chunks are behind: id, revision, format and content. At least one, if there are any."""
    mine = index_states.c.project_id == project_id, index_states.c.document_id.is_not(None)
    query = (
        sa.select(documents.c.id, sa.func.length(documents.c.content))
        .join(index_states, index_states.c.document_id == documents.c.id)
        .where(*mine, index_states.c.status.in_(("pending", "error")), _due(datetime.now(UTC)))
        .order_by(documents.c.id)
        .limit(limit)
    )
    ids: list[int] = []
    size = 0
    for row in await connection.execute(query):
        size += row[1]
        if ids and size > most_bytes:
            break
        ids.append(row[0])
    columns = (documents.c.id, documents.c.revision, documents.c.format, documents.c.content)
    found = sa.select(*columns).where(documents.c.id.in_(ids)).order_by(documents.c.id)
    return list(await connection.execute(found)) if ids else []


async def of_table(connection: AsyncConnection, table_id: int) -> SourceState | None:
    row = (await connection.execute(sa.select(*_columns).where(index_states.c.table_id == table_id))).one_or_none()
    return SourceState(*row) if row else None


_STANDING = sa.select(index_states.c.project_id, index_states.c.status, index_states.c.last_error).where(
    index_states.c.table_id == sa.bindparam("which")
)  # once: every search with a tool needs it


async def standing(connection: AsyncConnection, table_id: int) -> Standing:
    """How the index stands to a table, for those who search it."""
    row = (await connection.execute(_STANDING, {"which": table_id})).one_or_none()
    if row is None:
        return Standing("pending", 0, None)
    waiting = 0
    if row[1] == "indexing":
        waits = chunks.c.turbopuffer_namespace == table_namespace(row[0], table_id), sa.text("NOT chunks.indexed")
        waiting = int((await connection.execute(sa.select(sa.func.count()).where(*waits))).scalar_one())
    return Standing(row[1], waiting, row[2])


async def chunks_of_project(connection: AsyncConnection, project_id: int, *, but_table: int = 0) -> int:
    """How many chunks the sources of a project have, as far as they are followed; without those of one table."""
    others = sa.func.coalesce(index_states.c.table_id, 0) != but_table if but_table else sa.true()
    query = sa.select(sa.func.coalesce(sa.func.sum(index_states.c.total), 0))
    return int((await connection.execute(query.where(index_states.c.project_id == project_id, others))).scalar_one())


async def of_document(connection: AsyncConnection, document_id: int) -> SourceState | None:
    query = sa.select(*_columns).where(index_states.c.document_id == document_id)
    row = (await connection.execute(query)).one_or_none()
    return SourceState(*row) if row else None


async def request(connection: AsyncConnection, table_id: int) -> None:
    """Have a table looked at again, though it has not changed: its tools have."""
    query = sa.update(index_states).where(index_states.c.table_id == table_id)
    await connection.execute(query.values(status="pending", attempts=0, retry_at=None))


async def request_documents(connection: AsyncConnection, document_ids: Sequence[int]) -> None:
    """Have documents looked at again, though they have not changed: what is known of them is wrong."""
    query = sa.update(index_states).where(index_states.c.document_id.in_(document_ids))
    await connection.execute(query.values(status="pending", attempts=0, retry_at=None))


async def revisions(connection: AsyncConnection, document_ids: Sequence[int]) -> dict[int, int]:
    """The revisions that documents have now, held until this transaction ends: in the order in which an import holds
    them, so that neither waits for the other in a circle."""
    query = sa.select(documents.c.id, documents.c.revision).where(documents.c.id.in_(document_ids))
    found = await connection.execute(query.order_by(documents.c.path, documents.c.id).with_for_update())
    return {row[0]: row[1] for row in found}


async def table_revision(connection: AsyncConnection, table_id: int) -> int | None:
    """The revision that a table has now. It is held until this transaction ends, and so is the state of its index."""
    query = sa.select(tables.c.revision).where(tables.c.id == table_id, tables.c.revision > 0).with_for_update()
    revision: int | None = (await connection.execute(query)).scalar_one_or_none()
    await connection.execute(sa.select(index_states.c.id).where(is_table(table_id)).with_for_update())
    return revision


async def followed(
    connection: AsyncConnection, source: sa.ColumnElement[bool], revision: int, *, current: bool, **facts: Any
) -> None:
    """The chunks of a source are now those of this revision; if nothing changed since, only the engine is behind."""
    values = {"indexed_revision": revision, "status": "indexing" if current else "pending", **facts}
    await connection.execute(sa.update(index_states).where(source).values(values))


async def followed_documents(connection: AsyncConnection, them: Sequence[tuple[int, int, int, bool]]) -> None:
    """The same for many documents: id, revision, how many chunks, and whether nothing changed since."""
    query = (
        sa.update(index_states)
        .where(index_states.c.document_id == sa.bindparam("which"))
        .values(indexed_revision=sa.bindparam("reached"), status=sa.bindparam("now"), total=sa.bindparam("chunks"))
        .values(done=0, last_error=None)
    )
    rows = [
        {"which": id, "reached": revision, "chunks": chunks, "now": "indexing" if current else "pending"}
        for id, revision, chunks, current in them
    ]
    if rows:
        await connection.execute(query, rows)


def is_table(table_id: int) -> sa.ColumnElement[bool]:
    return index_states.c.table_id == table_id


def is_document(document_id: int) -> sa.ColumnElement[bool]:
    return index_states.c.document_id == document_id


async def prune_changes(connection: AsyncConnection, table_id: int, revision: int) -> None:
    await connection.execute(sa.delete(changes).where(changes.c.table_id == table_id, changes.c.revision <= revision))


async def note_changes(connection: AsyncConnection, table_id: int, revision: int, pointers: Sequence[str]) -> None:
    """Note where a table was changed, if an index follows it."""
    followed = sa.select(index_states.c.id).where(
        index_states.c.table_id == table_id, index_states.c.indexed_revision > 0, index_states.c.total > 0
    )
    if (await connection.execute(followed)).first() is not None:
        rows = [
            {"table_id": table_id, "revision": revision, "json_pointer": each}
            for each in dict.fromkeys(pointers or [""])
        ]
        await connection.execute(sa.insert(changes), rows)


async def finish(connection: AsyncConnection, place: NamespaceKey) -> None:
    """Sources whose chunks are all in the engine become ready."""
    source, column = _column(place), chunks.c.document_id if place.table_id is None else chunks.c.table_id
    waiting = sa.select(column).where(chunks.c.turbopuffer_namespace == place.namespace, sa.text("NOT chunks.indexed"))
    await connection.execute(
        sa.update(index_states)
        .where(_of(place), index_states.c.status == "indexing", source.not_in(waiting))
        .values(status="ready", done=index_states.c.total, attempts=0, retry_at=None, indexed_at=datetime.now(UTC))
    )


def _column(place: NamespaceKey) -> sa.Column[int]:
    return index_states.c.document_id if place.table_id is None else index_states.c.table_id


def _of(place: NamespaceKey) -> sa.ColumnElement[bool]:
    """The sources of a namespace."""
    if place.table_id is not None:
        return index_states.c.table_id == place.table_id
    return sa.and_(index_states.c.project_id == place.project_id, index_states.c.document_id.is_not(None))


async def fail(
    connection: AsyncConnection, source: sa.ColumnElement[bool], error: str, *, pending: bool = False
) -> None:
    """Let a source rest after an error, each time for longer. One that has changed meanwhile is looked at anew at once,
    unless it is just that which failed."""
    here = (source,) if pending else (source, index_states.c.status != "pending")
    attempts = (await connection.execute(sa.select(index_states.c.attempts).where(*here))).scalar_one_or_none()
    if attempts is not None:
        delay = timedelta(seconds=SOURCE_BACKOFF.delay_s(attempts + 1))
        values = {"status": "error", "last_error": error, "attempts": attempts + 1}
        await connection.execute(
            sa.update(index_states).where(*here).values(retry_at=datetime.now(UTC) + delay, **values)
        )


async def fail_all(connection: AsyncConnection, place: NamespaceKey, error: str, pause_s: float) -> None:
    """Let all sources of a namespace rest that are not ready."""
    query = sa.update(index_states).where(_of(place), index_states.c.status != "ready")
    retry_at = datetime.now(UTC) + timedelta(seconds=pause_s)
    await connection.execute(query.values(status="error", last_error=error, retry_at=retry_at))


async def of_project(connection: AsyncConnection, project_id: int) -> list[tuple[int | None, str, str | None]]:
    """The conditions in which sources of a project are: table (or None for documents), status and last error."""
    columns = (index_states.c.table_id, index_states.c.status, index_states.c.last_error)
    query = sa.select(*columns).where(index_states.c.project_id == project_id).distinct()
    return [(row[0], row[1], row[2]) for row in await connection.execute(query)]


async def resume(connection: AsyncConnection, chunk_ids: Sequence[int]) -> None:
    """The sources of these chunks, which the engine lost, are not ready."""
    for start in range(0, len(chunk_ids), 1000):
        some = chunks.c.id.in_(chunk_ids[start : start + 1000])
        lost = sa.or_(
            index_states.c.table_id.in_(sa.select(chunks.c.table_id).where(some, chunks.c.table_id.is_not(None))),
            index_states.c.document_id.in_(
                sa.select(chunks.c.document_id).where(some, chunks.c.document_id.is_not(None))
            ),
        )
        await connection.execute(
            sa.update(index_states).where(lost, index_states.c.status == "ready").values(status="indexing")
        )
