from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.versions.words import word_count, words


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" \n\t。，!", 0),
        ("It's 3.14 of 1,000, e.g. O'Neill's.", 6),
        ("我们用Python3开发。", 6),
        ("繁體中文 two words", 6),
        ("cafe\u0301 हिन्दी", 2),
        ("שלום עולם مرحبا", 3),
        ("ひらカタカナ", 3),
        ("👨‍👩‍👧 one 🇩🇪", 1),
        ("one\u2028two\0three\r\nfour", 4),
        ("snake_case x1 2nd", 3),
    ],
)
def test_words_count_as_people_count_them(text: str, count: int) -> None:
    assert word_count(text) == count


@pytest.mark.parametrize("whole", ["👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "e\u0301", "हिन्दी", "don’t", "1,000.5", "❤️"])
def test_clusters_emoji_contractions_and_numbers_are_not_split(whole: str) -> None:
    assert words(f"a {whole} b") == ["a", " ", whole, " ", "b"]


@given(st.text())
def test_the_parts_joined_together_are_the_text(text: str) -> None:
    assert "".join(words(text)) == text


@given(st.text(alphabet="ab中' .,1_\u0301\u200d"))
def test_the_word_count_is_at_most_the_number_of_parts(text: str) -> None:
    assert word_count(text) <= len(words(text))
