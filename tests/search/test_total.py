"""The rows of the table of totals, in their order."""

import pytest

from findspot.search.total import Counts, Total


@pytest.mark.parametrize(
    ("counts", "total"),
    [
        pytest.param(Counts(7, 100, ranked_all=True, leg_matches=50), Total(7, exact=True), id="1 all ranked"),
        pytest.param(
            Counts(7, 100, keywords_only=True, keywords_exhausted=True, vectors_failed=True, texts_decide=True),
            Total(7, exact=True),
            id="2 keywords only and exhausted",
        ),
        pytest.param(Counts(7, 100, texts_decide=True, leg_matches=50), Total(7, exact=False), id="3 texts decide"),
        pytest.param(Counts(7, 100, leg_matches=101), Total(100, exact=False), id="4 more than the limit"),
        pytest.param(
            Counts(7, 100, leg_matches=99, vector_only_hits=2), Total(100, exact=False), id="4 limit, with vector hits"
        ),
        pytest.param(
            Counts(7, 100, leg_matches=50, more_by_vector=True), Total(50, exact=False), id="5 more by vector"
        ),
        pytest.param(
            Counts(7, 100, leg_matches=50, vectors_failed=True, keywords_exhausted=True),
            Total(50, exact=False),
            id="6 vectors failed later",
        ),
        pytest.param(
            Counts(7, 100, leg_matches=50, vectors_failed=True, keywords_only=True),
            Total(50, exact=True),
            id="7 keywords only, with more candidates",
        ),
        pytest.param(Counts(7, 100, leg_matches=50, vector_only_hits=3), Total(53, exact=True), id="7 counted"),
        pytest.param(Counts(7, 100, leg_matches=5), Total(7, exact=True), id="7 never fewer than the hits"),
    ],
)
def test_the_first_row_that_applies_decides_the_total(counts: Counts, total: Total) -> None:
    assert counts.total() == total
