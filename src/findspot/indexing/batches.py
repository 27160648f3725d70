"""Chunk rows → terms and vectors: the batches that an engine takes. Helper processes calculate the terms."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from itertools import chain
from typing import TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.context import Context, embedded_text
from findspot.engines.protocol import Batch, ContextTerms, Source, Vectors
from findspot.indexing import cutting
from findspot.models import ChunkToIndex
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.helpers import NO_PROJECT, Helpers
from findspot.store.database import Store

CHUNKS_AT_ONCE = 5000
TERMS_AT_ONCE = 500
CHARACTERS_AT_ONCE = 16 * 1024  # whose terms take a few milliseconds
PLACED_HERE = 500  # chunks, in a millisecond; more of them would hold the event loop up

Reading: TypeAlias = Callable[[AsyncConnection, str, int, int], Awaitable[list[ChunkToIndex]]]


class Batches:
    """Prepares chunks for an engine."""

    def __init__(self, store: Store, embeddings: Embeddings, helpers: Helpers) -> None:
        self._store = store
        self._embeddings = embeddings
        self._helpers = helpers

    async def prepare(self) -> None:
        """Have a helper process load the analyser, before a change waits for it."""
        await self._terms(NO_PROJECT, ["Any text. 任何文字。" * (CHARACTERS_AT_ONCE // 8)])

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
        places, texts = await _placed(some)
        vectors, terms, contexts = await asyncio.gather(
            self._embeddings.documents(texts),
            self._terms(project_id, [row.text for row in some]),
            self._contexts(project_id, some, places),
        )
        return _batch(some, terms, vectors, contexts)

    async def without_vectors(self, project_id: int, some: Sequence[ChunkToIndex], dimension: int) -> Batch:
        """Make a batch with keywords only, while the embedder is unavailable. A zero vector counts as none."""
        import numpy as np

        places, _ = await _placed(some)
        terms, contexts = await asyncio.gather(
            self._terms(project_id, [row.text for row in some]), self._contexts(project_id, some, places)
        )
        return _batch(some, terms, np.zeros((len(some), dimension), np.float32), contexts)

    async def _contexts(
        self, project_id: int, some: Sequence[ChunkToIndex], places: Sequence[Context]
    ) -> list[ContextTerms]:
        """Return the terms of contexts. Many chunks share one, which is analysed once."""
        distinct = list(dict.fromkeys(line for place in places for line in (place.title, " ".join(place.headings))))
        terms = dict(zip(distinct, await self._terms(project_id, distinct), strict=True))
        found = []
        for row, place in zip(some, places, strict=True):
            title, headings = terms[place.title], terms[" ".join(place.headings)]
            name = (headings if row.document_id is None else title) if row.chunk_index == 0 else ""
            found.append(ContextTerms(title, headings, name))
        return found

    async def _terms(self, project_id: int, texts: list[str]) -> list[str]:
        """Return the terms of each text. A few texts are analysed here; many are shared by the helper processes."""
        if sum(map(len, texts)) <= CHARACTERS_AT_ONCE:
            return cutting.index_terms(texts)
        parts = [texts[start : start + TERMS_AT_ONCE] for start in range(0, len(texts), TERMS_AT_ONCE)]
        terms = await asyncio.gather(*(self._helpers.run(project_id, cutting.index_terms, part) for part in parts))
        return list(chain.from_iterable(terms))


def _batch(some: Sequence[ChunkToIndex], terms: list[str], vectors: Vectors, contexts: Sequence[ContextTerms]) -> Batch:
    ids, doc_ids = [row.id for row in some], [row.doc_id for row in some]
    return Batch(ids, doc_ids, list(map(_source, some)), terms, vectors, contexts)


async def _placed(some: Sequence[ChunkToIndex]) -> tuple[list[Context], list[str]]:
    """Return the context of each chunk, and the text whose vector it gets."""

    def place() -> tuple[list[Context], list[str]]:
        places = list(map(_place, some))
        return places, [embedded_text(place, row.text) for place, row in zip(places, some, strict=True)]

    return place() if len(some) <= PLACED_HERE else await asyncio.to_thread(place)


def _place(row: ChunkToIndex) -> Context:
    return Context.of_row(row.context, row.json_pointer).outside(row.text)


def _source(row: ChunkToIndex) -> Source:
    return Source(row.document_id, row.json_pointer, row.chunk_size, row.chunk_overlap, row.node_length)
