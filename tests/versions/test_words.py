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


LONG = "word " * 2000  # a long text is counted in another way


@given(st.text() | st.text("ab中あアé1_\u0301\u3099\u200d٣ '’.·,;-"))
def test_a_text_has_as_many_words_in_a_long_text_as_alone(text: str) -> None:
    assert word_count(f"{text} {LONG}{text}") == 2 * word_count(text) + 2000


def test_every_character_counts_in_a_long_text_as_it_does_alone() -> None:
    for point in (point for point in range(0x20, 0x10100, 101) if not 0xD800 <= point < 0xE000):
        text = f"a{chr(point)}b {chr(point)} 1{chr(point)}2 中{chr(point)}国 "
        assert word_count(text * 200) == 200 * word_count(text), hex(point)
