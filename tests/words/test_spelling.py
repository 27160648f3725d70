"""Words that a misspelt word may have been meant to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.words.spelling import (
    distance,
    joined_forms,
    may_be_misspelt,
    one_error,
    surface_near,
    unjoined_form,
)

WORDS = st.text("abcde", min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("one", "other", "errors"),
    [
        ("genrator", "generator", 1),
        ("expresion", "expression", 1),
        ("recieve", "receive", 1),
        ("acomodate", "accommodate", 2),
        ("", "ab", 2),
        ("same", "same", 0),
    ],
)
def test_a_distance_counts_errors_and_a_swap_is_one(one: str, other: str, errors: int) -> None:
    assert distance(one, other) == distance(other, one) == errors


@given(WORDS)
def test_words_with_one_error_are_exactly_those_at_distance_one(word: str) -> None:
    found = set(one_error(word)) - {word}
    assert all(distance(word, each) == 1 for each in found)
    assert {word[1:], f"{word}a", f"z{word[1:]}"} - {word} <= found


def test_likelier_errors_come_first() -> None:
    found = list(dict.fromkeys(one_error("amendmnts")))
    assert found.index("amendmnst") < found.index("amendments") < found.index("amendmts") < found.index("amendants")


@given(WORDS)
def test_a_word_is_every_joined_form_without_its_joiner(word: str) -> None:
    assert {unjoined_form(form) for form in joined_forms(word)} <= {word}


@pytest.mark.parametrize(
    ("word", "term", "form"),
    [
        ("configurtaion", "configur", "configuration"),
        ("mesurement", "measur", "measurement"),
        ("memmorry", "memori", "memory"),
        ("xylophone", "configur", None),
    ],
)
def test_the_nearest_form_of_a_term_is_found(word: str, term: str, form: str | None) -> None:
    assert surface_near(word, term) == form


@pytest.mark.parametrize(
    ("word", "may"), [("tabel", True), ("tab", False), ("灯塔灯塔", False), ("caf\u00e9s", False), ("abc1", False)]
)
def test_only_english_words_of_four_letters_may_be_misspelt(word: str, may: bool) -> None:
    assert may_be_misspelt(word) == may
