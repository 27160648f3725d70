"""Excerpts of a text around a match."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from findspot.chunking import excerpts
from findspot.chunking.excerpt import clustered_excerpt
from findspot.chunking.graphemes import is_boundary
from tests.chunking.texts import plain_texts, texts

LONG = (
    "The harbour lay still. A gull cried above the masts, and nobody answered. Then the old lighthouse keeper came "
    "down the path with his lantern. He spoke of storms. The boats stayed in."
)
KEEPER = "Then the old lighthouse keeper came down the path with his lantern. He spoke of storms."
CHINESE = "港口很安静。海鸥在桅杆上叫着，没有人回答。后来老灯塔看守人提着灯笼走下小路。他谈起风暴。船都没有出海。"


def excerpt(text: str, start: int, end: int, size: int) -> tuple[int, int]:
    (found,) = excerpts([text], [(start, end)], size)
    return found


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


matched_texts = st.tuples(plain_texts | texts, st.tuples(st.integers(-5, 300), st.integers(-5, 300)))


@settings(deadline=None)
@given(st.lists(matched_texts, max_size=5), st.integers(1, 80))
@example([("", (0, 0)), (" \n ", (1, 2)), ("", (3, 4))], 1)
@example([("a" * 9 + "\ud800", (5, 6)), ("\udc00" + "b " * 9, (5, 6))], 4)
@example([("word. " * 9 + "😀", (20, 24)), ("word. " * 9, (20, 24))], 10)
@example([("很长的文字" * 9 + "，" + "很长的文字" * 9, (at, at + 2)) for at in range(80)], 20)
@example([(LONG * 9, (400, 402)), (CHINESE * 9, (100, 102)), (LONG * 9, (10**18, -(10**18)))], 240)
def test_c_cuts_excerpts_as_the_code_for_any_text_does(matched: list[tuple[str, tuple[int, int]]], size: int) -> None:
    found = excerpts([text for text, _ in matched], [match for _, match in matched], size)
    assert found == [clustered_excerpt(text, *match, size) for text, match in matched]


def test_each_text_needs_a_match_and_a_size() -> None:
    for matches, size in (([], 10), ([(0, 1)], 0)):
        with pytest.raises(ValueError, match="size must be at least 1"):
            excerpts(["text"], matches, size)
