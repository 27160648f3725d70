from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.versions import diff as diffs
from findspot.versions.alignment import Budget, align
from findspot.versions.diff import Change, diff

texts = st.text(alphabet="ab中文。. \n\u2028\r", max_size=60) | st.text(max_size=20)


def assert_sound(old: str, new: str, changes: list[Change]) -> None:
    assert "".join(change.text for change in changes if change.op != "insert") == old
    assert "".join(change.text for change in changes if change.op != "delete") == new
    assert all(change.text for change in changes)
    assert all(first.op != second.op for first, second in pairwise(changes))
    assert all((first.op, second.op) != ("insert", "delete") for first, second in pairwise(changes))


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("", "", ""),
        ("", "new", "{+new}"),
        ("old", "", "[-old]"),
        ("same", "same", "same"),
        ("the quick brown fox", "the slow red fox jumps", "the [-quick brown]{+slow red} fox{+ jumps}"),
        ("我们今天去北京。", "我们明天去上海。", "我们[-今]{+明}天去[-北京]{+上海}。"),
        ("one\n\ntwo\n\nthree", "one\n\n2\n\nthree", "one\n\n[-two]{+2}\n\nthree"),
        ("A first. A second. A third.", "A first. A third.", "A first. [-A second. ]A third."),
        ("a 👍 b", "a 👍🏽 b", "a [-👍]{+👍🏽} b"),
    ],
)
def test_changes_are_shown_by_word(old: str, new: str, marked: str) -> None:
    form = {"equal": "{}", "delete": "[-{}]", "insert": "{{+{}}}"}
    assert "".join(form[change.op].format(change.text) for change in diff(old, new)) == marked


@settings(max_examples=200)
@given(texts, texts)
def test_both_texts_can_be_rebuilt_from_the_changes(old: str, new: str) -> None:
    assert_sound(old, new, diff(old, new))


@settings(max_examples=100)
@given(texts, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5), texts), max_size=4), st.integers(0, 300))
def test_with_a_used_up_budget_changes_are_coarse_but_correct(
    old: str, edits: list[tuple[int, int, str]], steps: int
) -> None:
    new = old
    for start, length, text in edits:
        new = new[:start] + text + new[start + length :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diffs, "STEPS", steps)
        assert_sound(old, new, diff(old, new))


@settings(max_examples=150)
@given(st.lists(st.integers(0, 6), max_size=25), st.lists(st.integers(0, 6), max_size=25))
def test_short_sequences_are_aligned_by_a_longest_common_subsequence(old: list[int], new: list[int]) -> None:
    matches = align(old, new, Budget(1_000_000))
    assert all(old[a : a + size] == new[b : b + size] for a, b, size in matches)
    assert all(a + size <= c and b + size <= d for (a, b, size), (c, d, _) in pairwise(matches))
    assert sum(size for _, _, size in matches) == longest_common(old, new)


def longest_common(old: list[int], new: list[int]) -> int:
    best = [0] * (len(new) + 1)
    for item in old:
        row = [0]
        for index, other in enumerate(new):
            row.append(best[index] + 1 if item == other else max(row[-1], best[index + 1]))
        best = row
    return best[-1]


def test_one_changed_word_in_two_megabytes_is_one_change() -> None:
    lines = [f"Line {number} of a long text, with some words." for number in range(45_000)]
    old = "\n".join(lines)
    changes = diff(old, old.replace("Line 40000 of", "Line 40000 in"))
    assert [(change.op, change.text) for change in changes[1:3]] == [("delete", "of"), ("insert", "in")]


@pytest.mark.parametrize("alphabet", ["a\n", "中文字 ", ".,", "abcdefghijklmnop\n. "])
def test_random_texts_use_up_the_budget_and_have_correct_changes(
    alphabet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diffs, "STEPS", 200_000)
    shuffled = random.Random(1)
    old, new = ("".join(shuffled.choices(alphabet, k=20_000)) for _ in range(2))
    assert_sound(old, new, diff(old, new))
