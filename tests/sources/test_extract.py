from __future__ import annotations

import pytest

from findspot.sources import Extract, SourceError, Span, extract, markdown, tiptap
from findspot.sources.extract import utf16_length


def test_adjacent_source_spans_become_one() -> None:
    found = markdown.extract("a \\* b &amp; c")
    assert found.text == "a * b & c"
    assert found.spans(0, len(found.text)) == [Span(0, 14)]


def test_a_range_that_crosses_marks_has_several_spans() -> None:
    found = markdown.extract("one **two** three")
    assert found.text == "one two three"
    assert found.spans(2, 9) == [Span(2, 4), Span(6, 9), Span(11, 13)]


def test_a_range_over_a_paragraph_break_leaves_out_the_markup_between() -> None:
    found = markdown.extract("one\n\n> two")
    assert found.text == "one\n\ntwo"
    assert found.spans(1, 7) == [Span(1, 3), Span(7, 9)]
    assert found.spans(3, 5) == [Span(3, 3)]


def test_an_empty_range_has_no_spans() -> None:
    assert markdown.extract("one").spans(1, 1) == []


@pytest.mark.parametrize("index", [-1, 3, 99])
def test_an_index_outside_the_text_raises_index_error(index: int) -> None:
    with pytest.raises(IndexError):
        markdown.extract("one").place(index)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 4)])
def test_a_range_outside_the_text_raises_index_error(start: int, end: int) -> None:
    with pytest.raises(IndexError):
        markdown.extract("one").spans(start, end)


def test_only_trees_have_prosemirror_positions() -> None:
    assert markdown.extract("one").position(0) is None


def test_utf16_counts_two_units_beyond_the_first_plane() -> None:
    assert [utf16_length(text) for text in ("", "abc", "中文", "😀", "a👨‍👩‍👧")] == [0, 3, 2, 2, 9]


def test_the_format_selects_the_extractor() -> None:
    document = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "*a*"}]}]}
    assert extract(document, "tiptap").text == "*a*"
    assert extract("*a*", "markdown").text == "a"
    assert extract("*a*", "text").text == "*a*"


def test_markdown_and_text_must_be_strings() -> None:
    with pytest.raises(SourceError, match="markdown content must be a string"):
        extract({}, "markdown")
    with pytest.raises(SourceError, match="text content must be a string"):
        extract(None, "text")


def test_an_error_has_the_pointer_of_the_invalid_part() -> None:
    with pytest.raises(SourceError, match="/content/0") as caught:
        tiptap.extract({"type": "doc", "content": ["text"]})
    assert caught.value.pointer == "/content/0"


def test_the_mapping_takes_less_than_twice_the_size_of_the_source() -> None:
    source = "A paragraph with *emphasis* and `code` in it, as people write them.\n\n" * 3_000
    found: Extract = markdown.extract(source)
    columns = (found.runs.text_starts, found.runs.starts, found.runs.ends, found.runs.owners)
    assert sum(column.itemsize * len(column) for column in columns) < 2 * len(source)


def test_headings_have_levels_and_a_thematic_break_separates_blocks() -> None:
    written = extract("# 一\n\nTwo\n---\n\ntext\n\n***\n\n- item", "markdown").blocks
    assert [(block.level, block.after_rule) for block in written] == [(1, False), (2, False), (0, False), (0, True)]
    nodes = [
        {"type": "heading", "attrs": {"level": 3}, "content": [{"type": "text", "text": "三"}]},
        {"type": "heading", "content": [{"type": "text", "text": "no level"}]},
        {"type": "horizontalRule"},
        {"type": "paragraph", "content": [{"type": "text", "text": "text"}]},
    ]
    tree = extract({"type": "doc", "content": nodes}, "tiptap").blocks
    assert [(block.level, block.after_rule) for block in tree] == [(3, False), (1, False), (0, True)]
