"""Vectors of texts that were embedded before, by the embedder's fingerprint and the text's hash. They never expire."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store import driver
from findspot.store.schema import embedding_cache

_GET = "SELECT text_hash, vector FROM embedding_cache WHERE fingerprint = ? AND text_hash IN (??)"


async def get(connection: AsyncConnection, fingerprint: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
    """The vectors that are there, by hash."""
    found = await driver.run(connection, _GET, fingerprint, among=hashes)
    return {bytes(text_hash): bytes(vector) for text_hash, vector in found}


async def put(connection: AsyncConnection, fingerprint: str, vectors: Mapping[bytes, bytes]) -> None:
    """Another process may have been quicker with the same text; its vector is as good."""
    rows = [(fingerprint, *each) for each in vectors.items()]
    await driver.insert(connection, embedding_cache, ("fingerprint", "text_hash", "vector"), rows, if_new=True)


async def forget(connection: AsyncConnection, fingerprint: str) -> int:
    """Remove what another embedder left behind: everything but this fingerprint's."""
    query = sa.delete(embedding_cache).where(embedding_cache.c.fingerprint != fingerprint)
    return (await connection.execute(query)).rowcount
