"""Scores on the scale from 0 to 1."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.ranking.normal import bm25_norm, recency

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@given(st.floats(0, 1000), st.floats(0, 1000))
def test_a_higher_bm25_score_never_becomes_a_lower_normalised_score(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= bm25_norm(low) <= bm25_norm(high) < 1
    assert bm25_norm(low, full_match=True) <= bm25_norm(high, full_match=True) < 1


@pytest.mark.scenario("D13")
def test_recency_halves_every_thirty_days_and_the_future_counts_as_now() -> None:
    assert recency(NOW, NOW) == 1
    assert recency(NOW - timedelta(days=30), NOW) == pytest.approx(0.5)
    assert recency(NOW - timedelta(days=60), NOW) == pytest.approx(0.25)
    assert recency(NOW + timedelta(days=5), NOW) == 1
