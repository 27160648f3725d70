"""Rows of API keys. Only the hash of a secret is stored. Deleting a key revokes it."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import Caller, Key, Role, Tool, documents_namespace
from findspot.store import driver
from findspot.store import tools as tool_rows
from findspot.store.index_states import OF_DOCUMENTS, UNFINISHED, DocumentsInIndex
from findspot.store.reader import Reader
from findspot.store.schema import index_states, keys, tools

_columns = (keys.c.id, keys.c.project_id, keys.c.name, keys.c.role, keys.c.hint, keys.c.created_at)


def _key(row: Sequence[Any]) -> Key:
    id, project_id, name, role, hint, created_at = row
    return Key(id, project_id, name, Role(role), hint, created_at)


async def create(connection: AsyncConnection, project_id: int, name: str, role: Role, hashed: str, hint: str) -> Key:
    values = {"project_id": project_id, "name": name, "role": role.value, "hash": hashed, "hint": hint}
    return _key((await connection.execute(sa.insert(keys).returning(*_columns), values)).one())


async def by_hash(connection: Reader, hashed: str) -> Key | None:
    row = (await connection.execute(sa.select(*_columns).where(keys.c.hash == hashed))).one_or_none()
    return _key(row) if row else None


# Built once: every call of a tool runs it. The first of the sources is one row, whether or not there is a key or tool.
_WITH_TOOL = sa.select(*_columns, *tool_rows.columns_to_call).select_from(
    sa.select(sa.literal(1))
    .subquery("one")
    .outerjoin(keys, keys.c.hash == sa.bindparam("hashed"))
    .outerjoin(tools, tools.c.id == sa.bindparam("tool_id"))
    .outerjoin(index_states, index_states.c.table_id == tools.c.table_id)
)


async def with_tool(connection: Reader, hashed: str, tool_id: int) -> tuple[Key | None, Tool | None]:
    """Return the key with a hash, and the tool with an id and the state of its index, in one statement."""
    row = (await connection.execute(_WITH_TOOL, {"hashed": hashed, "tool_id": tool_id})).one()
    key = _key(row[: len(_columns)]) if row[0] is not None else None
    return key, tool_rows.read_row_to_call(row[len(_columns) :])


_WITH_PROJECT = f"""\
WITH holder AS (SELECT id, project_id, name, role FROM keys WHERE hash = ?)
SELECT holder.role, holder.name, holder.project_id, holder.id, (SELECT id FROM projects WHERE id = ?), {OF_DOCUMENTS}
FROM (SELECT 1) AS one LEFT JOIN holder ON TRUE"""


def with_project(
    connection: sa.Connection, hashed: str, project_id: int
) -> tuple[Caller | None, DocumentsInIndex | None]:
    """Return the holder of a key and, if the project exists, the state of its documents' index, in one statement."""
    values = hashed, project_id, documents_namespace(project_id), project_id
    ((role, *holder, existing, phase, is_behind),) = driver.rows(connection, _WITH_PROJECT, *values, among=UNFINISHED)
    caller = Caller(Role(role), *holder) if role is not None else None
    return caller, DocumentsInIndex(phase, bool(is_behind)) if existing is not None else None


async def existing(connection: AsyncConnection, hashes: Collection[str]) -> set[str]:
    """Return those of the hashes that belong to a key."""
    return {row[0] for row in (await connection.execute(sa.select(keys.c.hash).where(keys.c.hash.in_(hashes)))).all()}


async def every(connection: AsyncConnection, project_id: int) -> list[Key]:
    query = sa.select(*_columns).where(keys.c.project_id == project_id).order_by(keys.c.id)
    return [_key(row) for row in await connection.execute(query)]


async def delete(connection: AsyncConnection, project_id: int, key_id: int) -> bool:
    query = sa.delete(keys).where(keys.c.id == key_id, keys.c.project_id == project_id)
    return (await connection.execute(query)).rowcount > 0
