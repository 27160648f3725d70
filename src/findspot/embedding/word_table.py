"""Compares a query with passages segment by segment and word by word, by the rows of a static model's table.

docs/ranking.md has the formulas. Only an embedder that makes vectors of words can do this; one behind an API cannot.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from findspot.embedding.protocol import Vector

RowNumbers: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float32]

_ROWS_AT_ONCE = 8192  # of the table, when their lengths are calculated
_SEGMENTS_AT_ONCE = 8  # whose rows are read together; as floats they fit into a processor's cache
MAX_QUERY_ROWS = 128  # distinct words of a query that are compared: those with the longest rows


class Table(Protocol):
    """The loaded model: the rows of texts, and the table that they number."""

    table: npt.NDArray[np.int8]
    scale: Floats
    lengths: Floats  # of the rows, before they are scaled

    def joined_rows(self, texts: Sequence[str]) -> tuple[RowNumbers, npt.NDArray[np.int64]]: ...

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
        made, segment, row = [], 0, 0
        for passage in passages:
            some = slice(segment, segment + len(passage))
            known = counts[some] > 0
            mine = counts[some][known].astype(np.int32)
            count = int(mine.sum())
            made.append(SegmentRows(rows[row : row + count].astype(np.int32), mine, lengths[some][known]))
            segment, row = some.stop, row + count
        return made

    def compare(self, query: str, vector: Vector, passages: Sequence[SegmentRows]) -> list[Likeness]:
        """Return how alike a query, with its vector, and each of these passages are.

        Each word of the query looks for the word most like it, once per segment and once in the whole passage. The word
        similarity is the mean of the best segment's sum and the whole passage's sum, weighted by the length of rows.
        """
        loaded = self._load()
        filled = [each for each in passages if len(each)]
        asked, weights, units = _query_rows(loaded, query)
        if not filled or not len(asked):
            return [UNLIKE] * len(passages)
        counts = np.concatenate([each.counts for each in filled])
        starts = _starts(counts)
        firsts = _starts(np.array([len(each.counts) for each in filled]))
        distinct, place = _distinct(np.concatenate([each.rows for each in filled]), len(loaded.table))
        known = loaded.table.take(distinct, axis=0).astype(np.float32)

        products = (known @ np.vstack((units, vector)).T).T  # one product for words and segments
        alike = np.maximum(products[:-1] / loaded.lengths.take(distinct), 0)
        by_segment = np.maximum.reduceat(alike.take(place, axis=1), starts, axis=1)
        one = np.maximum.reduceat(weights @ by_segment, firsts)
        whole = weights @ np.maximum.reduceat(by_segment, firsts, axis=1)
        words = np.minimum((one + whole) / 2, 1)

        scaled = products[-1] * loaded.scale.take(distinct)
        cosines = np.add.reduceat(scaled[place], starts) / np.concatenate([each.lengths for each in filled])
        segments = np.maximum.reduceat(cosines, firsts)
        made = map(Likeness, segments.tolist(), words.tolist())
        return [next(made) if len(each) else UNLIKE for each in passages]


def _query_rows(loaded: Table, query: str) -> tuple[RowNumbers, Floats, Floats]:
    """Return the distinct rows of a query, their weights (together 1), and the rows scaled to length 1."""
    rows = np.unique(loaded.query_rows(query))
    weights = loaded.lengths.take(rows) * loaded.scale.take(rows)
    if len(rows) > MAX_QUERY_ROWS:
        heaviest = np.sort(np.argsort(-weights, kind="stable")[:MAX_QUERY_ROWS])
        rows, weights = rows[heaviest], weights[heaviest]
    units: Floats = loaded.table.take(rows, axis=0).astype(np.float32) / loaded.lengths.take(rows)[:, None]
    shares: Floats = weights / np.float32(max(weights.sum(), 1e-9))
    return rows, shares, units


def row_lengths(table: npt.NDArray[np.int8]) -> Floats:
    """Return the length of each row of a table; 1 for a row of zeros, which is like no other."""
    lengths = np.empty(len(table), np.float32)
    for start in range(0, len(table), _ROWS_AT_ONCE):
        rows = table[start : start + _ROWS_AT_ONCE].astype(np.float32)
        lengths[start : start + len(rows)] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = 1
    return lengths


def _distinct(rows: RowNumbers, count: int) -> tuple[npt.NDArray[np.int64], RowNumbers]:
    """Return the distinct ones of these rows in ascending order, and the place of each row among them.

    `count` is the number of all rows. np.unique sorts: 0.42 ms for the rows of 24 passages, where this takes 0.05.
    """
    occurs = np.zeros(count, np.bool_)
    occurs[rows] = True
    distinct = np.flatnonzero(occurs)
    place = np.empty(count, np.int32)
    place[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, place[rows]


def _sum_lengths(loaded: Table, rows: RowNumbers, counts: npt.NDArray[np.int64]) -> Floats:
    """Return the length of the sum of each segment's rows: what its vector was divided by.

    A product per segment is faster than one `reduceat` over all rows, and needs little memory. To read the rows of a
    few segments at once takes 0.5 ms for the best hits of a search, one by one 0.8.
    """
    sums, scales = np.zeros((len(counts), loaded.table.shape[1]), np.float32), loaded.scale.take(rows)
    end = 0
    for first in range(0, len(counts), _SEGMENTS_AT_ONCE):
        some = counts[first : first + _SEGMENTS_AT_ONCE].tolist()
        start, end = end, end + sum(some)
        values, weights = loaded.table.take(rows[start:end], axis=0).astype(np.float32), scales[start:end]
        bounds = pairwise(accumulate(some, initial=0))
        for total, (left, right) in zip(sums[first : first + _SEGMENTS_AT_ONCE], bounds, strict=True):
            np.dot(weights[left:right], values[left:right], out=total)
    lengths: Floats = np.sqrt(np.vecdot(sums, sums))
    lengths[lengths == 0] = 1
    return lengths


def _starts(counts: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    starts: npt.NDArray[np.integer] = np.cumsum(counts) - counts
    return starts
