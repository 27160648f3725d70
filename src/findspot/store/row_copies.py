"""Copies rows from one database to another, and compares them."""

import contextlib
import hashlib
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store import snapshot
from findspot.store.moves import Key, Keys
from findspot.store.schema import (
    bindings,
    documents,
    embedding_cache,
    import_files,
    pieces,
    replace_documents,
    replaces,
    tables,
)

# Rows that are copied whenever the row they belong to is: a text becomes current by a change of its table's row.
PARTS = {tables: (pieces, pieces.c.table_id), replaces: (replace_documents, replace_documents.c.replace_id)}
_OWNERS = {part.name: owner.name for owner, (part, _) in PARTS.items()}
# Rows that nothing refers to are deleted and inserted, so that they can exchange unique values.
_REPLACED = (import_files, bindings)
_PATHS = (tables, documents)  # with a unique column that may be empty meanwhile
_NO_PATH = {"path": None}
_KEYS_AT_ONCE = 100


def moved() -> list[sa.Table]:
    """Return the tables that are moved, referenced tables first."""
    return snapshot.contained()


def logged() -> list[sa.Table]:
    """Return the tables whose changes have to be logged. Embeddings are only ever added."""
    return [table for table in moved() if table.name not in _OWNERS and table is not embedding_cache]


def key_of(table: sa.Table, row: Sequence[Any]) -> Key:
    """Return the primary key of a row."""
    return tuple(value for column, value in zip(table.columns, row, strict=True) if column.primary_key)


def after(table: sa.Table, key: Key) -> sa.ColumnElement[bool]:
    """Return the condition that a row comes after a key."""
    columns = list(table.primary_key)
    if len(columns) == 1:
        return sa.and_(columns[0] > key[0])
    types = [column.type for column in columns]
    return sa.tuple_(*columns) > sa.tuple_(*(sa.literal(value, kind) for value, kind in zip(key, types, strict=True)))


def among(columns: Iterable[sa.ColumnElement[Any]], keys: Sequence[Key]) -> sa.ColumnElement[bool]:
    found = list(columns)
    return found[0].in_([key[0] for key in keys]) if len(found) == 1 else sa.tuple_(*found).in_(keys)


async def apply(source: AsyncConnection, target: AsyncConnection, changed: Keys) -> None:
    """Give rows in the target the state that they have in the source, in one transaction of the target.

    What is gone is deleted first, so that it takes no unique value.
    """
    if target.dialect.name == "sqlite":
        await target.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
    order = [table for table in moved() if changed.get(table.name)]
    present = {table.name: await _present(source, table, changed[table.name]) for table in order}
    for table in reversed(order):
        gone = set(changed[table.name]) - (set() if table in _REPLACED else set(present[table.name]))
        for keys in _batches(sorted(gone)):
            await target.execute(sa.delete(table).where(among(table.primary_key, keys)))
    for table in order:
        for keys in _batches(present[table.name]):
            if table in _PATHS:
                await target.execute(sa.update(table).where(table.c.id.in_([key[0] for key in keys])).values(_NO_PATH))
    for table in order:
        for keys in _batches(present[table.name]):
            await _copy(source, target, table, among(table.primary_key, keys))
            if table in PARTS:
                part, owner = PARTS[table]
                owned = among([owner], keys)
                await target.execute(sa.delete(part).where(owned))
                await _copy(source, target, part, owned)


async def _copy(
    source: AsyncConnection, target: AsyncConnection, table: sa.Table, where: sa.ColumnElement[bool]
) -> None:
    async with contextlib.aclosing(snapshot.rows(source, str(table.name), where)) as batches:
        async for batch in batches:
            await snapshot.put(target, table, batch)


async def _present(connection: AsyncConnection, table: sa.Table, keys: Collection[Key]) -> list[Key]:
    """Return those of the keys that the database has, in order."""
    found: list[Key] = []
    for some in _batches(sorted(keys)):
        query = snapshot.selection(table).with_only_columns(*table.primary_key).where(among(table.primary_key, some))
        found += [tuple(row) for row in await connection.execute(query)]
    return sorted(found)


def _batches(keys: Sequence[Key]) -> Iterable[Sequence[Key]]:
    return (keys[start : start + _KEYS_AT_ONCE] for start in range(0, len(keys), _KEYS_AT_ONCE))


# ── comparing ──


@dataclass(frozen=True, slots=True)
class Digest:
    """The number of rows, and the sum of the hashes of each: it does not depend on their order."""

    rows: int = 0
    total: int = 0


async def digests(connection: AsyncConnection, without: Keys) -> AsyncIterator[tuple[str, Digest]]:
    """Yield the digest of every table that is moved, without the rows of these keys."""
    for table in moved():
        owner = _OWNERS.get(str(table.name), str(table.name))
        left_out = set(without.get(owner, ()))
        width = 1 if owner != table.name else len(table.primary_key.columns)
        rows = total = 0
        async with contextlib.aclosing(snapshot.rows(connection, str(table.name))) as batches:
            async for batch in batches:
                for row in batch:
                    if key_of(table, row)[:width] not in left_out:
                        rows += 1
                        total += hash_of(row)
        yield str(table.name), Digest(rows, total % (1 << 256))


async def counts(connection: AsyncConnection) -> dict[str, int]:
    """Return the number of rows of every table that is moved, without embeddings."""
    found = {}
    for table in moved():
        if table is not embedding_cache:
            query = snapshot.selection(table).with_only_columns(sa.func.count()).select_from(table)
            found[str(table.name)] = int((await connection.execute(query)).scalar_one())
    return found


def hash_of(row: Sequence[Any]) -> int:
    values = [bytes(value) if isinstance(value, memoryview) else value for value in row]
    return int.from_bytes(hashlib.sha256(msgspec.msgpack.encode(values)).digest())
