"""The formula of workspace search: fixed weights, shown scores that add up, and a fixed order of equal hits."""

from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.ranking.normal import BM25_HALF, FULL_MATCH_FLOOR, bm25_norm, recency
from findspot.ranking.scores import keyword_leg, vector_leg
from findspot.ranking.workspace import BY_KEYWORD, BY_VECTOR, HYBRID, Origin, Shows, explained, look_closer, rank, shown

NOW = datetime(2026, 1, 1, tzinfo=UTC)
IDS = st.integers(1, 30)
BM25 = st.dictionaries(IDS, st.floats(0, 60, allow_nan=False), max_size=25)
COSINES = st.dictionaries(IDS, st.floats(-1, 1, allow_nan=False), max_size=25)
ORIGINS = {id: Origin(id % 5, NOW - timedelta(days=id % 7 * 20)) for id in range(1, 31)}
FULL = frozenset(range(9))


def similarity(cosine: float) -> float:
    return max(0.0, cosine)


def similarities(cosines: "npt.NDArray[np.float64]") -> "npt.NDArray[np.float64]":
    return np.maximum(cosines, 0.0)


@pytest.mark.scenario("004.ranking.formula", "004.acceptance.owner-fixes-ranking", "D34")
def test_the_weights_of_the_formula_are_fixed() -> None:
    assert dict(HYBRID) == {"keyword": 0.55, "vector": 0.35, "recency": 0.10}
    (hit,) = rank(keyword_leg({1: BM25_HALF}), vector_leg({1: 0.5}), similarities, {1: Origin(1, NOW)}, NOW)
    assert hit.score == (0.275, 0.175, 0.1, 0.55)


@pytest.mark.scenario("004.ranking.breakdown")
@given(BM25, COSINES)
def test_the_shown_shares_add_up_exactly_to_the_shown_total(bm25: dict[int, float], cosines: dict[int, float]) -> None:
    for weights in (HYBRID, BY_KEYWORD, BY_VECTOR):
        hits = rank(keyword_leg(bm25), vector_leg(cosines), similarities, ORIGINS, NOW, FULL, weights)
        assert {hit.id for hit in hits} == {id for id, score in bm25.items() if score > 0} | cosines.keys()
        totals = [hit.score.total for hit in hits]
        assert totals == sorted(totals, reverse=True)
        for *shares, total in (hit.score for hit in hits):
            assert f"{sum(shares):.6f}" == f"{total:.6f}"
            assert 0 <= total <= 1


@given(BM25, COSINES)
def test_an_explanation_gives_the_same_score_as_the_search(bm25: dict[int, float], cosines: dict[int, float]) -> None:
    keyword, vector = keyword_leg(bm25), vector_leg(cosines)
    for leg in (vector, None):
        hits = rank(keyword, leg, similarities, ORIGINS, NOW, FULL)
        fresh = {hit.id: recency(ORIGINS[hit.id].updated_at, NOW) for hit in hits}
        reasons = explained(fresh, keyword, leg, similarity, FULL, {})
        for hit in hits:
            why = reasons[hit.id]
            assert shown(why) == hit.score
            assert why.part("keyword").rank == keyword.ranks().get(hit.id)
            assert sum(part.weight for part in why.parts) == pytest.approx(1)


@given(BM25, COSINES, st.dictionaries(IDS, st.tuples(st.floats(-1, 1), st.floats(0, 1))))
def test_a_closer_look_lowers_no_score_and_is_explained(
    bm25: dict[int, float], cosines: dict[int, float], looks: dict[int, tuple[float, float]]
) -> None:
    keyword, vector = keyword_leg(bm25), vector_leg(cosines)
    before = rank(keyword, vector, similarities, ORIGINS, NOW, FULL)
    after = look_closer(before, looks, cosines, similarity, ORIGINS, HYBRID["vector"])
    was = {hit.id: hit.score for hit in before}
    assert was.keys() == {hit.id for hit in after}
    assert [hit.score.total for hit in after] == sorted((hit.score.total for hit in after), reverse=True)
    for hit in after:
        assert hit.score.total >= was[hit.id].total
        assert hit.id in looks or hit.score == was[hit.id]
        assert hit.score.total == pytest.approx(sum(hit.score[:3]), abs=1e-6)
        fresh = {hit.id: recency(ORIGINS[hit.id].updated_at, NOW)}
        assert shown(explained(fresh, keyword, vector, similarity, FULL, looks)[hit.id]) == hit.score


@given(BM25, COSINES, st.floats(0, 1), st.integers(0, 5), st.frozensets(IDS))
def test_hits_that_are_not_shown_are_left_out_and_the_others_keep_their_order(
    bm25: dict[int, float], cosines: dict[int, float], least: float, first: int, these: frozenset[int]
) -> None:
    keyword, vector = keyword_leg(bm25), vector_leg(cosines)
    every = rank(keyword, vector, similarities, ORIGINS, NOW, FULL)
    some = rank(keyword, vector, similarities, ORIGINS, NOW, FULL, shown=Shows(least, first, these))
    kept = [hit for at, hit in enumerate(every) if hit.score.total >= least or at < first or hit.id in these]
    assert some == kept


def test_a_closer_look_raises_the_passage_whose_words_are_more_like_the_query() -> None:
    hits = rank(keyword_leg({}), vector_leg({1: 0.31, 2: 0.3}), similarities, ORIGINS, NOW)
    looks = {1: (0.3, 0.5), 2: (0.5, 0.9)}
    raised = look_closer(hits, looks, {1: 0.31, 2: 0.3}, similarity, ORIGINS, HYBRID["vector"])
    assert [hit.id for hit in raised] == [2, 1]
    assert raised[0].score.vector == pytest.approx(0.35 * (0.4 + 0.875) / 2, abs=1e-6)


@pytest.mark.scenario("D12")
def test_the_weight_of_a_leg_that_was_not_asked_goes_to_the_others() -> None:
    (hit,) = rank(keyword_leg({1: BM25_HALF}), None, similarities, {1: Origin(1, NOW)}, NOW)
    assert hit.score[:3] == (round(0.55 / 0.65 / 2, 6), 0, round(0.1 / 0.65, 6))


def test_a_hit_of_one_leg_also_gets_the_score_of_the_other() -> None:
    keyword, vector = keyword_leg({1: 9.0}, also={2: 3.0}), vector_leg({2: 0.9}, also={1: 0.5})
    for hit in rank(keyword, vector, similarities, ORIGINS, NOW):
        assert hit.score.keyword > 0
        assert hit.score.vector > 0
        assert hit.has_words
    (hit,) = rank(keyword_leg({}), vector_leg({1: 0.5}), similarities, ORIGINS, NOW)
    assert not hit.has_words


@pytest.mark.scenario("004.ranking.ties")
def test_of_equal_hits_the_newer_comes_first_then_the_one_with_smaller_ids() -> None:
    origins = {1: Origin(9, NOW), 2: Origin(7, NOW), 3: Origin(8, NOW + timedelta(days=1)), 4: Origin(7, NOW)}
    hits = rank(keyword_leg(dict.fromkeys(origins, 5.0)), None, similarities, origins, NOW)
    assert [hit.id for hit in hits] == [3, 2, 4, 1]


def test_scores_that_are_shown_alike_are_equal() -> None:
    origins = {1: Origin(1, NOW - timedelta(seconds=1)), 2: Origin(2, NOW)}
    newer, older = rank(keyword_leg({1: 5.0000001, 2: 5.0}), None, similarities, origins, NOW, weights=BY_KEYWORD)
    assert (newer.id, older.id, newer.score) == (2, 1, older.score)


def test_a_full_match_of_common_words_is_not_hidden() -> None:
    assert bm25_norm(0.01) < 0.01
    assert bm25_norm(0.01, full_match=True) >= FULL_MATCH_FLOOR
    assert bm25_norm(0, full_match=True) == 0
    old = {1: Origin(1, NOW - timedelta(days=900))}
    (hit,) = rank(keyword_leg({1: 0.01}), vector_leg({}), similarities, old, NOW, {1})
    assert hit.score.total >= 0.25
