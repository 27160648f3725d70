"""Excerpts of a text around a match."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from findspot.chunking import excerpt
from findspot.chunking.graphemes import is_boundary
from tests.chunking.texts import texts

LONG = (
    "The harbour lay still. A gull cried above the masts, and nobody answered. Then the old lighthouse keeper came "
    "down the path with his lantern. He spoke of storms. The boats stayed in."
)
KEEPER = "Then the old lighthouse keeper came down the path with his lantern. He spoke of storms."
CHINESE = "港口很安静。海鸥在桅杆上叫着，没有人回答。后来老灯塔看守人提着灯笼走下小路。他谈起风暴。船都没有出海。"


def excerpt_around(word: str, text: str, size: int) -> str:
    at = text.index(word)
    start, end = excerpt(text, at, at + len(word), size)
    return text[start:end]


@pytest.mark.parametrize(
    ("text", "word", "size", "expected"),
    [
        (LONG, "lighthouse", 100, KEEPER),
        (LONG, "harbour", 60, "The harbour lay still. A gull cried above the masts, and"),
        (LONG, "boats", 50, "He spoke of storms. The boats stayed in."),
        (LONG, "nobody", 20, "and nobody answered."),
        (CHINESE, "灯塔", 25, "后来老灯塔看守人提着灯笼走下小路。他谈起风暴。"),
        (CHINESE, "桅杆", 12, "海鸥在桅杆上叫着，"),
        ("short", "short", 100, "short"),
        ("  blanks around  ", "around", 100, "blanks around"),
        ("x" * 50, "x", 10, "x" * 10),
        ("👨‍👩‍👧" * 10 + "end", "end", 8, "👨‍👩‍👧end"),
    ],
)
def test_an_excerpt_begins_and_ends_at_sentences_or_words(text: str, word: str, size: int, expected: str) -> None:
    assert excerpt_around(word, text, size) == expected


@settings(deadline=None)
@example("wordwordwordword\n\nword", 17, 1, 20)
@given(texts, st.integers(0, 200), st.integers(1, 30), st.integers(20, 60))
def test_an_excerpt_is_short_enough_contains_the_match_and_cuts_no_grapheme(
    text: str, place: int, length: int, size: int
) -> None:
    start, end = excerpt(text, place, place + length, size)
    assert 0 <= start <= end <= len(text)
    assert end - start <= size
    assert text[start:end] == text[start:end].strip()
    visible = text.strip()
    if not visible:
        return
    assert end > start
    first = len(text) - len(text.lstrip())
    last = first + len(visible)
    if first <= place < last and not text[place].isspace():
        assert start <= place < end or not is_boundary(text, first, place)
