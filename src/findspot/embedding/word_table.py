"""Compares a query with passages segment by segment and word by word, by the rows of a static model's table.

docs/ranking.md has the formulas. Only an embedder that makes vectors of words can do this; one behind an API cannot.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from findspot.embedding.protocol import Vector

RowNumbers: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float32]

MAX_QUERY_ROWS = 128  # distinct words of a query that are compared: those with the longest rows


class Table(Protocol):
    """The loaded model: the rows of texts, and the table that they number."""

    table: npt.NDArray[np.int8]
    scale: Floats

    def rows(self, texts: Sequence[str]) -> list[npt.NDArray[np.int64]]: ...


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
        found = iter(loaded.rows(list(chain.from_iterable(passages))))
        made = []
        for segments in passages:
            rows = [each for each in (next(found) for _ in segments) if len(each)]
            counts = np.array([len(each) for each in rows], np.int32)
            flat = np.concatenate(rows).astype(np.int32) if rows else np.empty(0, np.int32)
            made.append(SegmentRows(flat, counts, _sum_lengths(loaded, rows)))
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
        distinct, place = np.unique(np.concatenate([each.rows for each in filled]), return_inverse=True)
        known = loaded.table.take(distinct, axis=0).astype(np.float32)
        lengths = _row_lengths(known)

        products = (known @ np.vstack((units, vector)).T).T  # one product for words and segments
        alike = np.maximum(products[:-1] / lengths, 0)
        by_segment = np.maximum.reduceat(alike[:, place], starts, axis=1)
        one = np.maximum.reduceat(weights @ by_segment, firsts)
        whole = weights @ np.maximum.reduceat(by_segment, firsts, axis=1)
        words = np.minimum((one + whole) / 2, 1)

        scaled = products[-1] * loaded.scale.take(distinct)
        cosines = np.add.reduceat(scaled[place], starts) / np.concatenate([each.lengths for each in filled])
        segments = np.maximum.reduceat(cosines, firsts)
        made = map(Likeness, segments.tolist(), words.tolist())
        return [next(made) if len(each) else UNLIKE for each in passages]


def _query_rows(loaded: Table, query: str) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """Return the distinct rows of a query, their weights (together 1), and the rows scaled to length 1."""
    rows = np.unique(loaded.rows([query])[0])
    floats = loaded.table.take(rows, axis=0).astype(np.float32)
    lengths = _row_lengths(floats)
    weights = lengths * loaded.scale.take(rows)
    if len(rows) > MAX_QUERY_ROWS:
        heaviest = np.sort(np.argsort(-weights, kind="stable")[:MAX_QUERY_ROWS])
        rows, floats, lengths, weights = rows[heaviest], floats[heaviest], lengths[heaviest], weights[heaviest]
    return rows, weights / max(float(weights.sum()), 1e-9), floats / lengths[:, None]


def _row_lengths(rows: Floats) -> Floats:
    """Return the length of each row; 1 for a row of zeros, which is like no other."""
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = 1
    return lengths


def _sum_lengths(loaded: Table, segments: Sequence[npt.NDArray[np.int64]]) -> Floats:
    """Return the length of the sum of each segment's rows: what its vector was divided by.

    einsum starts no threads, and summing segment by segment needs little memory.
    """
    lengths = np.empty(len(segments), np.float32)
    for place, rows in enumerate(segments):
        scaled = np.einsum("i,ij->j", loaded.scale.take(rows), loaded.table.take(rows, axis=0).astype(np.float32))
        lengths[place] = np.sqrt(np.einsum("i,i->", scaled, scaled))
    lengths[lengths == 0] = 1
    return lengths


def _starts(counts: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    starts: npt.NDArray[np.integer] = np.cumsum(counts) - counts
    return starts
