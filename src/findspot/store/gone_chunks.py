"""Rows of chunks that were deleted, and that the engine has yet to delete. A trigger makes them."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.schema import gone_chunks

_AT_ONCE = 500

_NAMESPACES_TO_FORGET = sa.text("""\
WITH RECURSIVE found (namespace) AS (
  SELECT min(namespace) FROM gone_chunks
  UNION ALL
  SELECT (SELECT min(namespace) FROM gone_chunks WHERE namespace > found.namespace) FROM found
  WHERE found.namespace IS NOT NULL
)
SELECT namespace FROM found WHERE namespace IS NOT NULL""")  # DISTINCT would read all rows, which may be millions


async def namespaces_to_forget(connection: AsyncConnection) -> list[str]:
    """Return the namespaces in which the engine has chunks to delete."""
    return list((await connection.execute(_NAMESPACES_TO_FORGET)).scalars())


async def to_forget(connection: AsyncConnection, namespace: str, limit: int) -> list[int]:
    """Return up to `limit` chunks that the engine has to delete."""
    query = sa.select(gone_chunks.c.chunk_id).where(gone_chunks.c.namespace == namespace)
    return list((await connection.execute(query.order_by(gone_chunks.c.chunk_id).limit(limit))).scalars())


async def forgotten(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """Note that the engine has deleted chunks."""
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        await connection.execute(sa.delete(gone_chunks).where(gone_chunks.c.chunk_id.in_(some)))
