"""The budgets of layers, and trimming."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot import tokens
from findspot.retrieval.layers import (
    MINIMUMS,
    LayerName,
    allotted,
    around_cursor,
    budgets,
    first_tokens,
    last_tokens,
)
from tests.retrieval.passages import document_texts

RULES, SETTINGS, RETRIEVED, IMMEDIATE = LayerName
SIZES = st.fixed_dictionaries({name: st.integers(0, 20_000) for name in LayerName})


def sizes(rules: int, settings: int, retrieved: int, immediate: int) -> dict[LayerName, int]:
    return dict(zip(LayerName, (rules, settings, retrieved, immediate), strict=True))


@pytest.mark.parametrize(
    ("total", "expected"), [(10_000, (1500, 1000, 2500, 5000)), (1000, (500, 200, 250, 2000)), (1, (500, 200, 0, 2000))]
)
def test_a_layer_has_its_share_or_its_minimum(total: int, expected: tuple[int, ...]) -> None:
    assert tuple(budgets(total).values()) == expected


@given(st.integers(1, 40_000), SIZES)
def test_layers_never_grow_and_fit_unless_the_rules_alone_do_not(total: int, wanted: dict[LayerName, int]) -> None:
    allowed = allotted(total, wanted)
    assert allowed[RULES] == wanted[RULES]
    assert all(0 <= allowed[name] <= wanted[name] for name in LayerName)
    assert sum(allowed.values()) <= max(total, wanted[RULES])


@given(st.integers(1, 40_000), SIZES)
def test_layers_that_fit_are_not_trimmed(total: int, wanted: dict[LayerName, int]) -> None:
    if sum(wanted.values()) <= total:
        assert allotted(total, wanted) == wanted


@given(st.integers(1, 40_000), SIZES)
def test_settings_are_trimmed_below_their_budget_only_after_retrieved_passages(
    total: int, wanted: dict[LayerName, int]
) -> None:
    allowed, most = allotted(total, wanted), budgets(total)
    if allowed[SETTINGS] < wanted[SETTINGS]:
        assert allowed[RETRIEVED] <= most[RETRIEVED]
    if allowed[SETTINGS] < min(wanted[SETTINGS], most[SETTINGS]):
        assert allowed[RETRIEVED] == MINIMUMS[RETRIEVED]
    if allowed[IMMEDIATE] < min(wanted[IMMEDIATE], most[IMMEDIATE]):
        assert allowed[SETTINGS] <= max(MINIMUMS[SETTINGS], 0)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (sizes(1000, 500, 2500, 5000), sizes(1000, 500, 2500, 5000)),
        (sizes(1000, 500, 4000, 6000), sizes(1000, 500, 2500, 6000)),
        (sizes(1500, 3000, 2500, 9000), sizes(1500, 1000, 2500, 5000)),
        (sizes(4000, 1000, 2500, 5000), sizes(4000, 1000, 0, 5000)),
        (sizes(7000, 1000, 2500, 5000), sizes(7000, 200, 0, 2800)),
        (sizes(9000, 1000, 2500, 5000), sizes(9000, 0, 0, 1000)),
    ],
)
def test_retrieved_passages_are_trimmed_first_then_settings_then_the_immediate_text(
    wanted: dict[LayerName, int], expected: dict[LayerName, int]
) -> None:
    assert allotted(10_000, wanted) == expected


@given(document_texts(), st.integers(0, 120))
def test_a_trimmed_text_is_an_end_of_the_whole_and_fits(text: str, most: int) -> None:
    first, last = first_tokens(text, most), last_tokens(text, most)
    assert text.startswith(first)
    assert text.endswith(last)
    assert max(tokens.count(first), tokens.count(last)) <= most
    if tokens.count(text) <= most:
        assert first == last == text


def test_a_trimmed_text_begins_with_a_sentence() -> None:
    text = "The first sentence is long enough to be left out. The second one stays. The third one stays too."
    assert last_tokens(text, 14) == "The second one stays. The third one stays too."
    chinese = "第一句话写得很长所以会被去掉。第二句话保留下来。第三句话也保留。"
    assert last_tokens(chinese, tokens.count("第二句话保留下来。第三句话也保留。") + 2) in (
        "第二句话保留下来。第三句话也保留。",
        "第三句话也保留。",
    )


def test_a_cluster_of_characters_is_never_split() -> None:
    family = "👨‍👩‍👧‍👦"
    for most in range(1, 60):
        kept = last_tokens(family * 5, most)
        assert kept == family * (len(kept) // len(family))


@given(document_texts(), document_texts(), st.integers(0, 200))
def test_the_text_next_to_the_cursor_stays(before: str, after: str, most: int) -> None:
    left, right = around_cursor(before, after, most)
    assert before.endswith(left)
    assert after.startswith(right)
    assert tokens.count(left) + tokens.count(right) <= most or (left, right) == (before, after)
    if tokens.count(before) + tokens.count(after) <= most:
        assert (left, right) == (before, after)


def test_the_longer_side_of_the_cursor_is_trimmed_first() -> None:
    before, after = "word " * 400, "next " * 40
    left, right = around_cursor(before, after, 200)
    assert right == after
    assert len(left) < len(before)
