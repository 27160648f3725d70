"""Rows of documents: the content as it was sent, and a revision that increases with every change."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import Document
from findspot.store import driver
from findspot.store.reader import Reader
from findspot.store.schema import documents

_AT_ONCE = 5_000  # ids in one part of an answer: the event loop is free in between

_columns = (
    documents.c.id,
    documents.c.project_id,
    documents.c.title,
    documents.c.type,
    documents.c.format,
    documents.c.revision,
    documents.c.word_count,
    documents.c.path,
    documents.c.updated_at,
)


@dataclass(frozen=True, slots=True)
class NewDocument:
    """The values of a new document. `changed_at` is the date of the file that it comes from, if it has one."""

    title: str
    type: str
    format: str
    content: bytes
    word_count: int
    path: str | None = None
    changed_at: datetime | None = None


async def create(connection: AsyncConnection, project_id: int, new: NewDocument) -> Document:
    query = sa.insert(documents).returning(*_columns)
    return Document(*(await connection.execute(query, _values(project_id, new))).one())


async def create_many(connection: AsyncConnection, project_id: int, new: Sequence[NewDocument]) -> dict[str, int]:
    """Add documents that come from files. Return their ids by path."""
    if not new:
        return {}
    query = sa.insert(documents).returning(documents.c.path, documents.c.id)
    added = await connection.execute(query, [_values(project_id, each) for each in new])
    return {row.path: row.id for row in added}


def _values(project_id: int, new: NewDocument) -> dict[str, Any]:
    return {
        "project_id": project_id,
        "title": new.title,
        "type": new.type,
        "format": new.format,
        "revision": 1,
        "word_count": new.word_count,
        "path": new.path,
        "updated_at": new.changed_at or datetime.now(UTC),
        "content": new.content,
    }


async def get(connection: Reader, document_id: int) -> Document | None:
    row = (await connection.execute(sa.select(*_columns).where(documents.c.id == document_id))).one_or_none()
    return Document(*row) if row else None


async def load(connection: AsyncConnection, document_id: int, *, lock: bool = False) -> tuple[Document, bytes] | None:
    """Return a document with its content. Lock it if it is going to be changed."""
    query = sa.select(*_columns, documents.c.content).where(documents.c.id == document_id)
    row = (await connection.execute(query.with_for_update() if lock else query)).one_or_none()
    return (Document(*row[:-1]), row.content) if row else None


async def every(connection: AsyncConnection, project_id: int) -> list[Document]:
    query = sa.select(*_columns).where(documents.c.project_id == project_id).order_by(documents.c.id)
    return [Document(*row) for row in await connection.execute(query)]


_CHANGE = sa.update(documents).where(documents.c.id == sa.bindparam("which"))


async def change(connection: AsyncConnection, document: Document, **values: Any) -> Document:
    """Change a locked document and increase its revision by one."""
    query = (
        sa.update(documents)
        .where(documents.c.id == document.id)
        .values(revision=document.revision + 1, **values)
        .returning(*_columns)
    )
    return Document(*(await connection.execute(query)).one())


async def change_many(connection: AsyncConnection, changes: Sequence[tuple[Document, Mapping[str, Any]]]) -> None:
    """Change locked documents, each by its own values, and increase their revisions by one."""
    by_columns: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for document, values in changes:
        row = {"which": document.id, "revision": document.revision + 1, **values}
        by_columns.setdefault(tuple(row), []).append(row)
    for rows in by_columns.values():
        await connection.execute(_CHANGE, rows)


async def put_contents(connection: AsyncConnection, new: sa.Subquery) -> None:
    """Give many locked documents new contents and increase their revisions by one, in one statement.

    `new` selects the columns `id`, `content` and `word_count`.
    """
    query = sa.update(documents).where(documents.c.id == new.c.id)
    values = {"content": new.c.content, "word_count": new.c.word_count, "revision": documents.c.revision + 1}
    await connection.execute(query.values(values | {"updated_at": datetime.now(UTC)}))


async def date(connection: AsyncConnection, document_id: int, changed_at: datetime) -> None:
    """Give a document the date of its file. Its content and revision stay the same."""
    query = sa.update(documents).where(documents.c.id == document_id)
    await connection.execute(query.values(updated_at=changed_at))


async def by_paths(
    connection: AsyncConnection, project_id: int, paths: Sequence[str], *, lock: bool = False
) -> dict[str, tuple[Document, bytes]]:
    """Return the documents that were imported from these files, with their contents. Lock them to change them."""
    query = sa.select(*_columns, documents.c.content).where(
        documents.c.project_id == project_id, documents.c.path.in_(paths)
    )
    if lock:  # the same order in every import avoids deadlocks; the path has an index
        query = query.order_by(documents.c.path).with_for_update()
    return {row.path: (Document(*row[:-1]), row.content) for row in await connection.execute(query)}


async def size_of(connection: Reader, document_id: int) -> int:
    """Return the size of a document's content in bytes; 0 if there is no such document."""
    query = sa.select(sa.func.length(documents.c.content)).where(documents.c.id == document_id)
    row = (await connection.execute(query)).one_or_none()
    return row[0] if row else 0


async def content_sizes(connection: AsyncConnection, ids: Sequence[int]) -> dict[int, int]:
    """Return the sizes of documents' contents in bytes by id. Deleted ones are left out."""
    found = await driver.run(connection, "SELECT id, length(content) FROM documents WHERE id IN (??)", among=ids)
    return {row[0]: row[1] for row in found}


async def sizes(connection: AsyncConnection, project_id: int, after: int, limit: int) -> list[tuple[int, int]]:
    """Return the ids and content sizes in bytes of the next documents of a project, by id."""
    query = (
        sa.select(documents.c.id, sa.func.length(documents.c.content))
        .where(documents.c.project_id == project_id, documents.c.id > after)
        .order_by(documents.c.id)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in await connection.execute(query)]


async def load_many(
    connection: AsyncConnection, ids: Sequence[int], *, lock: bool = False
) -> list[tuple[Document, bytes]]:
    """Return documents with their contents, by id. Lock them if they are going to be changed."""
    query = sa.select(*_columns, documents.c.content).where(documents.c.id.in_(ids)).order_by(documents.c.id)
    found = await connection.execute(query.with_for_update() if lock else query)
    return [(Document(*row[:-1]), row.content) for row in found]


async def delete_some(connection: AsyncConnection, project_id: int, limit: int) -> bool:
    """Delete up to `limit` documents of a project with their versions. Return whether there may be more."""
    some = sa.select(documents.c.id).where(documents.c.project_id == project_id).limit(limit)
    return (await connection.execute(sa.delete(documents).where(documents.c.id.in_(some)))).rowcount == limit


async def delete(connection: AsyncConnection, ids: Sequence[int]) -> int:
    """Delete documents and, by cascade, their versions, chunks and index states. Return how many there were."""
    return (await connection.execute(sa.delete(documents).where(documents.c.id.in_(ids)))).rowcount


async def admitted(
    connection: AsyncConnection,
    project_id: int,
    *,
    types: Collection[str] | None = None,
    path_prefix: str | None = None,
    updated_after: datetime | None = None,
    updated_before: datetime | None = None,
    newest_first: bool = False,
) -> list[int]:
    """Return the ids of the documents of a project that pass these filters, in no order unless asked for.

    Two indexes together have every column that is compared here, so that no document is read.
    """
    query = sa.select(documents.c.id).where(documents.c.project_id == project_id)
    if types is not None:
        query = query.where(documents.c.type.in_(types))
    if path_prefix is not None:  # a query of its own, which uses the index of paths; LIKE would ignore case in SQLite
        start = sa.func.substr(documents.c.path, 1, len(path_prefix))
        below = sa.select(documents.c.id).where(documents.c.project_id == project_id, start == path_prefix)
        query = query.where(documents.c.id.in_(below.correlate(None)))
    if updated_after is not None:
        query = query.where(documents.c.updated_at >= updated_after)
    if updated_before is not None:
        query = query.where(documents.c.updated_at < updated_before)
    if newest_first:
        query = query.order_by(documents.c.updated_at.desc(), documents.c.id.desc())
    return [row[0] async for part in _parts(connection, query) for row in part]


async def count(connection: AsyncConnection, project_id: int) -> int:
    """Return how many documents a project has."""
    query = sa.select(sa.func.count()).select_from(documents).where(documents.c.project_id == project_id)
    return (await connection.execute(query)).scalar_one()


async def labels(connection: AsyncConnection, ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return the titles and types of documents by id. Deleted ones are left out."""
    found = await driver.run(connection, "SELECT id, title, type FROM documents WHERE id IN (??)", among=ids)
    return {row[0]: (row[1], row[2]) for row in found}


async def _parts(connection: AsyncConnection, query: sa.Select[Any]) -> AsyncIterator[Sequence[Any]]:
    """Yield the rows of a query in parts, so that other tasks run in between."""
    async with connection.stream(query, execution_options={"yield_per": _AT_ONCE}) as rows:
        async for part in rows.partitions():
            yield part
