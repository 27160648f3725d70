"""How related a passage is, on the calibrated scale."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.embedding.calibration import Calibration
from findspot.ranking.relatedness import RELATED, by_words, related, relatedness
from findspot.ranking.scores import keyword_leg, vector_leg

similarity = Calibration(17.06, -4.57).score
BM25 = st.dictionaries(st.integers(1, 20), st.floats(0.01, 200))
COSINES = st.dictionaries(st.integers(1, 20), st.floats(-1, 1))


@given(BM25, COSINES, st.floats(0, 1), st.randoms(use_true_random=False))
def test_nothing_is_below_the_least_score_and_scores_never_rise(
    bm25: dict[int, float], cosines: dict[int, float], least: float, random: object
) -> None:
    order = sorted(bm25.keys() | cosines.keys(), key=lambda id: hash((id, str(random))))
    found = related(order, keyword_leg(bm25), vector_leg(cosines), similarity, least)
    assert all(each.score >= least for each in found)
    assert all(one.score >= other.score for one, other in pairwise(found))
    assert [each.id for each in found] == [id for id in order if id in {each.id for each in found}]


@given(BM25, COSINES)
def test_a_passage_is_at_least_as_related_as_its_meaning_and_its_words_say(
    bm25: dict[int, float], cosines: dict[int, float]
) -> None:
    keyword, vector = keyword_leg(bm25), vector_leg(cosines)
    for id in bm25.keys() | cosines.keys():
        found = relatedness(id, keyword, vector, similarity)
        assert found.meaning is not None
        assert max(found.meaning, found.words) - 1e-6 <= found.score <= 1


def test_a_score_is_raised_only_to_that_of_a_passage_behind_it() -> None:
    keyword = keyword_leg({1: 24.0, 2: 90.0, 3: 30.0})
    alone = {id: relatedness(id, keyword, None, similarity).score for id in (1, 2, 3)}
    found = related([1, 2, 3], keyword, None, similarity, 0.0)
    assert [each.score for each in found] == [alone[2], alone[2], alone[3]]


@pytest.mark.parametrize(("bm25", "full", "expected"), [(0, True, 0), (10, False, 0.5), (24, False, 0.706)])
def test_words_are_scaled_to_the_calibrated_scale(bm25: float, full: bool, expected: float) -> None:
    assert by_words(bm25, full_match=full) == pytest.approx(expected, abs=0.001)


def test_a_passage_with_every_word_is_related_however_common_the_words_are() -> None:
    assert by_words(0.1, full_match=True) >= RELATED


def test_without_vectors_words_alone_decide() -> None:
    found = relatedness(1, keyword_leg({1: 10.0}), None, similarity)
    assert (found.score, found.meaning) == (0.5, None)


def test_a_closer_look_raises_the_meaning() -> None:
    keyword, vector = keyword_leg(dict[int, float]()), vector_leg({1: 0.25})
    near = relatedness(1, keyword, vector, similarity, look=(0.6, 0.8))
    assert near.score > relatedness(1, keyword, vector, similarity).score
