"""Chunks of a document, cut by paragraphs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.chunking import Passage, content_hash, cut, cut_paragraphs
from findspot.sources import extract
from tests.chunking.texts import texts


def passages(text: str) -> list[Passage]:
    found = extract(text, "text")
    return list(cut_paragraphs(found.text, [(block.start, block.end) for block in found.blocks]))


@given(texts)
def test_passages_cover_every_visible_character_and_never_cross_a_paragraph(text: str) -> None:
    blocks = [(block.start, block.end) for block in extract(text, "text").blocks]
    covered = 0
    for passage in passages(text):
        assert text[passage.start : passage.end].strip() == text[passage.start : passage.end] != ""
        assert not text[covered : passage.start].strip()
        assert any(start <= passage.start < passage.end <= end for start, end in blocks)
        covered = max(covered, passage.end)
    assert not text[covered:].strip()


@given(st.lists(texts, max_size=6))
def test_ids_are_all_different_and_passages_are_numbered(paragraphs: list[str]) -> None:
    found = passages("\n\n".join(paragraphs * 2))
    assert len({passage.id(1) for passage in found}) == len(found)
    assert [passage.index for passage in found] == list(range(len(found)))


@pytest.mark.scenario("D35")
def test_headings_items_and_short_paragraphs_are_one_chunk_each_and_long_ones_are_cut() -> None:
    long = "A sentence with some words. " * 60
    found = extract(f"# Heading\n\n- one\n- two\n\nShort.\n\n{'x' * 1000}\n\n{long}", "markdown")
    done = list(cut_paragraphs(found.text, [(block.start, block.end) for block in found.blocks]))
    assert [found.text[each.start : each.end] for each in done[:5]] == ["Heading", "one", "two", "Short.", "x" * 1000]
    assert [each.parts for each in done] == [1] * 5 + [2] * 2


def test_a_long_paragraph_is_cut_like_any_text() -> None:
    long = "A sentence with some words. " * 60
    text = f"Heading\n\nShort.\n\n{long.strip()}\n\nShort."
    found = passages(text)
    assert [text[each.start : each.end] for each in found[:2]] == ["Heading", "Short."]
    parts = [each for each in found if each.parts > 1]
    assert [(each.start - parts[0].start, each.end - parts[0].start) for each in parts] == [
        (chunk.start, chunk.end) for chunk in cut(long.strip())
    ]
    assert [each.part for each in parts] == list(range(parts[0].parts))


def test_a_paragraph_of_exactly_a_thousand_characters_is_not_cut() -> None:
    assert [(each.start, each.end, each.parts) for each in passages("甲" * 1000)] == [(0, 1000, 1)]
    assert [each.parts for each in passages("甲" * 1001)] == [2, 2]


def test_an_edit_elsewhere_keeps_ids_and_equal_paragraphs_are_numbered() -> None:
    before = [each.id(9) for each in passages("One.\n\nTwo.\n\nTwo.")]
    after = [each.id(9) for each in passages("Zero, new.\n\nOne, edited.\n\nTwo.\n\nTwo.")]
    assert before[1:] == after[2:]
    assert before[1] == f"d9:{content_hash('Two.')[:16]}:0"
    assert before[2] == f"d9:{content_hash('Two.')[:16]}:1"
