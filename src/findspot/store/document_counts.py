"""How many documents of a project are in its index, and why others are not."""

from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.schema import index_states

_of_project = index_states.c.project_id == sa.bindparam("project_id")
_STATUSES_OF_DOCUMENTS = (
    sa.select(index_states.c.status, sa.func.count())
    .where(_of_project, index_states.c.document_id.is_not(None))
    .group_by(index_states.c.status)
)
_IS_OVER_LIMIT = sa.select(
    sa.exists().where(
        _of_project,
        index_states.c.document_id.is_not(None),
        index_states.c.status == "error",
        index_states.c.error_code == "SEARCH_CAPACITY_EXCEEDED",
    )
)


class DocumentCounts(NamedTuple):
    """How many documents of a project are searchable as they were saved, how many there are, and whether some are not
    because the project has as many chunks as it may have."""

    indexed: int
    total: int
    is_full: bool


async def indexed_documents(connection: AsyncConnection, project_id: int) -> DocumentCounts:
    """Return how many documents of a project are searchable as they were saved."""
    values = {"project_id": project_id}
    counts = {row[0]: int(row[1]) for row in await connection.execute(_STATUSES_OF_DOCUMENTS, values)}
    is_full = "error" in counts and bool((await connection.execute(_IS_OVER_LIMIT, values)).scalar_one())
    return DocumentCounts(counts.get("ready", 0), sum(counts.values()), is_full)
