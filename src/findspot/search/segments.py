"""Compare chunks with a query segment by segment and word by word: the vector of a long chunk mixes everything that it
speaks of."""

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from cachetools import LRUCache

from findspot.embedding.protocol import Embedder, Vector
from findspot.ranking.fusion import SEGMENT_LENGTH

if TYPE_CHECKING:
    from findspot.embedding.word_table import Likeness, SegmentRows

MAX_ROWS = 4_000_000  # about 20 MB; a chunk of a thousand characters has some 250


class Segments:
    """The rows of the segments of chunks, in a cache bounded by their number. Safe to use from several threads."""

    def __init__(self, embedder: Embedder, max_rows: int = MAX_ROWS) -> None:
        self._embedder = embedder
        self._lock = threading.Lock()
        # by chunk id: a chunk's text never changes
        self._cache: LRUCache[int, SegmentRows] = LRUCache(max_rows, getsizeof=lambda rows: max(1, len(rows)))

    @property
    def can_compare(self) -> bool:
        """Whether the embedder can compare words. One behind an API cannot."""
        return self._embedder.word_table is not None

    @property
    def cached_rows(self) -> int:
        return int(self._cache.currsize)

    def cached(self, ids: Iterable[int]) -> "dict[int, SegmentRows]":
        """Return the rows of those of these chunks that are in the cache."""
        with self._lock:
            return {id: self._cache[id] for id in ids if id in self._cache}

    def compare(
        self, query: str, vector: Vector, texts: Mapping[int, str], known: "Mapping[int, SegmentRows] | None" = None
    ) -> "dict[int, Likeness]":
        """Return how alike the query and each of these chunks are, given their texts or, from the cache, their rows."""
        table = self._embedder.word_table
        if table is None:
            return {}
        found = {**self.cached(texts), **(known or {})}
        found |= self._made({id: text for id, text in texts.items() if id not in found})
        return dict(zip(found, table.compare(query, vector, list(found.values())), strict=True))

    def _made(self, texts: Mapping[int, str]) -> "dict[int, SegmentRows]":
        from findspot.chunking import spans

        table = self._embedder.word_table
        if table is None or not texts:
            return {}
        segments = [[text[start:end] for start, end in spans(text, SEGMENT_LENGTH, 0)] for text in texts.values()]
        made = dict(zip(texts, table.segment_rows(segments), strict=True))
        with self._lock:
            for id, rows in made.items():
                if len(rows) <= self._cache.maxsize:
                    self._cache[id] = rows
        return made
