"""How far the index has followed each source. Triggers say what has to be done; these say what was."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import SourceState
from findspot.store.schema import changes, chunks, documents, index_states, installation, tables

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(minutes=5)

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
    """Where something has to be done: projects with a table, or with None for their documents."""
    query = (
        sa.select(index_states.c.project_id, index_states.c.table_id)
        .where(_due(datetime.now(UTC)))
        .group_by(index_states.c.project_id, index_states.c.table_id)
    )
    return [(row[0], row[1]) for row in await connection.execute(query)]


async def next_retry(connection: AsyncConnection) -> datetime | None:
    query = sa.select(sa.func.min(index_states.c.retry_at)).where(index_states.c.status == "error")
    due: datetime | None = (await connection.execute(query)).scalar_one()
    return due


async def pending_documents(connection: AsyncConnection, project_id: int, limit: int) -> list[Any]:
    """Documents whose chunks are behind: id, revision, format and content."""
    query = (
        sa.select(documents.c.id, documents.c.revision, documents.c.format, documents.c.content)
        .join(index_states, index_states.c.document_id == documents.c.id)
        .where(
            index_states.c.project_id == project_id,
            sa.or_(
                index_states.c.status == "pending",
                sa.and_(index_states.c.status == "error", index_states.c.retry_at <= datetime.now(UTC)),
            ),
        )
        .order_by(documents.c.id)
        .limit(limit)
    )
    return list(await connection.execute(query))


async def of_table(connection: AsyncConnection, table_id: int) -> SourceState | None:
    row = (await connection.execute(sa.select(*_columns).where(index_states.c.table_id == table_id))).one_or_none()
    return SourceState(*row) if row else None


async def of_document(connection: AsyncConnection, document_id: int) -> SourceState | None:
    query = sa.select(*_columns).where(index_states.c.document_id == document_id)
    row = (await connection.execute(query)).one_or_none()
    return SourceState(*row) if row else None


async def request(connection: AsyncConnection, table_id: int) -> None:
    """Have a table looked at again, though it has not changed: its tools have."""
    query = sa.update(index_states).where(index_states.c.table_id == table_id)
    await connection.execute(query.values(status="pending", attempts=0, retry_at=None))


async def revisions(connection: AsyncConnection, document_ids: Sequence[int]) -> dict[int, int]:
    """The revisions that documents have now, held until this transaction ends."""
    query = sa.select(documents.c.id, documents.c.revision).where(documents.c.id.in_(document_ids))
    return {row[0]: row[1] for row in await connection.execute(query.order_by(documents.c.id).with_for_update())}


async def table_revision(connection: AsyncConnection, table_id: int) -> int | None:
    query = sa.select(tables.c.revision).where(tables.c.id == table_id, tables.c.revision > 0).with_for_update()
    return (await connection.execute(query)).scalar_one_or_none()


async def followed(
    connection: AsyncConnection, source: sa.ColumnElement[bool], revision: int, *, current: bool, **facts: Any
) -> None:
    """The chunks of a source are now those of this revision; if it is the current one, only the engine is behind."""
    values = {"indexed_revision": revision, "status": "indexing" if current else "pending", **facts}
    await connection.execute(sa.update(index_states).where(source).values(values))


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
        rows = [{"table_id": table_id, "revision": revision, "json_pointer": each} for each in dict.fromkeys(pointers)]
        await connection.execute(sa.insert(changes), rows)


async def finish(connection: AsyncConnection, project_id: int, table_id: int | None) -> list[SourceState]:
    """Sources whose chunks are all in the engine become ready."""
    mine = chunks.c.table_id == index_states.c.table_id
    if table_id is None:
        mine = chunks.c.document_id == index_states.c.document_id
    query = (
        sa.update(index_states)
        .where(
            index_states.c.project_id == project_id,
            index_states.c.table_id.is_(None) if table_id is None else index_states.c.table_id == table_id,
            index_states.c.status == "indexing",
            ~sa.exists().where(mine, ~chunks.c.indexed),
        )
        .values(status="ready", done=index_states.c.total, attempts=0, retry_at=None, last_error=None)
        .returning(*_columns)
    )
    return [SourceState(*row) for row in await connection.execute(query)]


async def fail(connection: AsyncConnection, source: sa.ColumnElement[bool], error: str) -> None:
    """Let a source rest after an error, each time for longer."""
    attempts = (await connection.execute(sa.select(index_states.c.attempts).where(source))).scalar_one_or_none()
    if attempts is not None:
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempts, 16))
        values = {"status": "error", "last_error": error, "attempts": attempts + 1}
        await connection.execute(
            sa.update(index_states).where(source).values(retry_at=datetime.now(UTC) + pause, **values)
        )


async def of_project(connection: AsyncConnection, project_id: int) -> list[SourceState]:
    query = sa.select(*_columns).where(index_states.c.project_id == project_id)
    return [SourceState(*row) for row in await connection.execute(query)]


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
