"""Finds the codes nearest to a query by scanning them, without a trained index, so that a filter never costs hits.

Rows are divided into parts. If the filter leaves few rows of a part, their codes are compared one by one. If it leaves
many, only the sign of each number is compared first, which takes a tenth of the time, and the codes of the best rows
are compared after that. docs/vectors.md has the measurements.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from os import cpu_count
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from findspot.engines.embedded import kernels
from findspot.engines.embedded.codes import Codes, Query
from findspot.engines.protocol import Stop, Vector

Rows: TypeAlias = npt.NDArray[np.int64]  # row numbers, in ascending order
Mask: TypeAlias = npt.NDArray[np.bool_]

_T = TypeVar("_T")

MAX_PART = 131_072  # rows of a part; comparing their signs takes a quarter of a millisecond
MIN_PART = 4096  # rows of a part with signs; fewer rows at the end are read into memory
SLICE = 4096  # rows whose codes are compared in one slice: they fit into the cache of a core
_MIN_DIMENSION = 64  # below this, signs are too inaccurate, and comparing codes is fast
_FEW = 6  # if a filter leaves less than one row in six, comparing signs first is slower
_PICKED, _MIN_PICKED = 15, 2000  # rows picked by their signs, for each wanted hit
_ALONE = 524_288  # rows whose signs are compared in one thread, in about a millisecond

CORES = min(4, cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows from `start` on. Their codes are a memory-mapped file; their signs are in memory."""

    start: int
    codes: Codes
    signs: kernels.Signs | None

    @property
    def end(self) -> int:
        return self.start + len(self.codes)


def grown(parts: tuple[Part, ...], file: Path, rows: int, dimension: int) -> tuple[Part, ...]:
    """Return the parts of a file that has grown to this many rows.

    New rows become a part when there are enough of them. The part also takes over preceding parts that are not larger,
    so that there are few parts, and each row is moved only a few times.
    """
    kept = [part for part in parts if len(part.codes) >= MIN_PART]
    start = kept[-1].end if kept else 0
    if rows - start >= MIN_PART:
        while kept and len(kept[-1].codes) <= rows - start and rows - kept[-1].start <= MAX_PART:
            start = kept.pop().start
        spans = [(first, min(first + MAX_PART, rows)) for first in range(start, rows - MIN_PART + 1, MAX_PART)]
        kept += _in_threads([partial(_part, file, *span, dimension) for span in spans])
        start = kept[-1].end
    if start < rows:
        kept.append(Part(start, read(file, start, rows - start, dimension), None))
    return tuple(kept)


def read(file: Path, start: int, count: int, dimension: int) -> Codes:
    """Read codes into memory."""
    return np.fromfile(file, np.uint8, count * dimension, offset=start * dimension).reshape(count, dimension)


def nearest(
    parts: Sequence[Part], query: Query, limit: int, mask: Mask, stop: Stop = lambda: None
) -> tuple[Rows, Vector]:
    """Return the nearest rows of the mask and their cosines, nearest first."""
    wanted = enough = max(_MIN_PICKED, _PICKED * limit)
    scores, tables = np.full(len(mask), kernels.UNKNOWN, np.uint16), kernels.tables(query.numbers)
    tasks = []
    for part in parts:
        kept = int(np.count_nonzero(mask[part.start : part.end]))
        if part.signs is not None and kept > max(len(part.codes) // _FEW, 2 * enough):
            tasks.append(partial(part.signs.score, tables, scores[part.start : part.end]))
        else:
            wanted += kept  # the codes of all these rows are compared
    _run(tasks, stop, len(mask) > _ALONE)
    rows = kernels.highest(scores, mask, wanted) if tasks else np.flatnonzero(mask)
    return best(parts, query, limit, rows, stop)


def best(parts: Sequence[Part], query: Query, limit: int, rows: Rows, stop: Stop = lambda: None) -> tuple[Rows, Vector]:
    """Compare the codes of these rows. Return the nearest rows and their cosines, nearest first."""
    tasks = [partial(_compare, part, some, query, limit) for part, some in _slices(parts, rows)]
    compared = _run(tasks, stop, len(rows) > 2 * SLICE)
    if not compared:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    rows, products = (np.concatenate(column) for column in zip(*compared, strict=True))
    order = np.lexsort((rows, -products))[:limit]
    return rows[order], np.minimum(products[order] * np.float32(query.scale), np.float32(1))


def _part(file: Path, start: int, end: int, dimension: int) -> Part:
    mapped = np.memmap(file, np.uint8, "r", offset=start * dimension, shape=(end - start, dimension))
    codes = np.asarray(mapped)
    return Part(start, codes, kernels.Signs(codes) if dimension >= _MIN_DIMENSION else None)


def _slices(parts: Sequence[Part], rows: Rows) -> Iterator[tuple[Part, Rows]]:
    for part in parts:
        first, last = np.searchsorted(rows, (part.start, part.end))
        for start in range(first, last, SLICE):
            yield part, rows[start : min(start + SLICE, last)]


def _compare(part: Part, rows: Rows, query: Query, limit: int) -> tuple[Rows, Vector]:
    return kernels.products(part.codes, part.start, rows, query.numbers, limit)


def _run(tasks: Sequence[Callable[[], _T]], stop: Stop, threaded: bool) -> list[_T]:
    """Run tasks in threads, or here if they are short: a thread's start then takes longer than it saves."""
    if threaded:
        return _in_threads(tasks, stop)
    done: list[_T] = []
    for task in tasks:
        stop()
        done.append(task())
    return done


def _in_threads(tasks: Sequence[Callable[[], _T]], stop: Stop = lambda: None) -> list[_T]:
    """Run tasks in this thread and in a thread pool, and return their results in order.

    `stop` is called between tasks, in this thread. If it raises, no other task starts.
    """
    done: dict[int, _T] = {}
    left = iter(enumerate(tasks))  # shared by all threads: each task is taken once

    def work(before: Stop = lambda: None) -> None:
        for number, task in left:
            before()
            done[number] = task()

    helpers = [_threads().submit(work) for _ in range(min(len(tasks), CORES) - 1)]
    try:
        work(stop)
    finally:
        deque(left, maxlen=0)
        late = [helper for helper in helpers if not helper.cancel()]
    for helper in late:
        helper.result()
    return [done[number] for number in range(len(tasks))]


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(CORES, thread_name_prefix="scan")
