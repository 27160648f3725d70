"""Rows of versions. They are only added, never changed."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import Caller, Document, Version
from findspot.store.reader import Reader
from findspot.store.schema import documents, versions

_columns = (
    versions.c.id,
    versions.c.document_id,
    versions.c.parent_id,
    versions.c.reason,
    versions.c.actor,
    versions.c.title,
    versions.c.format,
    versions.c.word_count,
    versions.c.created_at,
)


_newest = sa.select(sa.func.max(versions.c.id)).where(versions.c.document_id == sa.bindparam("of_document"))
_ADD = sa.insert(versions).values(parent_id=_newest.scalar_subquery())
_ADD_ONE = _ADD.returning(versions.c.id)


async def add(connection: AsyncConnection, document: Document, content: bytes, reason: str, caller: Caller) -> int:
    """Add the current content of a document as its newest version. Return the version's id."""
    row = _values(document, content, reason, caller)
    return int((await connection.execute(_ADD_ONE, row)).scalar_one())


async def add_many(
    connection: AsyncConnection, replaced: Sequence[tuple[Document, bytes]], reason: str, caller: Caller
) -> None:
    """Add the current contents of documents as their newest versions."""
    if replaced:
        await connection.execute(_ADD, [_values(*each, reason, caller) for each in replaced])


def _values(document: Document, content: bytes, reason: str, caller: Caller) -> dict[str, Any]:
    return {
        "of_document": document.id,
        "document_id": document.id,
        "reason": reason,
        "actor": caller.name,
        "key_id": caller.key_id,
        "title": document.title,
        "format": document.format,
        "word_count": document.word_count,
        "content": content,
    }


async def add_all(connection: AsyncConnection, ids: sa.Select[Any], reason: str, caller: Caller) -> None:
    """Add the current contents of the documents that `ids` selects as their newest versions, in one statement."""
    before = versions.alias("before")
    newest = sa.select(sa.func.max(before.c.id)).where(before.c.document_id == documents.c.id).scalar_subquery()
    values = {
        "document_id": documents.c.id,
        "parent_id": newest,
        "reason": sa.literal(reason),
        "actor": sa.literal(caller.name),
        "key_id": sa.literal(caller.key_id, versions.c.key_id.type),
        "title": documents.c.title,
        "format": documents.c.format,
        "word_count": documents.c.word_count,
        "created_at": sa.literal(datetime.now(UTC), versions.c.created_at.type),
        "content": documents.c.content,
    }
    current = sa.select(*values.values()).where(documents.c.id.in_(ids)).order_by(documents.c.id)
    await connection.execute(sa.insert(versions).from_select(list(values), current))


async def autosaved_at(connection: AsyncConnection, document_id: int, caller: Caller) -> datetime | None:
    """Return when the newest version of a document was added, if it is an autosave of this caller."""
    query = (
        sa.select(versions.c.reason, versions.c.key_id, versions.c.created_at)
        .where(versions.c.document_id == document_id)
        .order_by(versions.c.id.desc())
        .limit(1)
    )
    row = (await connection.execute(query)).one_or_none()
    if row is None or row.reason != "autosave" or row.key_id != caller.key_id:
        return None
    added: datetime = row.created_at
    return added


async def every(connection: AsyncConnection, document_id: int) -> list[Version]:
    """Return the versions of a document, newest first."""
    query = sa.select(*_columns).where(versions.c.document_id == document_id).order_by(versions.c.id.desc())
    return [Version(*row) for row in await connection.execute(query)]


async def size_of(connection: Reader, document_id: int, version_id: int) -> int:
    """Return the size of a version's content in bytes; 0 if there is no such version."""
    where = (versions.c.document_id == document_id, versions.c.id == version_id)
    row = (await connection.execute(sa.select(sa.func.length(versions.c.content)).where(*where))).one_or_none()
    return row[0] if row else 0


async def load(connection: AsyncConnection, document_id: int, version_id: int) -> tuple[Version, bytes] | None:
    query = sa.select(*_columns, versions.c.content).where(
        versions.c.document_id == document_id, versions.c.id == version_id
    )
    row = (await connection.execute(query)).one_or_none()
    return (Version(*row[:-1]), row.content) if row else None


async def sizes(connection: AsyncConnection, document_ids: Sequence[int]) -> list[tuple[int, int]]:
    """Return the ids and content sizes in bytes of all versions of some documents, by id."""
    query = sa.select(versions.c.id, sa.func.length(versions.c.content)).where(versions.c.document_id.in_(document_ids))
    return [(row[0], row[1]) for row in await connection.execute(query.order_by(versions.c.id))]


async def load_many(connection: AsyncConnection, ids: Sequence[int]) -> list[tuple[Version, bytes]]:
    query = sa.select(*_columns, versions.c.content).where(versions.c.id.in_(ids)).order_by(versions.c.id)
    return [(Version(*row[:-1]), row.content) for row in await connection.execute(query)]
