"""The two inner loops of a vector search, from faiss.

faiss is imported on first use, because that takes long. It is called below the level of its indexes, which would hold a
second copy of the codes in memory and take no filter.
"""

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt

from findspot.engines.embedded.codes import Codes
from findspot.engines.protocol import Vector

_PATTERNS = np.where(np.arange(16)[:, np.newaxis] >> np.arange(4) & 1, 1, -1).astype(np.float32)
_ROWS_PER_SLICE = 8192
# The signs of 1,024 numbers are enough, because after the rotation all numbers matter equally. With more, the 16-bit
# sums of faiss overflow, and the nearest rows get the lowest scores.
_MAX_SIGNS = 1024

# Unused scanners by dimension. They are reused and never freed, because freeing them through faiss's Python classes
# breaks their reference counts.
_idle: defaultdict[int, list[Any]] = defaultdict(list)


def products(codes: Codes, numbers: Vector, limit: int) -> tuple[npt.NDArray[np.int64], Vector]:
    """Return the positions of the codes with the highest products with the query, and the products, unordered."""
    import faiss

    highest = np.full(limit, -np.inf, np.float32)
    positions = np.full(limit, -1, np.int64)
    pointers = [faiss.swig_ptr(each) for each in (codes, highest, positions)]
    idle = _idle[len(numbers)]
    scanner = idle.pop() if idle else _scanner(len(numbers))
    try:
        scanner.set_query(faiss.swig_ptr(numbers))
        scanner.set_list(0, 0.0)
        scanner.scan_codes(len(codes), pointers[0], None, pointers[1], pointers[2], limit)
    finally:
        idle.append(scanner)
    return positions, highest


class Signs:
    """The signs of codes, packed for the fast scan of faiss: each symbol of a product quantizer holds four signs."""

    def __init__(self, codes: Codes) -> None:
        import faiss

        self._used = min(codes.shape[1], _MAX_SIGNS)
        self._width = -(-self._used // 8) * 8
        index: Any = faiss.IndexPQ(self._width, self._width // 4, 4, faiss.METRIC_INNER_PRODUCT)
        faiss.copy_array_to_vector(np.tile(_PATTERNS, (self._width // 4, 1)).ravel(), index.pq.centroids)
        index.is_trained = True
        for start in range(0, len(codes), _ROWS_PER_SLICE):
            positive = codes[start : start + _ROWS_PER_SLICE, : self._used] >= 128
            index.add_sa_codes(np.packbits(positive, axis=1, bitorder="little"))
        packed: Any = faiss.IndexPQFastScan(index)
        packed.orig_codes = None  # freed together with the other index
        self._index = packed

    def nearest(self, numbers: Vector, limit: int) -> tuple[npt.NDArray[np.int64], Vector]:
        """Return the positions with the highest scores, and the scores. faiss may return fewer than `limit`."""
        query = np.zeros((1, self._width), np.float32)
        query[0, : self._used] = numbers[: self._used]
        scores, positions = self._index.search(query, limit)
        found = positions[0] >= 0
        return positions[0][found], scores[0][found]


def _scanner(dimension: int) -> Any:
    import faiss

    quantizer: Any = faiss.ScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_8bit_direct_signed)
    return quantizer.select_InvertedListScanner(faiss.METRIC_INNER_PRODUCT, None, True, None, False)
