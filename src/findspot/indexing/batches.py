"""Chunk rows → terms and vectors: the batches that an engine takes. Helper processes calculate the terms."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from itertools import chain
from typing import TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.engines.protocol import Batch, Source, Vectors
from findspot.indexing import cutting
from findspot.models import ChunkToIndex
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.helpers import Helpers
from findspot.store.database import Store

CHUNKS_AT_ONCE = 5000
TERMS_AT_ONCE = 500
CHARACTERS_AT_ONCE = 16 * 1024  # whose terms take a few milliseconds

Reading: TypeAlias = Callable[[AsyncConnection, str, int, int], Awaitable[list[ChunkToIndex]]]


class Batches:
    """Prepares chunks for an engine."""

    def __init__(self, store: Store, embeddings: Embeddings, helpers: Helpers) -> None:
        self._store = store
        self._embeddings = embeddings
        self._helpers = helpers

    async def pages(self, reading: Reading, namespace: str) -> AsyncGenerator[list[ChunkToIndex], None]:
        """Yield the chunks of a namespace in order of their ids. The next page is read while this one is worked on."""

        async def read(after: int) -> list[ChunkToIndex]:
            async with self._store.read() as connection:
                return await reading(connection, namespace, after, CHUNKS_AT_ONCE)

        next_page = asyncio.create_task(read(0))
        try:
            while some := await next_page:
                if len(some) < CHUNKS_AT_ONCE:  # the last page
                    yield some
                    return
                next_page = asyncio.create_task(read(some[-1].id))
                yield some
        finally:
            next_page.cancel()
            await asyncio.gather(next_page, return_exceptions=True)

    async def make(self, project_id: int, some: Sequence[ChunkToIndex]) -> Batch:
        """Make a batch with keywords and vectors. Raises EMBEDDING_UNAVAILABLE if the embedder is."""
        texts = [row.text for row in some]
        vectors, terms = await asyncio.gather(self._embeddings.documents(texts), self._terms(project_id, texts))
        return _batch(some, terms, vectors)

    async def without_vectors(self, project_id: int, some: Sequence[ChunkToIndex], dimension: int) -> Batch:
        """Make a batch with keywords only, while the embedder is unavailable. A zero vector counts as none."""
        import numpy as np

        terms = await self._terms(project_id, [row.text for row in some])
        return _batch(some, terms, np.zeros((len(some), dimension), np.float32))

    async def _terms(self, project_id: int, texts: list[str]) -> list[str]:
        """Return the terms of each text. A few texts are analysed here; many are shared by the helper processes."""
        if sum(map(len, texts)) <= CHARACTERS_AT_ONCE:
            return cutting.index_terms(texts)
        parts = [texts[start : start + TERMS_AT_ONCE] for start in range(0, len(texts), TERMS_AT_ONCE)]
        terms = await asyncio.gather(*(self._helpers.run(project_id, cutting.index_terms, part) for part in parts))
        return list(chain.from_iterable(terms))


def _batch(some: Sequence[ChunkToIndex], terms: list[str], vectors: Vectors) -> Batch:
    return Batch([row.id for row in some], [row.doc_id for row in some], list(map(_source, some)), terms, vectors)


def _source(row: ChunkToIndex) -> Source:
    return Source(row.document_id, row.json_pointer, row.chunk_size, row.chunk_overlap, row.node_length)
