"""Rows of JSON tables: the text as it was sent, in pieces, and a revision that increases with every change."""

import secrets
import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import Table
from findspot.store import driver
from findspot.store.reader import Reader
from findspot.store.schema import pieces, tables

Text: TypeAlias = bytes | bytearray

PIECE = 256 * 1024
PIECES_AT_ONCE = 2  # in one transaction, so that it does not block other writers for long
_ABANDONED_S = 3600

_columns = (
    tables.c.id,
    tables.c.project_id,
    tables.c.name,
    tables.c.revision,
    tables.c.size,
    tables.c.path,
    tables.c.updated_at,
)
_visible = tables.c.revision > 0


def new_text_id() -> int:
    """Return an id for a new text. Ids increase with time, so `sweep` can recognise old leftovers."""
    return (time.time_ns() // 1000 << 12) | secrets.randbits(12)


async def create(
    connection: AsyncConnection,
    project_id: int,
    name: str,
    text_id: int,
    size: int,
    revision: int,
    path: str | None = None,
) -> Table:
    """Add a table. Its text is stored as the pieces with this `text_id`, before or after this call."""
    values: dict[str, Any] = {"project_id": project_id, "name": name, "revision": revision}
    values |= {"size": size, "text_id": text_id, "path": path}
    return Table(*(await connection.execute(sa.insert(tables).returning(*_columns), values)).one())


async def get(connection: Reader, table_id: int) -> Table | None:
    query = sa.select(*_columns).where(tables.c.id == table_id, _visible)
    row = (await connection.execute(query)).one_or_none()
    return Table(*row) if row else None


async def every(connection: AsyncConnection, project_id: int) -> list[Table]:
    query = sa.select(*_columns).where(tables.c.project_id == project_id, _visible).order_by(tables.c.id)
    return [Table(*row) for row in await connection.execute(query)]


async def by_paths(connection: AsyncConnection, project_id: int, paths: Sequence[str]) -> dict[str, Table]:
    """Return the tables that were imported from these files."""
    query = sa.select(*_columns).where(tables.c.project_id == project_id, tables.c.path.in_(paths), _visible)
    return {row.path: Table(*row) for row in await connection.execute(query)}


async def following(connection: AsyncConnection, project_id: int, after: int, limit: int) -> list[Table]:
    """Return the next tables of a project by id."""
    query = (
        sa.select(*_columns)
        .where(tables.c.project_id == project_id, tables.c.id > after, _visible)
        .order_by(tables.c.id)
        .limit(limit)
    )
    return [Table(*row) for row in await connection.execute(query)]


async def change(connection: AsyncConnection, table_id: int, **values: Any) -> None:
    """Change columns of a table that are not part of its value."""
    await connection.execute(sa.update(tables).where(tables.c.id == table_id).values(values))


async def load(connection: AsyncConnection, table_id: int) -> tuple[Table, list[bytes]] | None:
    """Return a table with the pieces of its JSON text, both of the same revision."""
    query = (
        sa.select(*_columns, pieces.c.piece)
        .join_from(tables, pieces, sa.and_(pieces.c.table_id == tables.c.id, pieces.c.text_id == tables.c.text_id))
        .where(tables.c.id == table_id, _visible)
        .order_by(pieces.c.number)
    )
    table, text = None, []
    async with connection.stream(query, execution_options={"yield_per": PIECES_AT_ONCE}) as rows:
        async for row in rows:
            table = table or Table(*row[:-1])
            text.append(row.piece)
    return (table, text) if table else None


_PIECES = """\
SELECT pieces.number, pieces.piece
FROM tables JOIN pieces ON pieces.table_id = tables.id AND pieces.text_id = tables.text_id
WHERE tables.id = ? AND tables.revision = ? AND pieces.number IN (??)"""


def read_pieces(connection: sa.Connection, table_id: int, revision: int, numbers: Sequence[int]) -> dict[int, bytes]:
    """Return pieces of the text of a table by number; none if the table has another revision."""
    found = driver.rows(connection, _PIECES, table_id, revision, among=numbers)
    return {row[0]: bytes(row[1]) for row in found}


def split(text: Text) -> Iterator[Sequence[memoryview]]:
    """Yield the pieces of a text, in groups that are written in one transaction each."""
    view, group = memoryview(text), PIECE * PIECES_AT_ONCE
    for start in range(0, len(view), group):
        part = view[start : start + group]
        yield [part[at : at + PIECE] for at in range(0, len(part), PIECE)]


async def write_pieces(
    connection: AsyncConnection, table_id: int, text_id: int, group: int, parts: Sequence[memoryview]
) -> None:
    """Add one group of pieces to a text."""
    rows = [
        {"table_id": table_id, "text_id": text_id, "number": group * PIECES_AT_ONCE + number, "piece": part}
        for number, part in enumerate(parts)
    ]
    await connection.execute(sa.insert(pieces), rows)


async def switch(
    connection: AsyncConnection, table_id: int, text_id: int, size: int, expected: int | None
) -> tuple[int, int] | None:
    """Make a written text the current one. Return the new revision and the previous text id.

    Return None if the table was deleted or is not at revision `expected`.
    """
    query = sa.select(tables.c.revision, tables.c.text_id).where(tables.c.id == table_id).with_for_update()
    row = (await connection.execute(query)).one_or_none()
    if row is None or (expected is not None and row.revision != expected):
        return None
    values = {"text_id": text_id, "size": size, "revision": row.revision + 1}
    await connection.execute(sa.update(tables).where(tables.c.id == table_id).values(values))
    return row.revision + 1, row.text_id


async def delete_pieces(connection: AsyncConnection, table_id: int, text_id: int, limit: int = PIECES_AT_ONCE) -> bool:
    """Delete up to `limit` pieces of a text that is not current. Return whether there may be more."""
    where = (pieces.c.table_id == table_id, pieces.c.text_id == text_id)
    some = sa.select(pieces.c.number).where(*where).order_by(pieces.c.number).limit(limit)
    query = sa.delete(pieces).where(*where, pieces.c.number.in_(some))
    return (await connection.execute(query)).rowcount == limit


async def sweep(connection: AsyncConnection) -> None:
    """Delete what a killed process left of an unfinished write, once it is an hour old."""
    old = (time.time_ns() // 1000 - _ABANDONED_S * 1_000_000) << 12
    is_current = sa.exists().where(tables.c.id == pieces.c.table_id, tables.c.text_id == pieces.c.text_id)
    await connection.execute(sa.delete(pieces).where(pieces.c.text_id < old, ~is_current))
    await connection.execute(sa.delete(tables).where(tables.c.text_id < old, ~_visible))


async def hide(connection: AsyncConnection, table_id: int) -> bool:
    """Hide a table. Return whether it was visible."""
    query = sa.update(tables).where(tables.c.id == table_id, _visible).values(revision=0, path=None)
    return (await connection.execute(query)).rowcount > 0


async def hide_all(connection: AsyncConnection, project_id: int) -> list[int]:
    """Hide the tables of a project. Return their ids, also of those that were hidden before."""
    mine = tables.c.project_id == project_id
    await connection.execute(sa.update(tables).where(mine).values(revision=0, path=None))
    return list((await connection.execute(sa.select(tables.c.id).where(mine))).scalars())


async def delete_any_pieces(connection: AsyncConnection, table_id: int, limit: int = PIECES_AT_ONCE) -> bool:
    """Delete up to `limit` pieces of a hidden table. Return whether there may be more."""
    some = sa.select(pieces.c.text_id, pieces.c.number).where(pieces.c.table_id == table_id).limit(limit)
    found = (await connection.execute(some)).all()
    if found:
        which = sa.tuple_(pieces.c.text_id, pieces.c.number).in_([tuple(row) for row in found])
        await connection.execute(sa.delete(pieces).where(pieces.c.table_id == table_id, which))
    return len(found) == limit


async def delete_hidden(connection: AsyncConnection, table_id: int) -> None:
    """Delete a hidden table and, by cascade, its remaining pieces, tools, chunks and index state."""
    await connection.execute(sa.delete(tables).where(tables.c.id == table_id, ~_visible))
