"""Vectors of texts that were embedded before, by the embedder's fingerprint and the text's hash. They never expire."""

from collections.abc import Iterator, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store.schema import embedding_cache

_AT_ONCE = 500  # hashes in one statement, which is one moment of the event loop

# Another process may have been quicker with the same text; its vector is as good.
_PUT = sa.text(
    "INSERT INTO embedding_cache (fingerprint, text_hash, vector) VALUES (:fingerprint, :text_hash, :vector) "
    "ON CONFLICT DO NOTHING"
)


async def get(connection: AsyncConnection, fingerprint: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
    """The vectors that are there, by hash."""
    found: dict[bytes, bytes] = {}
    for some in _groups(hashes):
        query = sa.select(embedding_cache.c.text_hash, embedding_cache.c.vector).where(
            embedding_cache.c.fingerprint == fingerprint, embedding_cache.c.text_hash.in_(some)
        )
        found.update((bytes(row.text_hash), bytes(row.vector)) for row in await connection.execute(query))
    return found


async def put(connection: AsyncConnection, fingerprint: str, vectors: Mapping[bytes, bytes]) -> None:
    for some in _groups(list(vectors)):
        rows = [{"fingerprint": fingerprint, "text_hash": each, "vector": vectors[each]} for each in some]
        await connection.execute(_PUT, rows)


async def forget(connection: AsyncConnection, fingerprint: str) -> int:
    """Remove what another embedder left behind: everything but this fingerprint's."""
    query = sa.delete(embedding_cache).where(embedding_cache.c.fingerprint != fingerprint)
    return (await connection.execute(query)).rowcount


def _groups(hashes: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(hashes), _AT_ONCE):
        yield hashes[start : start + _AT_ONCE]
