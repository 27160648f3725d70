"""Vectors and filters for tests of the vector files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from findspot import pointer
from findspot.engines.embedded import row_finder, scan
from findspot.engines.embedded.row_finder import Ids
from findspot.engines.embedded.sources import Mask
from findspot.engines.embedded.view import View
from findspot.engines.protocol import Source, Stop, Vector, Vectors, Within

DIMENSION = 64
TOLERANCE = 0.02  # error of a cosine that is computed from codes of 64 numbers


def vector(seed: int) -> Vector:
    """A random unit vector. The seed 0 gives a vector of zeros."""
    if seed == 0:
        return np.zeros(DIMENSION, np.float32)
    numbers: Vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    numbers /= np.linalg.norm(numbers)
    return numbers


def vectors(count: int, dimension: int = DIMENSION, seed: int = 1) -> Vectors:
    """Unit vectors in clusters, like those of texts."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(count // 100, 1), dimension), np.float32)
    numbers = centres[random.integers(0, len(centres), count)]
    numbers += random.standard_normal((count, dimension), np.float32)
    numbers /= np.linalg.norm(numbers, axis=1, keepdims=True)
    return numbers


def passes(source: Source, within: Within) -> bool:
    """Return whether a source passes a filter."""
    return (
        pointer.holds(within.pointer, source.pointer)
        and within.cut in (None, (source.chunk_size, source.chunk_overlap))
        and source.length >= within.least_length
        and (within.document_ids is None or source.document_id in within.document_ids)
    )


def nearest(
    view: View, vector: Vector, limit: int, mask: Mask | None = None, stop: Stop = lambda: None
) -> tuple[Ids, Vector]:
    """Return the ids of the nearest chunks and their cosines, nearest first."""
    rows, cosines = view.nearest(view.query(vector), limit, mask, stop)
    return view.chunk_ids[rows], cosines


def cosines_of(view: View, vector: Vector, ids: Sequence[int]) -> dict[int, float]:
    """Return the cosines of those of these chunks that exist and have a vector."""
    return view.cosines(view.query(vector), view.find(ids))


def use_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide even a few rows into several parts and slices."""
    monkeypatch.setattr(scan, "MIN_PART", 8)
    monkeypatch.setattr(scan, "MAX_PART", 32)
    monkeypatch.setattr(scan, "SLICE", 4)
    monkeypatch.setattr(row_finder, "MAX_UNSORTED", 8)
