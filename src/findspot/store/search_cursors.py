"""Rows of search cursors: encoded rankings that any process can continue. PostgreSQL only; SQLite has files instead."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.column_types import Id, Timestamp
from findspot.store.schema import metadata

# Not logged: a crash of the database empties the table, and searches begin again.
search_cursors = sa.Table(
    "search_cursors",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("project_id", Id, nullable=False),
    sa.Column("used_at", Timestamp, nullable=False),
    sa.Column("ranking", sa.LargeBinary, nullable=False),
    sa.Index("ix_search_cursors_project_id_used_at", "project_id", "used_at"),
)

_mine = search_cursors.c
_size = sa.func.length(_mine.ranking)


async def put(connection: AsyncConnection, project_id: int, name: str, ranking: bytes, now: datetime) -> None:
    """Store a ranking in place of the one before."""
    values = {"project_id": project_id, "used_at": now, "ranking": ranking}
    query = postgresql.insert(search_cursors).values(name=name, **values)
    await connection.execute(query.on_conflict_do_update(index_elements=[_mine.name], set_=values))


async def use(connection: AsyncConnection, project_id: int, name: str, now: datetime, oldest: datetime) -> bytes | None:
    """Return a ranking that was used since `oldest`, and note its use."""
    is_kept = sa.and_(_mine.name == name, _mine.project_id == project_id, _mine.used_at >= oldest)
    query = sa.update(search_cursors).where(is_kept).values(used_at=now).returning(_mine.ranking)
    found = (await connection.execute(query)).scalar_one_or_none()
    return None if found is None else bytes(found)


async def sweep(connection: AsyncConnection, oldest: datetime, max_project_bytes: int) -> None:
    """Delete rankings that were not used since `oldest` and, of each project, the least recent that are too much."""
    await connection.execute(sa.delete(search_cursors).where(_mine.used_at < oldest))
    total = sa.func.sum(_size).over(partition_by=_mine.project_id, order_by=[_mine.used_at.desc(), _mine.name])
    counted = sa.select(_mine.name, total.label("total")).subquery()
    beyond = sa.select(counted.c.name).where(counted.c.total > max_project_bytes)
    await connection.execute(sa.delete(search_cursors).where(_mine.name.in_(beyond)))
