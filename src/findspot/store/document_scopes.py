"""Documents that a tool may use: those below a path, of some types, or with some ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.schema import chunks, documents


@dataclass(frozen=True, slots=True)
class DocumentScope:
    """Which documents of a project; by default all."""

    path_prefix: str = ""
    types: tuple[str, ...] = ()
    document_ids: tuple[int, ...] = ()

    @property
    def is_everything(self) -> bool:
        return not (self.path_prefix or self.types or self.document_ids)


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document in a list. `length` is where its last passage ends, in characters."""

    id: int
    title: str
    path: str | None
    type: str
    length: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A document with its content."""

    id: int
    title: str
    path: str | None
    format: str
    content: bytes


def _within(project_id: int, scope: DocumentScope) -> list[sa.ColumnElement[bool]]:
    found = [documents.c.project_id == project_id]
    if scope.path_prefix:
        found.append(sa.func.substr(documents.c.path, 1, len(scope.path_prefix)) == scope.path_prefix)
    if scope.types:
        found.append(documents.c.type.in_(scope.types))
    if scope.document_ids:
        found.append(documents.c.id.in_(scope.document_ids))
    return found


async def ids(connection: AsyncConnection, project_id: int, scope: DocumentScope) -> frozenset[int]:
    return frozenset((await connection.execute(sa.select(documents.c.id).where(*_within(project_id, scope)))).scalars())


async def listed(
    connection: AsyncConnection, project_id: int, scopes: Sequence[DocumentScope], after: int, limit: int
) -> list[ListedDocument]:
    """Return the documents that are in all of the scopes, by id, after the id `after`."""
    length = sa.select(sa.func.max(chunks.c.char_end)).where(chunks.c.document_id == documents.c.id).scalar_subquery()
    query = (
        sa.select(
            documents.c.id,
            documents.c.title,
            documents.c.path,
            documents.c.type,
            sa.func.coalesce(length, 0),
            documents.c.updated_at,
        )
        .where(*(each for scope in scopes for each in _within(project_id, scope)), documents.c.id > after)
        .order_by(documents.c.id)
        .limit(limit)
    )
    return [ListedDocument(*row) for row in await connection.execute(query)]


async def find(
    connection: AsyncConnection, project_id: int, scope: DocumentScope, document_id: int | None, path: str | None
) -> int | None:
    """Return the id of the document with this id or path, if it is in the scope."""
    wanted = documents.c.id == document_id if document_id is not None else documents.c.path == path
    query = sa.select(documents.c.id).where(*_within(project_id, scope), wanted).order_by(documents.c.id).limit(1)
    return (await connection.execute(query)).scalar_one_or_none()


async def load(connection: AsyncConnection, document_ids: Sequence[int]) -> dict[int, LoadedDocument]:
    """Return documents with their contents, by id."""
    query = sa.select(documents.c.id, documents.c.title, documents.c.path, documents.c.format, documents.c.content)
    found = await connection.execute(query.where(documents.c.id.in_(document_ids)))
    return {row.id: LoadedDocument(*row) for row in found}
