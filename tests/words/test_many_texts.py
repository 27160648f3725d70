"""Many texts at once have the terms that each of them has alone."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.words import joined_terms, joined_terms_of, query_terms
from tests.chunking.texts import texts

MANY = ["The Rivers of the north 北方的河流 " * 1000]  # enough that texts are analysed together

# Where words, runs, marks and punctuation meet: joiners, suffixes, addresses, and characters beyond the first plane.
CHARACTERS = [
    *"abXY01__--..//@&''’’:::,,++##  \n\t()\"!?;=~*%$|",
    *"中国電腦餸あアｱﾞー한々〇，。「」éßÅ½²ａ１ﬁʼ＋＃＿❶☀",
    *"\u0301\u0e31\u0e01\u1000\u103a\u200d\u00ad\ufe0f\x00\x1f\x85\u2028\u3000😀🇨🇳𠮷",
    *("http://a.b/c?d", "://", "c++", "c#", "x-y", "HTTPServer2"),
]


def bags(terms: Sequence[str]) -> list[Counter[str]]:
    return [Counter(each.split()) for each in terms]


def assert_same_terms(some: list[str]) -> None:
    assert bags(joined_terms_of([*some, *MANY])[: len(some)]) == bags([joined_terms(each) for each in some])


@given(st.lists(texts, max_size=5))
def test_texts_have_the_terms_that_they_have_alone(some: list[str]) -> None:
    assert_same_terms(some)


@given(st.lists(st.lists(st.sampled_from(CHARACTERS), max_size=12).map("".join), max_size=20))
def test_borders_between_words_runs_and_marks_are_where_they_are_in_one_text(some: list[str]) -> None:
    assert_same_terms(some)


def test_every_character_has_the_same_effect_in_many_texts() -> None:
    characters = [chr(point) for point in range(0x20, 0x11000, 7) if not 0xD800 <= point < 0xE000]
    assert_same_terms([f"a{each}b {each} c++{each} 中{each}国" for each in characters])


def test_more_texts_than_fit_one_step_keep_their_order() -> None:
    some = ["", *(f"word{number} 第{number}章 " * 40 for number in range(500)), ""]
    assert bags(joined_terms_of(some)) == bags([joined_terms(each) for each in some])


def test_no_texts_have_no_terms() -> None:
    assert joined_terms_of([]) == []
    assert joined_terms_of(["", ""]) == ["", ""]


@pytest.mark.parametrize("text", ["ﾊﾞｽ", "ﾞ", "電腦"])
def test_a_text_has_the_terms_of_the_same_query_however_often_it_is_analysed(text: str) -> None:
    for _ in range(2):
        assert set(query_terms(text)) <= set(joined_terms(text).split())
        assert set(query_terms(text)) <= set(joined_terms_of([text, *MANY])[0].split())
