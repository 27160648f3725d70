"""Scores of different kinds on one scale from 0 to 1. Absolute: a poor best hit scores poorly."""

import math
from datetime import datetime, timedelta

BM25_HALF = 24.0  # the BM25 score that counts for one half: docs/ranking.md
FULL_MATCH_FLOOR = 0.5  # a hit with every word of the query is never hidden because those words are common
HALF_LIFE = timedelta(days=30)


def bm25_norm(score: float, *, full_match: bool = False) -> float:
    """BM25 squashed to 0…1: monotone, the same for every query. A match of all words keeps a floor."""
    if score <= 0:
        return 0.0
    squashed = score / (score + BM25_HALF)
    return max(squashed, FULL_MATCH_FLOOR + squashed * (1 - FULL_MATCH_FLOOR)) if full_match else squashed


def recency(updated_at: datetime, now: datetime) -> float:
    """1.0 for now, half of it for every thirty days since; what lies in the future counts as now."""
    age = max(now - updated_at, timedelta(0))
    return math.pow(0.5, age / HALF_LIFE)
