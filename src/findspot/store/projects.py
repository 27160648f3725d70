"""Rows of projects."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import Project
from findspot.store.reader import Reader
from findspot.store.schema import projects

_columns = (projects.c.id, projects.c.name, projects.c.created_at)


async def create(connection: AsyncConnection, name: str) -> Project:
    return Project(*(await connection.execute(sa.insert(projects).returning(*_columns), {"name": name})).one())


async def get(connection: Reader, project_id: int) -> Project | None:
    row = (await connection.execute(sa.select(*_columns).where(projects.c.id == project_id))).one_or_none()
    return Project(*row) if row else None


async def every(connection: AsyncConnection, only: int | None = None) -> list[Project]:
    """Return all projects by id, or only the one with the id `only`."""
    query = sa.select(*_columns).order_by(projects.c.id)
    if only is not None:
        query = query.where(projects.c.id == only)
    return [Project(*row) for row in await connection.execute(query)]


async def delete(connection: AsyncConnection, project_id: int) -> bool:
    """Delete a project and, by cascade, everything in it."""
    return (await connection.execute(sa.delete(projects).where(projects.c.id == project_id))).rowcount > 0
