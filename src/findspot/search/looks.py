"""The closer look that searches take at their best candidates: segment by segment and word by word."""

from collections.abc import Mapping, Sequence
from itertools import chain

from findspot.ranking.scores import Look
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.threads import ThreadPool
from findspot.search.hit_rows import HitRows
from findspot.search.segments import Segments


class Looks:
    """Compares chunks with a query. Texts are needed only where the cache does not have their segments."""

    def __init__(self, embeddings: Embeddings, segments: Segments, threads: ThreadPool) -> None:
        self._embeddings = embeddings
        self._segments = segments
        self._threads = threads

    @property
    def can_compare(self) -> bool:
        """Whether the embedder can compare words. One behind an API cannot."""
        return self._segments.can_compare

    async def of(self, query: str, ids: Sequence[int], rows: HitRows) -> Mapping[int, Look]:
        """Return how alike the text of a query and each of these chunks are."""
        known = self._segments.cached(ids)
        texts = await rows.texts([id for id in ids if id not in known])
        vector = await self._embeddings.query(query)
        # A cached row is a word of about four characters. To compare 12,500 of them takes 4 ms.
        work = chain(texts.values(), *[known.values()] * 4)
        return await self._threads.run_if_long(work, self._segments.compare, query, vector, texts, known)
