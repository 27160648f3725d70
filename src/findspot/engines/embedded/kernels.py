"""The two inner loops, which are faiss's.

It is loaded when it is first used, which takes a while, and called a level below its indexes: those would hold a second
copy of the codes in memory, and take no filter.
"""

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt

from findspot.engines.embedded.codes import Codes
from findspot.engines.protocol import Vector

_PATTERNS = np.where(np.arange(16)[:, np.newaxis] >> np.arange(4) & 1, 1, -1).astype(np.float32)
_SIGNS_AT_ONCE = 8192  # rows
# The signs of so many numbers are enough, as after the rotation all numbers say equally much; and 256 bytes, which is
# what faiss adds up then, cannot exceed its 16 bits: with more, the highest sums of all began again at zero.
_MOST_SIGNS = 1024

# Scanners that no thread uses, by dimension. They are used again and never freed, because faiss's Python classes lose
# count of those that are freed.
_idle: defaultdict[int, list[Any]] = defaultdict(list)


def products(codes: Codes, numbers: Vector, limit: int) -> tuple[npt.NDArray[np.int64], Vector]:
    """The places of the highest products of a code and the query, at most as many as there are codes, in no order."""
    import faiss

    highest = np.full(limit, -np.inf, np.float32)
    places = np.full(limit, -1, np.int64)
    pointers = [faiss.swig_ptr(each) for each in (codes, highest, places)]
    idle = _idle[len(numbers)]
    scanner = idle.pop() if idle else _scanner(len(numbers))
    try:
        scanner.set_query(faiss.swig_ptr(numbers))
        scanner.set_list(0, 0.0)
        scanner.scan_codes(len(codes), pointers[0], None, pointers[1], pointers[2], limit)
    finally:
        idle.append(scanner)
    return places, highest


class Signs:
    """The signs of codes, four to a symbol of a product quantizer whose symbols stand for all patterns of four signs.
    Adding up what the query says of each symbol is what faiss does quickest."""

    def __init__(self, codes: Codes) -> None:
        import faiss

        self._used = min(codes.shape[1], _MOST_SIGNS)
        self._width = -(-self._used // 8) * 8
        index: Any = faiss.IndexPQ(self._width, self._width // 4, 4, faiss.METRIC_INNER_PRODUCT)
        faiss.copy_array_to_vector(np.tile(_PATTERNS, (self._width // 4, 1)).ravel(), index.pq.centroids)
        index.is_trained = True
        for start in range(0, len(codes), _SIGNS_AT_ONCE):
            positive = codes[start : start + _SIGNS_AT_ONCE, : self._used] >= 128
            index.add_sa_codes(np.packbits(positive, axis=1, bitorder="little"))
        packed: Any = faiss.IndexPQFastScan(index)
        packed.orig_codes = None  # they are freed with the other index
        self._index = packed

    def nearest(self, numbers: Vector, limit: int) -> tuple[npt.NDArray[np.int64], Vector]:
        """The places with the highest scores, and the scores. There may be fewer: the lowest of all are left out."""
        query = np.zeros((1, self._width), np.float32)
        query[0, : self._used] = numbers[: self._used]
        scores, places = self._index.search(query, limit)
        found = places[0] >= 0
        return places[0][found], scores[0][found]


def _scanner(dimension: int) -> Any:
    import faiss

    quantizer: Any = faiss.ScalarQuantizer(dimension, faiss.ScalarQuantizer.QT_8bit_direct_signed)
    return quantizer.select_InvertedListScanner(faiss.METRIC_INNER_PRODUCT, None, True, None, False)
