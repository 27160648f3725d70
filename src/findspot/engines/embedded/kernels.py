"""The inner loops of a vector search, in C: native/signs.c and native/products.c."""

from ctypes import c_bool, c_int64, c_void_p

import numpy as np
import numpy.typing as npt

from findspot.engines.embedded.codes import Codes, Numbers
from findspot.engines.protocol import Vector
from findspot.native import address, function, has_wide_registers

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.uint16]
Tables = npt.NDArray[np.uint8]

_BLOCK = 32  # rows
_BLOCKS_AT_ONCE = 256  # that are packed
# The signs of 1,024 numbers are enough, because after the rotation all numbers matter equally. With more, the 16-bit
# scores could overflow: 256 tables of up to 255.
_MAX_SIGNS = 1024
UNKNOWN = 65_535  # stands for the score of a row that was not scored, which is picked before all others
_BITS = (np.arange(16) >> np.arange(4)[:, np.newaxis] & 1).astype(np.int32)  # of the sixteen half bytes

_score_signs = function("score_signs", c_void_p, c_int64, c_int64, c_void_p, c_void_p, c_bool)
_pick_highest = function("pick_highest", c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_void_p, returns=c_int64)
_best_products = function(
    "best_products",
    *(c_void_p, c_int64, c_int64, c_void_p, c_int64, c_void_p, c_int64, c_void_p, c_void_p, c_bool),
    returns=c_int64,
)


class Signs:
    """The signs of codes, one bit for each number, in blocks of 32 rows (native/signs.c)."""

    def __init__(self, codes: Codes) -> None:
        self._count = len(codes)
        used = min(codes.shape[1], _MAX_SIGNS)
        self._blocks = np.zeros((-(-len(codes) // _BLOCK), -(-used // 8), _BLOCK), np.uint8)
        for first in range(0, len(self._blocks), _BLOCKS_AT_ONCE):
            some = self._blocks[first : first + _BLOCKS_AT_ONCE]
            positive = codes[first * _BLOCK : (first + len(some)) * _BLOCK, :used] >= 128
            packed = np.zeros((len(some) * _BLOCK, some.shape[1]), np.uint8)
            packed[: len(positive)] = np.packbits(positive, axis=1, bitorder="little")
            some[:] = packed.reshape(len(some), _BLOCK, -1).transpose(0, 2, 1)

    def score(self, tables: Tables, scores: Scores) -> None:
        """Write the score of each row: the higher, the more alike its signs are to those of the query."""
        assert len(scores) == self._count
        assert len(tables) == 2 * self._blocks.shape[1]
        blocks = address(self._blocks), self._count, self._blocks.shape[1]
        _score_signs(*blocks, address(tables), address(scores), has_wide_registers())


def tables(numbers: Numbers) -> Tables:
    """Return for four numbers of a query each what the sixteen combinations of their signs add to the score.

    That is the sum of those numbers, without their own sign, whose sign agrees, scaled to one byte.
    """
    used = numbers[:_MAX_SIGNS].astype(np.int32)
    fours = np.append(used, np.zeros(-len(used) % 8, np.int32)).reshape(-1, 4)
    sums = np.maximum(fours, 0) @ _BITS + np.maximum(-fours, 0) @ (1 - _BITS)
    scaled: Tables = np.floor(sums * (255 / max(1, sums.max())) + 0.5).astype(np.uint8)
    return scaled


def highest(scores: Scores, mask: Mask, wanted: int) -> Rows:
    """Return the rows of the mask with the highest scores, in ascending order."""
    assert len(scores) == len(mask)
    rows, counts = np.empty(min(wanted, len(mask)), np.int64), np.empty(UNKNOWN + 1, np.uint32)
    found = _pick_highest(address(scores), address(mask), len(mask), len(rows), address(counts), address(rows))
    return rows[:found]


def products(codes: Codes, first: int, rows: Rows, numbers: Numbers, limit: int) -> tuple[Rows, Vector]:
    """Return the rows whose codes have the highest products with the query, and the products, best first.

    `first` is the row of the first code. `rows` are in ascending order, and so are equal ones of the answer.
    """
    assert len(numbers) == codes.shape[1]
    assert not len(rows) or first <= rows[0] <= rows[-1] < first + len(codes)
    limit = min(limit, len(rows))
    best, found = np.empty(limit, np.int64), np.empty(limit, np.int32)
    _best_products(
        *(address(codes), codes.shape[1], first, address(rows), len(rows), address(numbers)),
        *(limit, address(best), address(found), has_wide_registers()),
    )
    return best, found.astype(np.float32)
