from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot.sources import SourceError, Span, plain


def paragraphs(source: str) -> list[str]:
    found = plain.extract(source)
    return [found.text[block.start : block.end] for block in found.blocks]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", []),
        (" \n\t\n", []),
        ("one", ["one"]),
        ("one\ntwo\n\nthree", ["one\ntwo", "three"]),
        ("one\r\ntwo\r\n\r\nthree\r\n", ["one\r\ntwo", "three"]),
        ("one\rtwo\r\rthree", ["one\rtwo", "three"]),
        ("one\n \t\n\n\ntwo", ["one", "two"]),
        ("  indented\n  lines\n", ["indented\n  lines"]),
        ("\ufeffmark\n\n中文\u2028同段", ["\ufeffmark", "中文\u2028同段"]),
        ("nul\0 here", ["nul\0 here"]),
    ],
)
def test_blank_lines_separate_paragraphs(source: str, expected: list[str]) -> None:
    assert paragraphs(source) == expected


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(SourceError, match="character 1 is a lone surrogate"):
        plain.extract("a\ud800")


@given(st.text(alphabet="ab \t\r\n\u2028中😀\0\u0301"))
def test_the_text_is_the_source_and_each_place_is_its_offset(source: str) -> None:
    found = plain.extract(source)
    assert found.text == source
    assert all(found.place(index) == Span(index, index + 1) for index in range(len(source)))


@given(st.text(alphabet="ab \t\r\n\u2028中"))
def test_paragraphs_contain_every_character_except_white_space(source: str) -> None:
    found = plain.extract(source)
    inside = {index for block in found.blocks for index in range(block.start, block.end)}
    assert all(source[index].isspace() for index in range(len(source)) if index not in inside)
    assert all(not found.text[block.start].isspace() for block in found.blocks)
