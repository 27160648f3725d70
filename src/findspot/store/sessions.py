"""Rows of sessions: browsers in which the owner is signed in. Of a session's id only the hash is stored."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.reader import Reader
from findspot.store.schema import sessions


async def add(connection: AsyncConnection, hashed: str, expires_at: datetime) -> None:
    await connection.execute(sa.insert(sessions).values(hash=hashed, expires_at=expires_at))


async def valid(connection: Reader, hashes: Collection[str], now: datetime) -> set[str]:
    """Return those of the hashes whose session has neither ended nor expired."""
    query = sa.select(sessions.c.hash).where(sessions.c.hash.in_(hashes), sessions.c.expires_at > now)
    return {row[0] for row in (await connection.execute(query)).all()}


async def delete(connection: AsyncConnection, hashed: str) -> None:
    await connection.execute(sa.delete(sessions).where(sessions.c.hash == hashed))


async def delete_all(connection: AsyncConnection) -> None:
    await connection.execute(sa.delete(sessions))


async def delete_expired(connection: AsyncConnection, now: datetime) -> None:
    await connection.execute(sa.delete(sessions).where(sessions.c.expires_at <= now))
