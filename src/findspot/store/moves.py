"""What a database knows of a move to another one: its state, the rows that changed since it began, and its progress.

Triggers log every change of a row to be moved, also one by plain SQL. For the last part of a move, they refuse changes.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.column_types import Id, Timestamp
from findspot.store.failures import FROZEN
from findspot.store.schema import installation, metadata

COPYING, FROZEN_STATE, MOVED = "copying", "frozen", "moved"
SOURCE, TARGET = "source", "target"

Key = tuple[Any, ...]
Keys = Mapping[str, Collection[Key]]  # by table

# At most one row per role: this database is moved to another one, or filled from one. `identity` is that of the other.
moves = sa.Table(
    "moves",
    metadata,
    sa.Column("role", sa.Text, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("peer", sa.Text, nullable=False),
    sa.Column("identity", sa.Text, nullable=False),
    sa.Column("started_at", Timestamp, nullable=False),
    sa.CheckConstraint("role IN ('source', 'target')", name="role"),
    sa.CheckConstraint("state IN ('copying', 'frozen', 'moved')", name="state"),
)

# In the target: how far each table is copied. `last_key` is the primary key of the last row, as JSON.
moved_tables = sa.Table(
    "moved_tables",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("last_key", sa.Text),
    sa.Column("done", sa.Boolean, nullable=False),
)

# In the source: rows that changed since the move began, written by triggers.
changed_rows = sa.Table(
    "changed_rows",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("row_key", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)

OWN = (moves, moved_tables, changed_rows)

_EVENTS = ("INSERT", "UPDATE", "DELETE")
_WAIT_FOR_WRITERS = "SET LOCAL lock_timeout = '2s'"
_BATCH = 500
_LOCK = 0x66696E6D


@dataclass(frozen=True, slots=True)
class Move:
    """A move that has begun. `peer` describes the other database, without user and password."""

    role: str
    state: str
    peer: str
    identity: str
    started_at: datetime


# ── the state ──


async def identity(connection: AsyncConnection) -> str:
    """Return the id of the database: it survives everything but a restore."""
    return str((await connection.execute(sa.select(installation.c.identity))).scalar_one())


async def get(connection: AsyncConnection, role: str) -> Move | None:
    row = (await connection.execute(sa.select(moves).where(moves.c.role == role))).first()
    return None if row is None else Move(*row)


async def put(connection: AsyncConnection, role: str, peer: str, identity: str) -> None:
    """Record a move that begins now, in place of another one."""
    await forget(connection, role)
    values = {"role": role, "state": COPYING, "peer": peer, "identity": identity, "started_at": datetime.now(UTC)}
    await connection.execute(sa.insert(moves), values)


async def set_state(connection: AsyncConnection, state: str) -> None:
    """Set the state of the move from this database."""
    await connection.execute(sa.update(moves).where(moves.c.role == SOURCE).values(state=state))


async def forget(connection: AsyncConnection, role: str) -> None:
    await connection.execute(sa.delete(moves).where(moves.c.role == role))


async def progress(connection: AsyncConnection) -> dict[str, tuple[Key | None, bool]]:
    """Return the last copied key of each table, and whether the table is complete."""
    rows = await connection.execute(sa.select(moved_tables))
    return {row.name: (None if row.last_key is None else tuple(json.loads(row.last_key)), row.done) for row in rows}


async def set_progress(connection: AsyncConnection, name: str, last: Key | None, *, done: bool) -> None:
    await connection.execute(sa.delete(moved_tables).where(moved_tables.c.name == name))
    values = {"name": name, "last_key": None if last is None else json.dumps(last), "done": done}
    await connection.execute(sa.insert(moved_tables), values)


async def forget_progress(connection: AsyncConnection) -> None:
    await connection.execute(sa.delete(moved_tables))


async def try_lock(session: AsyncConnection) -> bool:
    """Lock the right to fill this PostgreSQL database for as long as the session lives; False if another process has
    it."""
    return bool((await session.execute(sa.text(f"SELECT pg_try_advisory_lock({_LOCK})"))).scalar_one())


# ── the log ──


async def log_changes(connection: AsyncConnection, tables: Sequence[sa.Table]) -> None:
    """Log every change of a row of these tables from now on."""
    await _set_triggers(connection, tables, _logging)


async def refuse_changes(connection: AsyncConnection, tables: Sequence[sa.Table]) -> None:
    """Refuse every change of these tables from now on. Wait for transactions that have changed some."""
    if connection.dialect.name == "postgresql":
        await connection.exec_driver_sql(_WAIT_FOR_WRITERS)
        names = ", ".join(str(table.name) for table in tables)
        await connection.exec_driver_sql(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")
    await _set_triggers(connection, tables, _refusing)


async def stop_logging(connection: AsyncConnection, tables: Sequence[sa.Table]) -> None:
    """Remove the triggers and the log."""
    await _drop_triggers(connection, tables)
    await connection.execute(sa.delete(changed_rows))


async def changes(connection: AsyncConnection) -> tuple[list[int], dict[str, set[Key]]]:
    """Return the ids of all entries, and the keys of the rows that changed, by table."""
    keys: dict[str, set[Key]] = defaultdict(set)
    ids = []
    for row in await connection.execute(sa.select(changed_rows)):
        ids.append(int(row.id))
        keys[row.name].add(tuple(json.loads(row.row_key)))
    return ids, dict(keys)


async def forget_changes(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """Delete entries that the target has."""
    for start in range(0, len(ids), _BATCH):
        await connection.execute(sa.delete(changed_rows).where(changed_rows.c.id.in_(ids[start : start + _BATCH])))


async def _set_triggers(connection: AsyncConnection, tables: Sequence[sa.Table], body: Any) -> None:
    """Create or replace the triggers. PostgreSQL replaces them without a lock that readers would wait for."""
    if connection.dialect.name == "sqlite":
        await _drop_triggers(connection, tables)
    for table in tables:
        for statement in body(table, connection.dialect.name):
            await connection.exec_driver_sql(statement)


async def _drop_triggers(connection: AsyncConnection, tables: Sequence[sa.Table]) -> None:
    for table in tables:
        if connection.dialect.name == "sqlite":
            for event in _EVENTS:
                await connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS move_{table.name}_{event.lower()}")
        else:
            await connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS move_{table.name} ON {table.name}")
            await connection.exec_driver_sql(f"DROP FUNCTION IF EXISTS move_{table.name}()")


def _logging(table: sa.Table, dialect: str) -> Iterator[str]:
    function = "json_array" if dialect == "sqlite" else "json_build_array"

    def entry(row: str) -> str:
        key = ", ".join(f"{row}.{column.name}" for column in table.primary_key)
        text = f"{function}({key})" if dialect == "sqlite" else f"{function}({key})::text"
        return f"INSERT INTO changed_rows (name, row_key) VALUES ('{table.name}', {text});"

    if dialect == "sqlite":
        rows = {"INSERT": ("NEW",), "UPDATE": ("OLD", "NEW"), "DELETE": ("OLD",)}
        for event in _EVENTS:
            yield _sqlite_trigger(table, event, " ".join(map(entry, rows[event])))
    else:
        old = f"IF TG_OP <> 'INSERT' THEN {entry('OLD')} END IF;"
        new = f"IF TG_OP <> 'DELETE' THEN {entry('NEW')} END IF;"
        yield from _postgres_trigger(table, f"{old} {new} RETURN NULL;")


def _refusing(table: sa.Table, dialect: str) -> Iterator[str]:
    if dialect == "sqlite":
        for event in _EVENTS:
            yield _sqlite_trigger(table, event, f"SELECT RAISE(ABORT, '{FROZEN}');")
    else:
        yield from _postgres_trigger(table, f"RAISE EXCEPTION '{FROZEN}';")


def _sqlite_trigger(table: sa.Table, event: str, body: str) -> str:
    return f"CREATE TRIGGER move_{table.name}_{event.lower()} AFTER {event} ON {table.name} BEGIN {body} END"


def _postgres_trigger(table: sa.Table, body: str) -> Iterator[str]:
    name, events = f"move_{table.name}", " OR ".join(_EVENTS)
    yield f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$"
    yield f"CREATE OR REPLACE TRIGGER {name} AFTER {events} ON {table.name} FOR EACH ROW EXECUTE FUNCTION {name}()"
