"""The snippet of a hit and its highlights."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot.search.snippets import LENGTH, Snippet, snippets
from findspot.words import Highlights, parse
from tests.chunking.texts import texts

QUIET = "Nothing moved on the water. "
静 = "水面上什么动静也没有。"


def snippet(text: str, spans: list[tuple[int, int]], length: int = LENGTH) -> Snippet:
    (found,) = snippets([text], [spans], length)
    return found


@settings(max_examples=40)
@given(texts, texts, st.integers(40, 300))
def test_a_snippet_is_a_span_of_the_text_and_its_highlights_are_matches(text: str, asked: str, length: int) -> None:
    highlights = Highlights(parse(asked[:30]))
    start, end, marks = snippet(text, highlights(text), length)
    assert 0 <= start <= end <= len(text)
    assert end - start <= length
    done = 0
    for first, last in marks:
        assert done <= first < last <= end - start
        done = last
    if len(text.strip()) <= length:
        assert [(first + start, last + start) for first, last in marks] == highlights(text)


@pytest.mark.parametrize(
    ("query", "text", "shown", "marked"),
    [
        ("heron reeds", f"A heron. {QUIET * 12}The heron stood in the reeds. {QUIET * 12}", "heron stood in the reeds",
         ["heron", "reeds"]),
        ("苍鹭 芦苇", f"一只苍鹭。{静 * 30}苍鹭站在芦苇里。{静 * 30}", "苍鹭站在芦苇里。", ["苍鹭", "芦苇"]),
        ("蒼鷺", f"{静 * 30}苍鹭 heron 🐦 café", "苍鹭 heron 🐦 café", ["苍鹭"]),
        ("cafe 🐦", f"{QUIET * 12}A bird 🐦 at the cafe\u0301. {QUIET * 12}", "A bird 🐦 at the cafe\u0301.",
         ["🐦", "cafe\u0301"]),
        ('"in the reeds"', f"The reeds. {QUIET * 12}He hid in the reeds. {QUIET * 12}", "He hid in the reeds.",
         ["in the reeds"]),
    ],
)  # fmt: skip
def test_the_span_with_the_most_different_words_is_chosen(query: str, text: str, shown: str, marked: list[str]) -> None:
    start, end, marks = snippet(text, Highlights(parse(query))(text))
    span = text[start:end]
    assert shown in span
    assert len(span) <= LENGTH
    assert [span[first:last] for first, last in marks] == marked


def test_without_a_match_the_snippet_is_the_beginning() -> None:
    start, end, marks = snippet(text := f"The beginning. {QUIET * 30}", Highlights(parse("zebra"))(text))
    assert (start, marks) == (0, ())
    assert end <= LENGTH


@pytest.mark.parametrize("words", [1, 3, 8, 40])
def test_a_snippet_never_cuts_a_word(words: int) -> None:
    text = "high-pressure steam engines were built in 1801 by Richard Trevithick of Cornwall " * 12
    matching = " ".join(text.split()[20 : 20 + words])
    for cut in range(10):
        found = snippet(text[cut:], Highlights(parse(matching))(text[cut:]))
        inside = text[cut:]
        assert inside[found.end - 1 : found.end + 1].strip() != inside[found.end - 1 : found.end + 1]
        assert not inside[found.start - 1 : found.start].strip() or not found.start
