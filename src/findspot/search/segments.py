"""Compare chunks with a query segment by segment: the vector of a long chunk mixes everything that it speaks of."""

import threading
from collections.abc import Mapping

from cachetools import LRUCache

from findspot.embedding.protocol import Embedder, Vector, Vectors
from findspot.ranking.fusion import SEGMENT_LENGTH

MAX_VECTORS = 16_000  # about 25 MB with 384 dimensions; a chunk has six segments on average


class Segments:
    """The vectors of the segments of chunks, in a cache bounded by their number. Safe to use from several threads."""

    def __init__(self, embedder: Embedder, max_vectors: int = MAX_VECTORS) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        # by chunk id: a chunk's text never changes
        self._cache: LRUCache[int, Vectors] = LRUCache(max_vectors, getsizeof=len)

    @property
    def cached_vectors(self) -> int:
        return int(self._cache.currsize)

    def best(self, query: Vector, texts: Mapping[int, str]) -> dict[int, float]:
        """Return for each of these chunks the cosine of the query and its best segment."""
        with self._lock:
            found = {id: self._cache[id] for id in texts if id in self._cache}
        made = self._embed({id: text for id, text in texts.items() if id not in found})
        with self._lock:
            for id, vectors in made.items():
                if len(vectors) <= self._cache.maxsize:
                    self._cache[id] = vectors
        found |= made
        return {id: max((vectors @ query).tolist(), default=-1.0) for id, vectors in found.items()}

    def _embed(self, texts: Mapping[int, str]) -> dict[int, Vectors]:
        from findspot.chunking import cut

        if not texts:
            return {}
        segments = {
            id: [text[each.start : each.end] for each in cut(text, SEGMENT_LENGTH, 0)] for id, text in texts.items()
        }
        vectors = self._embedder.documents([segment for of_chunk in segments.values() for segment in of_chunk])
        made, first = {}, 0
        for id, of_chunk in segments.items():
            made[id] = vectors[first : first + len(of_chunk)].copy()  # a view would keep the whole batch alive
            first += len(of_chunk)
        return made
