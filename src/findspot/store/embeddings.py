"""Cached vectors by embedder fingerprint and text hash. They never expire."""

from collections.abc import Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store import driver
from findspot.store.schema import embedding_cache

_GET = "SELECT text_hash, vector FROM embedding_cache WHERE fingerprint = ? AND text_hash IN (??)"


async def get(connection: AsyncConnection, fingerprint: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the cached vectors by hash."""
    found = await driver.run(connection, _GET, fingerprint, among=hashes)
    return {bytes(text_hash): bytes(vector) for text_hash, vector in found}


async def put(connection: AsyncConnection, fingerprint: str, vectors: Mapping[bytes, bytes]) -> None:
    """Add vectors. Keep those that another process has already added."""
    rows = [(fingerprint, *each) for each in vectors.items()]
    await driver.insert(connection, embedding_cache, ("fingerprint", "text_hash", "vector"), rows, if_new=True)
