"""Fusion: one order from two legs, with scores that add up and a fixed order of equal hits."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.ranking.fusion import Weights, convex, rescore, rrf
from findspot.ranking.normal import BM25_HALF, bm25_norm
from findspot.ranking.scores import Ranked, keyword_leg, vector_leg

IDS = st.integers(1, 30)
BM25 = st.dictionaries(IDS, st.floats(0, 60, allow_nan=False), max_size=25)
COSINES = st.dictionaries(IDS, st.floats(-1, 1, allow_nan=False), max_size=25)
WEIGHTS = st.builds(Weights, st.floats(0.01, 1), st.floats(0.01, 1))


def similarity(cosine: float) -> float:
    return max(0.0, cosine)


def similarities(cosines: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.maximum(cosines, 0.0)


def fused(bm25: dict[int, float], cosines: dict[int, float], weights: Weights) -> dict[str, list[Ranked[int]]]:
    keyword, vector = keyword_leg(bm25), vector_leg(cosines)
    return {
        "rrf": rrf(keyword, vector, weights),
        "convex": list(convex(keyword, vector, weights, similarities)),
    }


@pytest.mark.scenario("D11")
@given(BM25, COSINES, WEIGHTS)
def test_the_parts_of_a_score_add_up_and_are_between_0_and_1(
    bm25: dict[int, float], cosines: dict[int, float], weights: Weights
) -> None:
    for hits in fused(bm25, cosines, weights).values():
        for hit in hits:
            assert hit.score == pytest.approx(sum(part.share for part in hit.parts), abs=1e-9)
            assert -1e-9 <= hit.score <= 1 + 1e-9


@given(BM25, COSINES, WEIGHTS, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(
    bm25: dict[int, float], cosines: dict[int, float], weights: Weights, chance: object
) -> None:
    def shuffled(scores: dict[int, float]) -> dict[int, float]:
        items = list(scores.items())
        chance.shuffle(items)  # type: ignore[attr-defined]
        return dict(items)

    assert fused(bm25, cosines, weights) == fused(shuffled(bm25), shuffled(cosines), weights)


@given(BM25, COSINES, WEIGHTS)
def test_each_hit_is_returned_once_and_the_best_first(
    bm25: dict[int, float], cosines: dict[int, float], weights: Weights
) -> None:
    for hits in fused(bm25, cosines, weights).values():
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        ids = [hit.id for hit in hits]
        assert len(ids) == len(set(ids))
        assert set(ids) == {id for id, score in bm25.items() if score > 0} | set(cosines)


@given(BM25, COSINES, WEIGHTS, IDS, st.floats(0.1, 5))
def test_a_better_score_in_one_leg_never_lowers_the_fused_score(
    bm25: dict[int, float], cosines: dict[int, float], weights: Weights, id: int, more: float
) -> None:
    before = fused({**bm25, id: bm25.get(id, 0.0)}, cosines, weights)
    after = fused({**bm25, id: bm25.get(id, 0.0) + more}, cosines, weights)
    for name, hits in after.items():
        old = next((hit.score for hit in before[name] if hit.id == id), 0.0)
        assert next(hit.score for hit in hits if hit.id == id) >= old - 1e-12


@pytest.mark.scenario("D11")
def test_rrf_gives_1_to_the_first_of_both_legs_and_less_to_the_second() -> None:
    first, second = rrf(keyword_leg({"a": 9.0, "b": 3.0}), vector_leg({"a": 0.9, "b": 0.8}), Weights(0.3, 0.7))
    assert (first.id, first.score) == ("a", 1.0)
    assert second.score == pytest.approx(61 / 62)


def test_a_bm25_score_of_zero_is_no_keyword_hit() -> None:
    hits = rrf(keyword_leg({1: 0.0, 2: 0.1}), vector_leg({1: 0.2, 2: 0.1}), Weights(1, 1))
    assert {hit.id: hit.part("keyword").rank for hit in hits} == {1: None, 2: 1}


def test_the_score_of_a_leg_that_did_not_recall_a_hit_counts_without_a_rank() -> None:
    keyword, vector = keyword_leg({1: 9.0}, also={2: 3.0}), vector_leg({2: 0.9}, also={1: 0.5})
    found = {hit.id: hit for hit in convex(keyword, vector, Weights(0.8, 0.2), similarities)}
    assert found[2].part("keyword").raw == 3.0
    assert found[2].part("keyword").rank is None
    assert found[2].part("keyword").norm == bm25_norm(3.0)
    assert found[1].part("vector").norm == 0.5


@given(BM25, COSINES, WEIGHTS, st.dictionaries(IDS, st.tuples(st.floats(-1, 1), st.floats(0, 1))))
def test_the_second_stage_keeps_all_hits_and_its_parts_add_up(
    bm25: dict[int, float], cosines: dict[int, float], weights: Weights, looks: dict[int, tuple[float, float]]
) -> None:
    before = list(convex(keyword_leg(bm25), vector_leg(cosines), weights, similarities))
    after = rescore(before, looks, {hit.id: hit.id % 3 for hit in before}, similarity)
    assert {hit.id for hit in before} == {hit.id for hit in after}
    assert [hit.score for hit in after] == sorted((hit.score for hit in after), reverse=True)
    for hit in after:
        assert [part.leg for part in hit.parts] == ["keyword", "vector", "word_similarity", "document"]
        assert hit.score == pytest.approx(sum(part.share for part in hit.parts), abs=1e-9)
        assert sum(part.weight for part in hit.parts) == pytest.approx(1)
        assert -1e-9 <= hit.score <= 1 + 1e-9
        assert hit.id in looks or hit.part("word_similarity").norm == hit.part("document").norm == 0


@given(BM25, COSINES, WEIGHTS)
def test_hits_that_were_not_looked_at_stay_behind(
    bm25: dict[int, float], cosines: dict[int, float], weights: Weights
) -> None:
    before = list(convex(keyword_leg(bm25), vector_leg(cosines), weights, similarities))
    looks = {hit.id: (-1.0, 0.0) for hit in before[:5]}
    after = rescore(before, looks, {hit.id: hit.id for hit in before}, similarity)
    assert min((hit.score for hit in after if hit.id in looks), default=1) >= max(
        (hit.score for hit in after if hit.id not in looks), default=0
    )


def test_the_second_stage_prefers_better_segments_and_more_similar_words() -> None:
    hits = list(convex(keyword_leg({}), vector_leg({1: 0.5, 2: 0.4}), Weights(0.5, 0.5), similarities))
    apart = {1: "one", 2: "two"}
    assert [hit.id for hit in rescore(hits, {1: (0.3, 0.4), 2: (0.8, 0.4)}, apart, similarity)] == [2, 1]
    assert [hit.id for hit in rescore(hits, {1: (0.5, 0.4), 2: (0.4, 0.8)}, apart, similarity)] == [2, 1]


def test_a_hit_gains_from_a_better_hit_of_the_same_document() -> None:
    hits = list(convex(keyword_leg({1: 60.0, 2: 12.0, 3: 11.5}), vector_leg({}), Weights(1, 0), similarities))
    looks = dict.fromkeys((1, 2, 3), (-1.0, 0.5))
    assert [hit.id for hit in rescore(hits, looks, {1: "a", 2: "b", 3: "c"}, similarity)] == [1, 2, 3]
    assert [hit.id for hit in rescore(hits, looks, {1: "a", 2: "b", 3: "a"}, similarity)] == [1, 3, 2]


def test_a_hit_of_one_leg_is_ranked_by_that_leg_alone() -> None:
    hits = list(convex(keyword_leg({1: BM25_HALF}), vector_leg({2: 1.0}), Weights(0.8, 0.2), similarities))
    assert [(hit.id, round(hit.score, 6)) for hit in hits] == [(1, 0.4), (2, 0.2)]
    assert hits[0].part("vector").raw is None


@given(BM25, COSINES, WEIGHTS)
def test_scores_are_exact_and_equal_ones_are_ordered_by_keyword_rank_then_id(
    bm25: dict[int, float], cosines: dict[int, float], weights: Weights
) -> None:
    rough = {id: float(round(score / 20)) for id, score in bm25.items()}  # many are equal
    hits = list(convex(keyword_leg(rough), vector_leg(dict.fromkeys(cosines, 0.5)), weights, similarities))
    ranks, scaled = keyword_leg(rough).ranks(), weights.scaled()
    for hit in hits:
        assert hit.score == scaled.keyword * bm25_norm(rough.get(hit.id, 0.0)) + scaled.vector * (hit.id in cosines) / 2
    assert hits == sorted(hits, key=lambda hit: (-hit.score, ranks.get(hit.id, 99), hit.id))


def test_two_weights_of_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="above zero"):
        rrf(keyword_leg({1: 1.0}), vector_leg({1: 1.0}), Weights(0, 0))
