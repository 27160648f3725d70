"""Rows of API keys. Only the hash of a secret is stored. Deleting a key revokes it."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import Key, Role
from findspot.store.reader import Reader
from findspot.store.schema import keys

_columns = (keys.c.id, keys.c.project_id, keys.c.name, keys.c.role, keys.c.hint, keys.c.created_at)


def _key(row: sa.Row[Any, Any, Any, Any, Any, Any]) -> Key:
    return Key(row.id, row.project_id, row.name, Role(row.role), row.hint, row.created_at)


async def create(connection: AsyncConnection, project_id: int, name: str, role: Role, hashed: str, hint: str) -> Key:
    values = {"project_id": project_id, "name": name, "role": role.value, "hash": hashed, "hint": hint}
    return _key((await connection.execute(sa.insert(keys).returning(*_columns), values)).one())


async def by_hash(connection: Reader, hashed: str) -> Key | None:
    row = (await connection.execute(sa.select(*_columns).where(keys.c.hash == hashed))).one_or_none()
    return _key(row) if row else None


async def existing(connection: AsyncConnection, hashes: Collection[str]) -> set[str]:
    """Return those of the hashes that belong to a key."""
    return {row[0] for row in (await connection.execute(sa.select(keys.c.hash).where(keys.c.hash.in_(hashes)))).all()}


async def every(connection: AsyncConnection, project_id: int) -> list[Key]:
    query = sa.select(*_columns).where(keys.c.project_id == project_id).order_by(keys.c.id)
    return [_key(row) for row in await connection.execute(query)]


async def delete(connection: AsyncConnection, project_id: int, key_id: int) -> bool:
    query = sa.delete(keys).where(keys.c.id == key_id, keys.c.project_id == project_id)
    return (await connection.execute(query)).rowcount > 0
