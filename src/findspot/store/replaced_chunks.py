"""Chunks whose text was replaced. They stay in the store and the engine, and answer, until their successors do.

Only a chunk that the engine holds, and that has a successor, is kept. A text that was removed is deleted at once.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.models import NamespaceKey
from findspot.store import driver
from findspot.store.chunks import Node
from findspot.store.schema import chunks, index_states

_NODES_AT_ONCE = 250
_IS_REPLACED = sa.text("chunks.last_revision IS NOT NULL")  # as in the partial index
_IS_WAITING = sa.text("NOT chunks.indexed")

# Chunks that wait are noted as well, although they are deleted next. This locks them in PostgreSQL: otherwise one that
# is marked as indexed between the two statements would escape both, and pass for a text of the new revision.
_KEEP_PASSAGES = """\
UPDATE chunks SET last_revision =
  (SELECT indexed_revision FROM index_states WHERE index_states.document_id = chunks.document_id)
WHERE last_revision IS NULL AND id IN (??)"""
_DELETE_WAITING = "DELETE FROM chunks WHERE NOT indexed AND id IN (??)"
_DELETE_REPLACED = "DELETE FROM chunks WHERE last_revision IS NOT NULL AND id IN (??)"


async def replace_passages(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """Note that chunks of documents have successors. Call it before the new indexed revisions are written."""
    await driver.run(connection, _KEEP_PASSAGES, among=ids)
    await driver.run(connection, _DELETE_WAITING, among=ids)


async def replace_nodes(connection: AsyncConnection, table_id: int, nodes: Sequence[Node]) -> None:
    """Note that nodes of a table are gone. Chunks without a successor at the same pointer are deleted.

    Call it when the successors have rows, and before the new indexed revision is written.
    """
    here = (
        chunks.c.table_id == table_id,
        chunks.c.json_pointer == sa.bindparam("pointer"),
        chunks.c.content_hash == sa.bindparam("content"),
        chunks.c.chunk_size == sa.bindparam("size"),
        chunks.c.chunk_overlap == sa.bindparam("overlap"),
    )
    revision = sa.select(index_states.c.indexed_revision).where(index_states.c.table_id == table_id).scalar_subquery()
    successor = chunks.alias("successor")
    has_successor = sa.exists().where(
        successor.c.table_id == table_id,
        successor.c.json_pointer == sa.bindparam("pointer"),
        successor.c.last_revision.is_(None),
    )
    keep = sa.update(chunks).where(*here, chunks.c.last_revision.is_(None)).values(last_revision=revision)
    delete = sa.delete(chunks).where(*here, sa.or_(_IS_WAITING, ~has_successor))
    names = ("pointer", "content", "size", "overlap")
    for start in range(0, len(nodes), _NODES_AT_ONCE):
        some = [dict(zip(names, node, strict=True)) for node in nodes[start : start + _NODES_AT_ONCE]]
        await connection.execute(keep, some)
        await connection.execute(delete, some)


async def every(connection: AsyncConnection, namespace: str) -> list[int]:
    """Return the replaced chunks of a namespace."""
    query = sa.select(chunks.c.id).where(chunks.c.turbopuffer_namespace == namespace, _IS_REPLACED)
    return list((await connection.execute(query)).scalars())


async def superseded(connection: AsyncConnection, key: NamespaceKey, limit: int) -> list[int]:
    """Return up to `limit` replaced chunks whose successors are all in the engine."""
    source: sa.Column[Any] = chunks.c.document_id if key.table_id is None else chunks.c.json_pointer
    is_mine = chunks.c.turbopuffer_namespace == key.namespace
    waiting = sa.select(source).where(is_mine, _IS_WAITING)
    query = sa.select(chunks.c.id).where(is_mine, _IS_REPLACED, source.not_in(waiting)).limit(limit)
    return list((await connection.execute(query)).scalars())


async def lock(connection: AsyncConnection, ids: Sequence[int]) -> set[int]:
    """Return those of the chunks that have not been deleted, and keep them until the transaction ends."""
    query = sa.select(chunks.c.id).where(chunks.c.id.in_(ids)).order_by(chunks.c.id).with_for_update()
    return set((await connection.execute(query)).scalars()) if ids else set()


async def delete(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """Delete replaced chunks, except those whose text has come back in the meantime."""
    await driver.run(connection, _DELETE_REPLACED, among=ids)
