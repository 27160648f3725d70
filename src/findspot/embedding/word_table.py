"""Compares a query with passages segment by segment and word by word, by the rows of a static model's table.

docs/ranking.md has the formulas. Only an embedder that makes vectors of words can do this; one behind an API cannot.
"""

from collections.abc import Callable, Sequence
from ctypes import Structure, byref, c_bool, c_float, c_int64, c_void_p
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from findspot.embedding.protocol import Vector
from findspot.native import address, function, has_wide_registers

RowNumbers: TypeAlias = npt.NDArray[np.int32]
Counts: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float32]

_ROWS_AT_ONCE = 8192  # of the table, when their lengths are calculated
_LARGEST_INT16 = 32767
_LEAST_FLOAT = 1e-30
MAX_QUERY_ROWS = 128  # distinct words of a query that are compared: those with the longest rows


class _Table(Structure):
    """`struct table` of native/word_likeness.c."""

    _fields_ = (*((name, c_void_p) for name in ("rows", "scale", "lengths")), ("dimension", c_int64))


class _Query(Structure):
    """`struct query` of native/word_likeness.c."""

    _fields_ = (
        *((name, c_void_p) for name in ("rows", "weights", "lengths")),
        ("count", c_int64),
        ("vector_step", c_float),
    )


class _Passages(Structure):
    """`struct passages` of native/word_likeness.c."""

    _fields_ = (*((name, c_void_p) for name in ("rows", "counts", "lengths", "segments")), ("count", c_int64))


class _Scratch(Structure):
    """`struct scratch` of native/word_likeness.c."""

    _fields_ = tuple((name, c_void_p) for name in ("places", "products", "wide", "best"))


_sum_rows = function("sum_rows", c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_int64, c_void_p, c_bool)
_compare_words = function("compare_words", *(c_void_p,) * 5, c_bool)


class Table(Protocol):
    """The loaded model: the rows of texts, and the table that they number."""

    table: npt.NDArray[np.int8]
    scale: Floats
    lengths: Floats  # of the rows, before they are scaled

    def joined_rows(self, texts: Sequence[str]) -> tuple[RowNumbers, Counts]: ...

    def query_rows(self, text: str) -> RowNumbers: ...


class SegmentRows(NamedTuple):
    """The rows of a passage's segments one after the other, how many each segment has, and the length of their sum.

    Segments without a known word are left out.
    """

    rows: RowNumbers
    counts: RowNumbers
    lengths: Floats

    def __len__(self) -> int:
        return len(self.rows)


class Likeness(NamedTuple):
    """How alike a query and a passage are: the cosine of the best segment, and the word similarity from 0 to 1."""

    segment: float
    words: float


UNLIKE = Likeness(-1.0, 0.0)


class WordTable:
    """Compares by the table that `load` returns. Calls block for milliseconds: make them in a thread."""

    def __init__(self, load: Callable[[], Table]) -> None:
        self._load = load

    def segment_rows(self, passages: Sequence[Sequence[str]]) -> list[SegmentRows]:
        """Return the rows of each passage, given as its segments."""
        loaded = self._load()
        rows, counts = loaded.joined_rows(list(chain.from_iterable(passages)))
        lengths = _sum_lengths(loaded, rows, counts)
        known = counts > 0
        filled, lengths = counts[known].astype(np.int32), lengths[known]
        ends = np.cumsum([len(passage) for passage in passages], dtype=np.int64)
        segment_ends, row_ends = (_sums_up_to(ends, numbers) for numbers in (known, counts))
        made, segment, row = [], 0, 0
        for segment_end, row_end in zip(segment_ends, row_ends, strict=True):
            mine = slice(segment, segment_end)  # copies, because all rows together would stay in memory with one
            made.append(SegmentRows(rows[row:row_end].copy(), filled[mine].copy(), lengths[mine].copy()))
            segment, row = segment_end, row_end
        return made

    def compare(self, query: str, vector: Vector, passages: Sequence[SegmentRows]) -> list[Likeness]:
        """Return how alike a query, with its vector, and each of these passages are.

        Each word of the query looks for the word most like it, once per segment and once in the whole passage. The word
        similarity is the mean of the best segment's sum and the whole passage's sum, weighted by the length of rows.
        """
        loaded = self._load()
        asked, weights = _query_rows(loaded, query)
        rows = _joined([each.rows for each in passages], np.int32)
        if not len(rows) or not len(asked):
            return [UNLIKE] * len(passages)
        counts = _joined([each.counts for each in passages], np.int32)
        lengths = _joined([each.lengths for each in passages], np.float32)
        segments = np.array([len(each.counts) for each in passages], np.int64)
        dimension = loaded.table.shape[1]
        step = np.float32(max(np.abs(vector).max(), _LEAST_FLOAT) / _LARGEST_INT16)
        words = np.vstack((loaded.table.take(asked, axis=0), np.rint(vector / step))).astype(np.int16)
        word_lengths = loaded.lengths.take(asked)
        places, products = np.zeros(len(loaded.table), np.int32), np.empty((len(rows), len(words)), np.float32)
        wide, best = np.empty(dimension, np.int16), np.empty((2, len(asked)), np.float32)
        found = np.empty((len(passages), 2), np.float32)
        _compare_words(
            byref(_Table(address(loaded.table), address(loaded.scale), address(loaded.lengths), dimension)),
            byref(_Query(address(words), address(weights), address(word_lengths), len(asked), step)),
            byref(_Passages(address(rows), address(counts), address(lengths), address(segments), len(passages))),
            byref(_Scratch(address(places), address(products), address(wide), address(best))),
            address(found),
            has_wide_registers(),
        )
        return [Likeness(*each) for each in found.tolist()]


def sum_rows(loaded: Table, rows: RowNumbers, counts: Counts, sums: Floats) -> None:
    """Write the sum of the rows of each text, given one text after the other and how many each text has."""
    arrays = address(loaded.table), address(loaded.scale), loaded.table.shape[1], address(rows), address(counts)
    _sum_rows(*arrays, len(counts), address(sums), has_wide_registers())


def _query_rows(loaded: Table, query: str) -> tuple[RowNumbers, Floats]:
    """Return the distinct rows of a query, and their weights (together 1)."""
    rows = np.unique(loaded.query_rows(query))
    weights = loaded.lengths.take(rows) * loaded.scale.take(rows)
    if len(rows) > MAX_QUERY_ROWS:
        heaviest = np.sort(np.argsort(-weights, kind="stable")[:MAX_QUERY_ROWS])
        rows, weights = rows[heaviest], weights[heaviest]
    shares: Floats = weights / np.float32(max(weights.sum(), 1e-9))
    return rows, shares


def row_lengths(table: npt.NDArray[np.int8]) -> Floats:
    """Return the length of each row of a table; 1 for a row of zeros, which is like no other."""
    lengths = np.empty(len(table), np.float32)
    for start in range(0, len(table), _ROWS_AT_ONCE):
        rows = table[start : start + _ROWS_AT_ONCE].astype(np.float32)
        lengths[start : start + len(rows)] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = 1
    return lengths


def _sum_lengths(loaded: Table, rows: RowNumbers, counts: Counts) -> Floats:
    """Return the length of the sum of each segment's rows: what its vector was divided by."""
    sums = np.empty((len(counts), loaded.table.shape[1]), np.float32)
    sum_rows(loaded, rows, counts, sums)
    lengths: Floats = np.sqrt(np.vecdot(sums, sums))
    lengths[lengths == 0] = 1
    return lengths


def _sums_up_to(ends: Counts, numbers: npt.NDArray[Any]) -> list[int]:
    """Return the sum of the numbers before each of these places."""
    sums: list[int] = np.concatenate(([0], np.cumsum(numbers))).take(ends).tolist()
    return sums


def _joined(arrays: Sequence[npt.NDArray[Any]], kind: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, kind)
