"""Passages: their redactions, their overlap, and the one around the cursor."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.retrieval.passages import AroundCursor, merged, without_overlap
from findspot.retrieval.request import EditingContext
from tests.retrieval.passages import document_texts, passage, redacted

BEFORE = "夜色渐深，街灯一盏接一盏熄灭。林远裹紧大衣，再次来到废弃仓库门前，"
AFTER = "铁门虚掩着，里面传来低低的说话声。"


@given(document_texts(), st.data())
def test_redactions_replace_their_ranges_and_nothing_else(text: str, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted))
    ranges = [(start, end) for start, end in zip(places[::2], places[1::2], strict=False) if start < end]
    start = data.draw(st.integers(0, 1000))
    found = passage(text, start)
    found = replace(found, redactions=redacted(found, ranges))
    expected = text
    for number, (first, last) in reversed(list(enumerate(ranges, 1))):
        expected = f"{expected[:first]}[EMAIL_{number}]{expected[last:]}"
    assert found.shown_text == expected
    assert (found.start, found.end, found.text) == (start, start + len(text), text)


@given(document_texts(), st.data())
def test_a_part_of_a_passage_shows_no_character_of_a_private_range(text: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(text) - 1))
    last = data.draw(st.integers(first + 1, len(text)))
    marked = text[:first] + "\ue000" * (last - first) + text[last:]
    whole = passage(marked, 0)
    whole = replace(whole, redactions=redacted(whole, [(first, last)]))
    cut = data.draw(st.integers(1, len(text)))
    better = passage(marked[:cut], 0, 1.0)
    rest = without_overlap(whole, [better])
    assert rest is None or "\ue000" not in rest.shown_text


def test_the_redactions_of_neighbours_are_united_without_overlap() -> None:
    text = "".join(chr(0x4E00 + at) for at in range(300))
    one, other = passage(text[:200], 0), passage(text[150:], 150, 0.8, chunk_id=2)
    one = replace(one, redactions=redacted(one, [(10, 20), (160, 175)]))
    other = replace(other, redactions=redacted(other, [(0, 30), (100, 110)]))
    whole = merged(one, other)
    assert whole is not None
    assert [(each.start, each.end) for each in whole.redactions] == [(10, 20), (150, 180), (250, 260)]
    assert text[160:175] not in whole.shown_text


@pytest.mark.parametrize(
    "saved",
    [
        BEFORE + AFTER,
        BEFORE,  # what follows is not saved yet
        BEFORE.replace("林远", "林遠") + AFTER,
        f"上一段的结尾。{BEFORE}{AFTER}",
    ],
)
def test_the_passage_around_the_cursor_is_recognised_as_it_is_or_was(saved: str) -> None:
    around = AroundCursor(EditingContext(3, BEFORE, AFTER))
    assert around.repeated_by(passage(saved, 0, document_id=3)) == "own_passage"


def test_a_long_passage_around_the_cursor_is_recognised_by_the_text_at_the_cursor() -> None:
    filler = "".join(chr(0x4E00 + at * 7 % 5000) for at in range(400))
    saved = f"{filler}{BEFORE}{AFTER}{filler[::-1]}"
    around = AroundCursor(EditingContext(3, BEFORE, AFTER))
    assert around.repeated_by(passage(saved, 0, document_id=3)) == "own_passage"


def test_other_passages_of_the_document_and_copies_in_others_are_told_apart() -> None:
    around = AroundCursor(EditingContext(3, BEFORE, AFTER))
    other = "第二章里，废弃仓库坐落在码头尽头，铁皮屋顶早已锈穿，雨水顺着裂缝滴在木箱上。"
    assert around.repeated_by(passage(other, 0, document_id=3)) is None
    assert around.repeated_by(passage(other, 0, document_id=4)) is None
    assert around.repeated_by(passage(BEFORE + AFTER, 0, document_id=4)) == "duplicate"


def test_nothing_is_the_own_passage_of_a_cursor_without_text() -> None:
    around = AroundCursor(EditingContext(3, "", ""))
    assert around.repeated_by(passage("Any text.", 0, document_id=3)) is None
