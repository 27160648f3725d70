"""Rows of replaces: their previews, the changes that were made, and what an undo put back."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import Caller
from findspot.store import documents as document_rows
from findspot.store import driver, versions
from findspot.store.schema import documents, replace_documents, replaces
from findspot.store.schema import versions as version_table

KEPT_AFTER_EXPIRY = timedelta(hours=1)  # a replace that is being executed may need its rows a little longer

_columns = (
    replaces.c.id,
    replaces.c.project_id,
    replaces.c.document_id,
    replaces.c.tool_id,
    replaces.c.rule,
    replaces.c.state,
    replaces.c.documents,
    replaces.c.matches,
    replaces.c.actor,
    replaces.c.created_at,
    replaces.c.expires_at,
    replaces.c.executed_at,
    replaces.c.executed_by,
    replaces.c.undone_at,
    replaces.c.undone_by,
)
_OPEN = ("previewed", "executing")
_FOUND = ("replace_id", "document_id", "title", "revision", "first", "matches", "skipped", "found")
_part = replace_documents.c


@dataclass(frozen=True, slots=True)
class Replace:
    """A replace, from its preview on. `documents` and `matches` are the totals of the preview."""

    id: int
    project_id: int
    document_id: int | None
    tool_id: int | None
    rule: dict[str, Any]
    state: str
    documents: int
    matches: int
    actor: str
    created_at: datetime
    expires_at: datetime
    executed_at: datetime | None
    executed_by: str | None
    undone_at: datetime | None
    undone_by: str | None


@dataclass(frozen=True, slots=True)
class NewPreview:
    """The values of a new preview."""

    project_id: int
    document_id: int | None
    tool_id: int | None
    rule: dict[str, Any]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document of a preview: its matches, encoded, and the reason why some of its text is left out."""

    document_id: int
    title: str
    revision: int
    matches: int
    skipped: str | None
    found: bytes | None


@dataclass(frozen=True, slots=True)
class PreviewedDocument:
    """A document of a preview, as its row has it. `first` counts the matches in the documents before."""

    document_id: int
    title: str
    revision: int
    first: int
    matches: int
    skipped: str | None


@dataclass(frozen=True, slots=True)
class Planned:
    """The new content of a document, or the reason why it is left as it is."""

    document_id: int
    replaced: int
    skipped: str | None
    word_count: int | None
    content: bytes | None


@dataclass(frozen=True, slots=True)
class Change:
    """What a replace and its undo did to a document. A version is None if it did nothing."""

    document_id: int
    title: str
    replaced: int
    skipped: str | None
    version_id: int | None
    undo_skipped: str | None
    undo_version_id: int | None


@dataclass(frozen=True, slots=True)
class Past:
    """A replace that was executed: what it changed, and how many documents an undo would put back now."""

    replace: Replace
    replaced: int
    changed: int
    undoable: int


# ── previews ──


async def add(
    connection: AsyncConnection, new: NewPreview, found: Sequence[FoundDocument], caller: Caller, most: int
) -> int:
    """Add a preview and return its id. Of the previews of this caller, only the `most` newest are kept."""
    values = {
        "project_id": new.project_id,
        "document_id": new.document_id,
        "tool_id": new.tool_id,
        "rule": new.rule,
        "state": "previewed",
        "documents": sum(each.matches > 0 for each in found),
        "matches": sum(each.matches for each in found),
        "actor": caller.name,
        "key_id": caller.key_id,
        "expires_at": new.expires_at,
    }
    added = await connection.execute(sa.insert(replaces).returning(replaces.c.id), values)
    id, first, rows = int(added.scalar_one()), 0, []
    for each in found:
        rows.append((id, each.document_id, each.title, each.revision, first, each.matches, each.skipped, each.found))
        first += each.matches
    await driver.insert(connection, replace_documents, _FOUND, rows)
    await _drop_old(connection, new.project_id, caller, most)
    return id


async def _drop_old(connection: AsyncConnection, project_id: int, caller: Caller, most: int) -> None:
    mine = sa.and_(
        replaces.c.project_id == project_id,
        replaces.c.state == "previewed",
        replaces.c.actor == caller.name,
        replaces.c.key_id.is_not_distinct_from(caller.key_id),
    )
    kept = sa.select(replaces.c.id).where(mine).order_by(replaces.c.id.desc()).limit(most)
    await connection.execute(sa.delete(replaces).where(mine, replaces.c.id.not_in(kept)))
    expired = replaces.c.expires_at < datetime.now(UTC) - KEPT_AFTER_EXPIRY
    await connection.execute(
        sa.delete(replaces).where(replaces.c.project_id == project_id, replaces.c.state.in_(_OPEN), expired)
    )


async def get(connection: AsyncConnection, project_id: int, id: int) -> Replace | None:
    query = sa.select(*_columns).where(replaces.c.id == id, replaces.c.project_id == project_id)
    row = (await connection.execute(query)).one_or_none()
    return Replace(**row._mapping) if row else None


async def page(connection: AsyncConnection, id: int, start: int, end: int) -> list[PreviewedDocument]:
    """Return the documents of a preview that have one of its matches from `start` to `end`, in order."""
    query = _previewed(id).where(_part.matches > 0, _part.first < end, _part.first + _part.matches > start)
    return [PreviewedDocument(*row) for row in await connection.execute(query)]


async def skipped(connection: AsyncConnection, id: int) -> list[PreviewedDocument]:
    """Return the documents that a preview could not search, or only in part."""
    query = _previewed(id).where(_part.skipped.is_not(None))
    return [PreviewedDocument(*row) for row in await connection.execute(query)]


def _previewed(id: int) -> sa.Select[Any]:
    columns = (_part.document_id, _part.title, _part.revision, _part.first, _part.matches, _part.skipped)
    return sa.select(*columns).where(_part.replace_id == id).order_by(_part.document_id)


async def found(connection: AsyncConnection, id: int, documents: Sequence[int]) -> dict[int, bytes]:
    """Return the encoded matches of documents of a preview."""
    query = "SELECT document_id, found FROM replace_documents WHERE replace_id = ? AND document_id IN (??)"
    return {row[0]: bytes(row[1]) for row in await driver.run(connection, query, id, among=documents)}


async def match_counts(connection: AsyncConnection, id: int, documents: Sequence[int]) -> dict[int, int]:
    """Return how many matches these documents have; those without any are left out."""
    query = "SELECT document_id, matches FROM replace_documents WHERE replace_id = ? AND matches > 0 "
    query += "AND document_id IN (??)"
    return {row[0]: row[1] for row in await driver.run(connection, query, id, among=documents)}


async def matching_documents(connection: AsyncConnection, id: int) -> set[int]:
    """Return the documents that have matches in a preview."""
    query = sa.select(_part.document_id).where(_part.replace_id == id, _part.matches > 0)
    return set((await connection.execute(query)).scalars())


# ── executing ──


async def claim(connection: AsyncConnection, project_id: int, id: int) -> bool:
    """Reserve a preview for being executed. Return whether it was there, unused and not expired."""
    query = (
        sa.update(replaces)
        .where(replaces.c.id == id, replaces.c.project_id == project_id, replaces.c.state == "previewed")
        .where(replaces.c.expires_at > datetime.now(UTC))
    )
    return (await connection.execute(query.values(state="executing"))).rowcount == 1


async def release(connection: AsyncConnection, id: int) -> None:
    """Let a preview be executed again, unless it was executed after all."""
    query = sa.update(replaces).where(replaces.c.id == id, replaces.c.state == "executing")
    if not (await connection.execute(query.values(state="previewed"))).rowcount:
        return
    rows = sa.update(replace_documents).where(_part.replace_id == id, _part.matches > 0)
    await connection.execute(rows.values(content=None, word_count=None, replaced=0))


async def to_plan(
    connection: AsyncConnection, id: int, after: int, limit: int
) -> list[tuple[PreviewedDocument, int | None]]:
    """Return the next documents with matches, and the sizes of their contents: None if they changed or are gone."""
    size = sa.func.length(documents.c.content)
    query = _previewed(id).where(_part.matches > 0, _part.document_id > after).limit(limit).add_columns(size)
    same = sa.and_(documents.c.id == _part.document_id, documents.c.revision == _part.revision)
    found = await connection.execute(query.join_from(replace_documents, documents, same, isouter=True))
    return [(PreviewedDocument(*row[:-1]), row[-1]) for row in found]


async def plan(connection: AsyncConnection, id: int, planned: Collection[Planned]) -> None:
    """Store the new contents of documents beside the present ones."""
    query = (
        sa.update(replace_documents)
        .where(_part.replace_id == id, _part.document_id == sa.bindparam("document"))
        .values({name: sa.bindparam(f"new_{name}") for name in ("content", "word_count", "replaced", "skipped")})
    )
    values = [
        {
            "document": each.document_id,
            "new_content": each.content,
            "new_word_count": each.word_count,
            "new_replaced": each.replaced,
            "new_skipped": each.skipped,
        }
        for each in planned
    ]
    if values:
        await connection.execute(query, values)


async def apply(connection: AsyncConnection, id: int, caller: Caller) -> bool:
    """Give all documents their planned contents and keep the old ones as versions. Skip what changed meanwhile.

    Return False, and change nothing, if the preview is not being executed any more.
    """
    values = {"state": "done", "executed_at": datetime.now(UTC), "executed_by": caller.name}
    mine = sa.update(replaces).where(replaces.c.id == id, replaces.c.state == "executing")
    if not (await connection.execute(mine.values(values))).rowcount:
        return False
    planned = sa.and_(_part.replace_id == id, _part.content.is_not(None))
    await _lock(connection, planned)
    left = _values(skipped=_reason(), replaced=0, content=None)
    await connection.execute(left.where(planned, ~_is_at(_part.revision)))
    ids = sa.select(_part.document_id).where(planned)
    await versions.add_all(connection, ids, "replace", caller)
    new = sa.select(_part.document_id.label("id"), _part.content, _part.word_count).where(planned)
    await document_rows.put_contents(connection, new.subquery("new"))
    done = _values(version_id=_newest_version(), new_revision=_part.revision + 1, content=None, word_count=None)
    await connection.execute(done.where(planned))
    await connection.execute(_values(found=None).where(_part.replace_id == id))
    return True


async def undo(connection: AsyncConnection, project_id: int, id: int, caller: Caller) -> None:
    """Give back their old contents to all documents that did not change since, unless that was done before."""
    query = (
        sa.update(replaces)
        .where(replaces.c.id == id, replaces.c.project_id == project_id, replaces.c.state == "done")
        .values(state="undone", undone_at=datetime.now(UTC), undone_by=caller.name)
    )
    if not (await connection.execute(query)).rowcount:
        return
    changed = sa.and_(_part.replace_id == id, _part.version_id.is_not(None))
    await _lock(connection, changed)
    await connection.execute(_values(undo_skipped=_reason()).where(changed, ~_is_at(_part.new_revision)))
    same = sa.and_(changed, _part.undo_skipped.is_(None))
    await versions.add_all(connection, sa.select(_part.document_id).where(same), "restore", caller)
    old = version_table.c
    joined = sa.select(_part.document_id.label("id"), old.content, old.word_count).join_from(
        replace_documents, version_table, old.id == _part.version_id
    )
    await document_rows.put_contents(connection, joined.where(same).subquery("new"))
    await connection.execute(_values(undo_version_id=_newest_version()).where(same))


async def _lock(connection: AsyncConnection, where: sa.ColumnElement[bool]) -> None:
    """Lock the documents of a replace. Imports lock theirs in order of the path too, which avoids deadlocks."""
    query = sa.select(documents.c.id).join_from(documents, replace_documents, documents.c.id == _part.document_id)
    if connection.dialect.name == "postgresql":  # SQLite has one writer
        ordered = query.where(where).order_by(documents.c.path, documents.c.id)
        await connection.execute(ordered.with_for_update(of=documents))


def _values(**values: Any) -> sa.Update:
    return sa.update(replace_documents).values(values)


def _is_at(revision: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    return sa.exists().where(documents.c.id == _part.document_id, documents.c.revision == revision)


def _reason() -> sa.ColumnElement[str]:
    """Return why a document is skipped: it changed, or it was deleted."""
    return sa.case((sa.exists().where(documents.c.id == _part.document_id), "changed"), else_="deleted")


def _newest_version() -> sa.ScalarSelect[int]:
    of = version_table.c.document_id == _part.document_id
    return sa.select(sa.func.max(version_table.c.id)).where(of).scalar_subquery()


# ── the record ──


async def changes(connection: AsyncConnection, id: int) -> list[Change]:
    """Return what a replace and its undo did to each document that it was to change."""
    columns = (
        _part.document_id,
        _part.title,
        _part.replaced,
        _part.skipped,
        _part.version_id,
        _part.undo_skipped,
        _part.undo_version_id,
    )
    query = sa.select(*columns).where(_part.replace_id == id).order_by(_part.document_id)
    return [Change(*row) for row in await connection.execute(query)]


async def past(connection: AsyncConnection, project_id: int, before: int | None, limit: int) -> list[Past]:
    """Return the replaces of a project that were executed, newest first, from before an id on."""
    is_undoable = sa.and_(_part.version_id.is_not(None), documents.c.id.is_not(None), replaces.c.state == "done")
    counts = (
        sa.func.coalesce(sa.func.sum(_part.replaced), 0),
        sa.func.count(_part.version_id),
        sa.func.coalesce(sa.func.sum(sa.case((is_undoable, 1), else_=0)), 0),
    )
    same = sa.and_(documents.c.id == _part.document_id, documents.c.revision == _part.new_revision)
    shown = sa.select(replaces.c.id).where(replaces.c.project_id == project_id, replaces.c.state.not_in(_OPEN))
    if before is not None:
        shown = shown.where(replaces.c.id < before)
    chosen = shown.order_by(replaces.c.id.desc()).limit(limit).subquery()
    joined = (
        sa.select(replaces.c.id, *counts)
        .join(chosen, chosen.c.id == replaces.c.id)
        .outerjoin(replace_documents, _part.replace_id == replaces.c.id)
        .outerjoin(documents, same)
        .group_by(replaces.c.id)
    )
    counted = {row[0]: tuple(map(int, row[1:])) for row in await connection.execute(joined)}
    query = sa.select(*_columns).where(replaces.c.id.in_(list(counted))).order_by(replaces.c.id.desc())
    return [Past(Replace(**row._mapping), *counted[row[0]]) for row in await connection.execute(query)]
