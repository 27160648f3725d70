"""Reads the rows of a store for a backup, and writes them into an empty database.

Rows that triggers and the index worker derive from others are left out, and so are the sessions of browsers and the
rows of running processes.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import Column, ColumnKind, TableShape
from findspot.store import moves
from findspot.store.column_types import Timestamp
from findspot.store.engine_namespaces import engine_namespaces
from findspot.store.process_schema import index_owner, leases, processes
from findspot.store.schema import (
    changes,
    chunks,
    document_lines,
    embedding_cache,
    gone_chunks,
    index_requests,
    index_states,
    installation,
    metadata,
    namespace_states,
    pieces,
    replace_documents,
    replaces,
    sessions,
    tables,
)
from findspot.store.search_cursors import search_cursors

_BATCH_BYTES = 1 << 20
_BATCH_ROWS = 512
# The progress of the index, and the identity of the store: a restored store has a new, empty index, and no browser is
# signed in to it.
_LEFT_OUT = (
    chunks,
    document_lines,
    gone_chunks,
    changes,
    index_states,
    namespace_states,
    index_requests,
    installation,
    index_owner,
    engine_namespaces,
    sessions,
    search_cursors,
    leases,
    processes,
    *moves.OWN,
)
_EXECUTED = ("done", "undone")
_COUNTER = "id"  # the column whose values are never reused
_WAIT_FOR_LOCKS = sa.text("SET LOCAL lock_timeout = '10s'")

_KINDS: tuple[tuple[type[sa.types.TypeEngine[Any]], ColumnKind], ...] = (
    (sa.Boolean, ColumnKind.BOOLEAN),
    (sa.Integer, ColumnKind.INTEGER),
    (sa.Float, ColumnKind.REAL),
    (sa.JSON, ColumnKind.JSON),
    (sa.LargeBinary, ColumnKind.BYTES),
    (sa.DateTime, ColumnKind.TIMESTAMP),
    (sa.String, ColumnKind.TEXT),
)
_TYPES: dict[ColumnKind, sa.types.TypeEngine[Any]] = {
    ColumnKind.BOOLEAN: sa.Boolean(),
    ColumnKind.INTEGER: sa.BigInteger(),
    ColumnKind.REAL: sa.Double(),
    ColumnKind.JSON: sa.JSON(),
    ColumnKind.BYTES: sa.LargeBinary(),
    ColumnKind.TIMESTAMP: Timestamp(),
    ColumnKind.TEXT: sa.Text(),
}
_LONG = (ColumnKind.BYTES, ColumnKind.TEXT, ColumnKind.JSON)


# ── reading ──


def contained(*, embeddings: bool = True) -> list[sa.Table]:
    """Return the tables of a backup, referenced tables first. Embeddings can be left out and computed again."""
    return [
        table
        for table in metadata.sorted_tables
        if table not in _LEFT_OUT and (embeddings or table is not embedding_cache)
    ]


def columns(table: sa.Table) -> tuple[Column, ...]:
    return tuple(Column(str(column.name), _kind(column)) for column in table.columns)


async def shapes(connection: AsyncConnection, *, embeddings: bool = True) -> tuple[TableShape, ...]:
    """Return the tables to read, with the last ids they assigned. Ids of deleted rows are never reused."""
    found = contained(embeddings=embeddings)
    last = await _last_ids(connection, [table.name for table in found if table.autoincrement_column is not None])
    return tuple(TableShape(str(table.name), columns(table), last.get(table.name)) for table in found)


async def rows(
    connection: AsyncConnection, name: str, *where: sa.ColumnElement[bool]
) -> AsyncGenerator[list[tuple[Any, ...]], None]:
    """Yield the rows of a table by primary key, about a megabyte at a time."""
    table = metadata.tables[name]
    query = selection(table).where(*where).order_by(*table.primary_key)
    batch = await _batch(connection, table)
    found = await connection.stream(query, execution_options={"yield_per": batch})
    try:
        async for part in found.partitions():
            yield [tuple(row) for row in part]
    finally:  # `async with` would not close it if the consumer stops early
        await found.close()


def selection(table: sa.Table) -> sa.Select[Any]:
    """Return a query of the rows of a table, without leftovers and without conversion."""
    return sa.select(*map(_unconverted, table.columns)).where(*_complete(table))


def _kind(column: sa.Column[Any]) -> ColumnKind:
    stored_type = column.type.impl_instance if isinstance(column.type, sa.types.TypeDecorator) else column.type
    return next(kind for base, kind in _KINDS if isinstance(stored_type, base))


def _unconverted(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """Return a column without conversion: text that is stored as bytes stays bytes, and JSON stays text."""
    kind = _kind(column)
    if kind is ColumnKind.JSON:
        return sa.cast(column, sa.Text).label(column.name)
    return sa.type_coerce(column, _TYPES[kind]).label(column.name)


def _complete(table: sa.Table) -> Iterable[sa.ColumnElement[bool]]:
    """Exclude leftovers: tables whose first text is still being written, texts that are not current, and previews of
    replaces."""
    if table is tables:
        yield tables.c.revision > 0
    if table is pieces:
        yield sa.exists().where(
            tables.c.id == pieces.c.table_id, tables.c.text_id == pieces.c.text_id, tables.c.revision > 0
        )
    if table is replaces:
        yield replaces.c.state.in_(_EXECUTED)
    if table is replace_documents:
        yield sa.exists().where(replaces.c.id == replace_documents.c.replace_id, replaces.c.state.in_(_EXECUTED))


async def _batch(connection: AsyncConnection, table: sa.Table) -> int:
    """Return how many rows of a table to read at once, so that even its longest rows stay below the batch size."""
    long = [sa.func.length(_unconverted(column)) for column in table.columns if _kind(column) in _LONG]
    longest = sum((sa.func.coalesce(length, 0) for length in long), sa.literal(1))
    found = (await connection.execute(sa.select(sa.func.max(longest)))).scalar_one()
    return max(1, min(_BATCH_ROWS, _BATCH_BYTES // (found or 1)))


async def _last_ids(connection: AsyncConnection, names: Sequence[str]) -> dict[str, int]:
    if connection.dialect.name == "sqlite":
        known: dict[str, int] = {
            row.name: row.seq for row in await connection.execute(sa.text("SELECT name, seq FROM sqlite_sequence"))
        }
        return {name: known.get(name, 0) for name in names}
    query = sa.text("SELECT pg_sequence_last_value(pg_get_serial_sequence(:name, :counter)::regclass)")
    found = {}
    for name in names:
        found[name] = (await connection.execute(query, {"name": name, "counter": _COUNTER})).scalar_one() or 0
    return found


# ── writing ──


async def is_empty(connection: AsyncConnection) -> bool:
    """Return whether all tables are empty. On PostgreSQL, lock them so that they stay empty in this transaction."""
    present = set(await connection.run_sync(lambda sync: sa.inspect(sync).get_table_names()))
    not_data = (installation, index_owner, sessions, leases, processes, *moves.OWN)
    ours = [table for table in metadata.sorted_tables if table.name in present and table not in not_data]
    if connection.dialect.name == "postgresql" and ours:
        await connection.execute(_WAIT_FOR_LOCKS)
        names = ", ".join(table.name for table in ours)
        await connection.execute(sa.text(f"LOCK TABLE {names} IN EXCLUSIVE MODE"))
    for table in ours:
        if (await connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1))).first():
            return False
    return True


async def load(connection: AsyncConnection, shape: TableShape, some: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows with their ids."""
    names = [column.name for column in shape.columns]
    query = _insert(shape, connection.dialect.name)
    await connection.execute(query, [dict(zip(names, row, strict=True)) for row in some])


async def put(connection: AsyncConnection, table: sa.Table, some: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows with their ids, or replace those that exist."""
    shape, dialect = TableShape(str(table.name), columns(table), None), connection.dialect.name
    names = [column.name for column in shape.columns]
    query = (sqlite if dialect == "sqlite" else postgresql).insert(table).values(_bound(shape, dialect))
    others = {name: query.excluded[name] for name in names if name not in table.primary_key.columns}
    query = query.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=others)
    await connection.execute(query, [dict(zip(names, row, strict=True)) for row in some])


def _insert(shape: TableShape, dialect: str) -> sa.Insert:
    table = sa.table(shape.name, *(sa.column(column.name, _TYPES[column.kind]) for column in shape.columns))
    return sa.insert(table).values(_bound(shape, dialect))


def _bound(shape: TableShape, dialect: str) -> dict[str, sa.ColumnElement[Any]]:
    """Return a parameter per column, which takes a value as `rows` yields it."""
    values: dict[str, sa.ColumnElement[Any]] = {}
    for column in shape.columns:
        if column.kind is not ColumnKind.JSON:
            values[column.name] = sa.bindparam(column.name, type_=_TYPES[column.kind])
        elif dialect == "sqlite":
            values[column.name] = sa.bindparam(column.name, type_=sa.Text())
        else:
            values[column.name] = sa.cast(sa.bindparam(column.name, type_=sa.Text()), sa.JSON())
    return values


async def set_last_ids(connection: AsyncConnection, shapes: Iterable[TableShape]) -> None:
    """Let new ids continue after the last assigned ids and after all existing rows."""
    for shape in shapes:
        if shape.last_id is None:
            continue
        highest = sa.select(sa.func.max(sa.column(_COUNTER, sa.BigInteger))).select_from(sa.table(shape.name))
        last = max(shape.last_id, (await connection.execute(highest)).scalar_one() or 0)
        if last and connection.dialect.name == "sqlite":
            named = {"name": shape.name, "last": last}
            await connection.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = :name"), named)
            await connection.execute(sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), named)
        elif last:
            query = sa.text("SELECT setval(pg_get_serial_sequence(:name, :counter), :last)")
            await connection.execute(query, {"name": shape.name, "counter": _COUNTER, "last": last})


async def defer_references(connection: AsyncConnection) -> None:
    """Allow references to rows that are inserted later, until `check_references`."""
    if connection.dialect.name == "sqlite":
        await connection.execute(sa.text("PRAGMA defer_foreign_keys = ON"))  # until the transaction ends
        return
    await _alter_self_references(connection, "DEFERRABLE")
    await connection.execute(sa.text("SET CONSTRAINTS ALL DEFERRED"))


async def check_references(connection: AsyncConnection) -> None:
    """Check that all referenced rows exist. SQLite does so at the end of the transaction."""
    if connection.dialect.name == "postgresql":
        await connection.execute(sa.text("SET CONSTRAINTS ALL IMMEDIATE"))
        await _alter_self_references(connection, "NOT DEFERRABLE")


async def _alter_self_references(connection: AsyncConnection, how: str) -> None:
    """Alter references between rows of one table. The order of the tables takes care of all others."""

    def found(sync: sa.Connection) -> list[tuple[str, str]]:
        inspector = sa.inspect(sync)
        keys = [(name, key) for name in inspector.get_table_names() for key in inspector.get_foreign_keys(name)]
        return [(name, str(key["name"])) for name, key in keys if key["referred_table"] == name]

    for table, constraint in await connection.run_sync(found):
        await connection.execute(sa.text(f'ALTER TABLE "{table}" ALTER CONSTRAINT "{constraint}" {how}'))
