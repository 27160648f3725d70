"""The choice of passages within a budget."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot import tokens
from findspot.retrieval import labels
from findspot.retrieval.budget import Selected, Selection, block
from findspot.retrieval.passages import Passage
from findspot.retrieval.request import Limits
from tests.retrieval.passages import passage, ranked_passages

CODE = "5e9ba8b0"


def choose(found: list[Passage], top_k: int = 5, max_tokens: int = 1500) -> Selected:
    selection = Selection(Limits(top_k, 0.0, max_tokens), CODE, lambda each: each)
    for each in found:
        selection.offer(each)
    return selection.finish()


# ── what always holds ──


@given(ranked_passages(), st.integers(1, 12), st.integers(1, 900))
def test_an_answer_is_never_over_the_budget_or_over_top_k(found: list[Passage], top_k: int, most: int) -> None:
    selected = choose(found, top_k, most)
    assert tokens.count(selected.text) == selected.used_tokens <= most
    assert len(selected.chosen) <= top_k


@given(ranked_passages(), st.integers(1, 12), st.integers(1, 900))
def test_no_two_passages_overlap_and_scores_never_rise(found: list[Passage], top_k: int, most: int) -> None:
    chosen = [each.passage for each in choose(found, top_k, most).chosen]
    assert all(not one.shares(other) for place, one in enumerate(chosen) for other in chosen[:place])
    assert all(one.score >= other.score for one, other in pairwise(chosen))


@given(ranked_passages(), st.integers(1, 12), st.integers(1, 900))
def test_every_passage_is_chosen_or_dropped_with_a_reason_once(found: list[Passage], top_k: int, most: int) -> None:
    selected = choose(found, top_k, most)
    chosen = [id for each in selected.chosen for id in each.passage.chunk_ids]
    dropped = [each.chunk_id for each in selected.dropped]
    assert sorted(chosen + dropped) == sorted(each.chunk_id for each in found)


@given(ranked_passages(), st.integers(1, 12), st.integers(1, 900))
def test_the_same_passages_give_the_same_answer(found: list[Passage], top_k: int, most: int) -> None:
    assert choose(found, top_k, most) == choose(found, top_k, most)


@given(ranked_passages(), st.integers(1, 900))
def test_the_texts_are_exactly_those_of_their_documents(found: list[Passage], most: int) -> None:
    characters = {
        (each.document_id, each.start + at): character for each in found for at, character in enumerate(each.text)
    }
    for chosen in choose(found, 10, most).chosen:
        each = chosen.passage
        assert len(each.text) == each.end - each.start
        for at, character in enumerate(each.text):
            assert characters.get((each.document_id, each.start + at), "\n") == character


@given(ranked_passages())
def test_the_tokens_of_the_parts_add_up_to_those_of_the_whole(found: list[Passage]) -> None:
    selected = choose(found, 12, 100_000)
    parts = sum(each.tokens for each in selected.chosen)
    assert not selected.chosen or tokens.count(labels.head(CODE)) + parts == selected.used_tokens


@given(ranked_passages(), st.integers(0, 900))
def test_a_smaller_budget_keeps_the_first_passages(found: list[Passage], most: int) -> None:
    whole = choose(found, 12, 100_000)
    fewer = whole.within(most)
    assert tokens.count(fewer.text) == fewer.used_tokens <= most
    assert fewer.chosen == whole.chosen[: len(fewer.chosen)]
    assert fewer.truncated == (len(fewer.chosen) < len(whole.chosen))


# ── choosing ──


def _of_about(count: int, number: int) -> str:
    """Return a text of this many tokens, unlike that of any other number."""
    words = " ".join(f"w{number * 1000 + at}" for at in range(count))
    while tokens.count(words) > count:
        words = words.rpartition(" ")[0]
    return words


@pytest.mark.scenario("004.rag.over-budget")
def test_ten_chunks_of_3000_tokens_fill_a_budget_of_1500_with_the_best_and_the_others_are_dropped() -> None:
    found = [passage(_of_about(300, n), 0, 0.95 - n / 100, n + 1, n + 1) for n in range(10)]
    assert 2900 <= sum(tokens.count(each.text) for each in found) <= 3000
    selected = choose(found, 10, 1500)
    assert [each.passage.chunk_id for each in selected.chosen] == [1, 2, 3, 4]
    assert selected.used_tokens <= 1500 < selected.used_tokens + min(each.tokens for each in selected.dropped)
    assert [(each.chunk_id, each.reason) for each in selected.dropped] == [(n, "budget") for n in range(5, 11)]
    assert selected.truncated


def test_a_later_passage_that_fits_is_taken_when_an_earlier_one_does_not() -> None:
    sizes = [200, 900, 100]
    found = [passage(_of_about(size, n), 0, 0.9 - n / 10, n + 1, n + 1) for n, size in enumerate(sizes)]
    selected = choose(found, 5, 600)
    assert [each.passage.chunk_id for each in selected.chosen] == [1, 3]
    assert [(each.chunk_id, each.reason) for each in selected.dropped] == [(2, "budget")]


def test_passages_after_the_last_place_are_dropped_as_such() -> None:
    found = [passage(_of_about(50, n), 0, 0.9 - n / 10, n + 1, n + 1) for n in range(3)]
    selected = choose(found, 2)
    assert [(each.chunk_id, each.reason) for each in selected.dropped] == [(3, "top_k")]
    assert not selected.truncated


LONG = "The warehouse stood empty at the end of the quay, and nobody had opened its iron door in years. "
CHINESE = "废弃仓库坐落在码头尽头，铁皮屋顶早已锈穿，雨水顺着裂缝滴在堆积的木箱上，谁也不记得上一次开门是什么时候。"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LONG, LONG.upper()),
        (LONG, LONG.replace("iron", "steel")),
        (LONG * 3, LONG),
        (CHINESE, CHINESE.replace("废弃仓库", "廢棄倉庫").replace("铁", "鐵")),
        (CHINESE, CHINESE.replace("，", ",")),
        (f"{CHINESE} quay 码头 📦", f"{CHINESE} ＱＵＡＹ 碼頭 📦"),
    ],
)
def test_near_duplicates_are_dropped_whatever_their_spelling(first: str, second: str) -> None:
    found = [passage(first, 0, 0.9, 1, 1), passage(second, 0, 0.8, 2, 2)]
    assert [(each.chunk_id, each.reason) for each in choose(found).dropped] == [(2, "duplicate")]


@pytest.mark.parametrize(
    "others",
    [
        (LONG + "It costs 40 euros.", LONG + "It costs 90 euros."),
        (CHINESE + "版本是 2.1。", CHINESE + "版本是 2.2。"),
        (LONG, CHINESE),
    ],
)
def test_texts_with_other_numbers_or_other_words_are_no_duplicates(others: tuple[str, str]) -> None:
    found = [passage(text, 0, 0.9 - n / 10, n + 1, n + 1) for n, text in enumerate(others)]
    assert choose(found).dropped == ()


def test_a_passage_that_lies_mostly_in_a_better_one_is_dropped_and_one_that_lies_partly_in_it_is_cut() -> None:
    text = "".join(chr(0x4E00 + at) for at in range(300))
    best = passage(text[:100], 0, 0.9, 1, 1)
    inside = passage(text[30:120], 30, 0.8, 1, 2)
    other_place = replace(passage(text[80:200], 80, 0.7, 1, 3), context=replace(best.context, headings=("other",)))
    selected = choose([best, inside, other_place])
    assert [(each.chunk_id, each.reason) for each in selected.dropped] == [(2, "overlap")]
    cut = selected.chosen[1].passage
    assert (cut.start, cut.end, cut.text) == (100, 200, text[100:200])


# ── merging ──


def test_neighbours_below_the_same_headings_become_one_passage_with_the_better_score() -> None:
    whole = f"{LONG}\n\n{CHINESE}"
    second = len(LONG) + 2
    found = [passage(CHINESE, second, 0.9, 1, 7), passage(LONG, 0, 0.8, 1, 6)]
    (chosen,) = choose(found).chosen
    assert (chosen.passage.text, chosen.passage.start, chosen.passage.end) == (whole, 0, len(whole))
    assert (chosen.passage.score, chosen.passage.chunk_ids) == (0.9, (7, 6))


def test_a_passage_between_two_others_joins_all_three_at_the_place_of_the_best() -> None:
    text = "".join(chr(0x4E00 + at) for at in range(400))
    apart = passage(LONG, 0, 0.85, 2, 9)
    found = [
        passage(text[:150], 0, 0.9, 1, 1),
        apart,
        passage(text[240:400], 240, 0.8, 1, 3),
        passage(text[130:260], 130, 0.7, 1, 2),
    ]
    selected = choose(found)
    assert [each.passage.chunk_ids for each in selected.chosen] == [(1, 2, 3), (9,)]
    assert selected.chosen[0].passage.text == text


def test_neighbours_that_do_not_fit_as_one_stay_apart_and_the_later_one_is_dropped() -> None:
    first, second = passage(LONG, 0, 0.9, 1, 1), passage(CHINESE, len(LONG) + 2, 0.8, 1, 2)
    alone = tokens.count(labels.head(CODE)) + tokens.count(block(CODE, first))
    selected = choose([first, second], 5, alone + 5)
    assert [each.passage.chunk_ids for each in selected.chosen] == [(1,)]
    assert [(each.chunk_id, each.reason) for each in selected.dropped] == [(2, "budget")]


@pytest.mark.parametrize("gap", [1, 3, 40])
def test_passages_are_not_merged_over_text_that_is_not_known(gap: int) -> None:
    found = [passage(LONG, 0, 0.9, 1, 1), passage(CHINESE, len(LONG) + gap, 0.8, 1, 2)]
    assert len(choose(found).chosen) == 2


def test_passages_of_a_document_that_has_changed_are_not_merged_over_a_gap() -> None:
    first, second = passage(LONG, 0, 0.9, 1, 1), passage(CHINESE, len(LONG) + 2, 0.8, 1, 2)
    assert len(choose([first, second]).chosen) == 1
    assert len(choose([first, replace(second, is_indexed=False)]).chosen) == 2


def test_passages_below_different_headings_are_not_merged() -> None:
    first = passage(LONG, 0, 0.9, 1, 1)
    second = passage(CHINESE, len(LONG) + 2, 0.8, 1, 2)
    second = replace(second, context=replace(second.context, headings=("下一节",)))
    assert len(choose([first, second]).chosen) == 2
