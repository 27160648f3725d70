"""Scores of different kinds on one scale from 0 to 1. The scales are absolute: a poor best hit scores poorly."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BM25_HALF = 24.0  # the BM25 score that becomes 0.5: docs/ranking.md
FULL_MATCH_FLOOR = 0.5  # a hit with every word of the query is not hidden because its words are common
HALF_LIFE = timedelta(days=30)
_NO_TIME = timedelta(0)


def bm25_norm(score: float, *, full_match: bool = False) -> float:
    """Scale BM25 to 0…1, in the same way for every query. A hit with all words gets at least FULL_MATCH_FLOOR."""
    if score <= 0:
        return 0.0
    squashed = score / (score + BM25_HALF)
    return max(squashed, FULL_MATCH_FLOOR + squashed * (1 - FULL_MATCH_FLOOR)) if full_match else squashed


def bm25_norms(
    scores: npt.NDArray[np.float64], full_matches: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.float64]:
    """Scale many BM25 scores, none of them negative, each to the bit as `bm25_norm` does."""
    import numpy as np

    squashed = scores / (scores + BM25_HALF)
    if full_matches is None:
        return squashed
    floored = np.maximum(squashed, FULL_MATCH_FLOOR + squashed * (1 - FULL_MATCH_FLOOR))
    return np.where(full_matches & (scores > 0), floored, squashed)


def recency(updated_at: datetime, now: datetime) -> float:
    """Return 1.0 for now, halved for every thirty days since. A time in the future counts as now."""
    age = now - updated_at
    return math.pow(0.5, age / HALF_LIFE) if age > _NO_TIME else 1.0
