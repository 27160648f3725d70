"""Line and column of every character in its source."""

import pytest

from findspot.sources import extract
from findspot.sources.lines import PIECE, LinePiece, line_pieces

MARKDOWN = """\
---
title: 山海经
---

# 第一章 **林远** arrives

He opened the *old* door &amp; saw
> nothing.

- 👩‍👩‍👧 family\\*
- cafe\u0301 [link](http://a.b) end

| 名 | value |
|----|-------|
| 龍 | `x|y` |

```py
one = 1
  two = 2
```
"""


def position(source: str, place: int) -> tuple[int, int]:
    """Line and column by counting, for comparison."""
    lines = source.replace("\r\n", "\0\n").replace("\r", "\n").split("\n")  # NUL keeps the length
    line, start = 1, 0
    while start + len(lines[line - 1]) < place:
        start += len(lines[line - 1]) + 1
        line += 1
    return line, place - start + 1


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("form", ["markdown", "text"])
def test_every_character_has_the_line_and_column_of_its_place(form: str, line_end: str) -> None:
    source = MARKDOWN.replace("\n", line_end)
    found = extract(source, form)  # type: ignore[arg-type]
    (piece,) = map(LinePiece, line_pieces(found, source))
    checked = 0
    for index in range(len(found.text)):
        place = found.place(index)
        if place.start < place.end:
            assert piece.position(index) == position(source, place.start), (index, found.text[index])
            checked += 1
    assert checked > 80


def test_front_matter_counts_as_lines_of_the_file() -> None:
    found = extract(MARKDOWN, "markdown")
    (piece,) = map(LinePiece, line_pieces(found, MARKDOWN))
    assert piece.position(found.text.index("第一章")) == (5, 3)
    assert piece.position(found.text.index("林远")) == (5, 9)
    assert piece.position(found.text.index("two")) == (19, 3)


@pytest.mark.parametrize("form", ["markdown", "text"])
def test_a_long_text_is_looked_up_by_its_pieces(form: str) -> None:
    paragraphs = [f"段落 {number} **bold** and\nmore 文字 &lt;" for number in range(3000)]
    source = "\n\n".join(paragraphs)
    found = extract(source, form)  # type: ignore[arg-type]
    encoded = line_pieces(found, source)
    assert len(encoded) == -(-len(found.text) // PIECE) > 3
    pieces = [LinePiece(piece) for piece in encoded]
    for index in (*range(0, len(found.text), 97), *range(PIECE - 3, PIECE + 3), len(found.text) - 1):
        place = found.place(index)
        if place.start < place.end:
            assert pieces[index // PIECE].position(index) == position(source, place.start)
    assert sum(map(len, encoded)) < len(source.encode()) / 2


def test_a_line_longer_than_several_pieces_has_one_entry_per_piece() -> None:
    source = "first\n" + "字" * (3 * PIECE)
    pieces = [LinePiece(piece) for piece in line_pieces(extract(source, "text"), source)]
    assert [pieces[index // PIECE].position(index) for index in (0, 6, PIECE, 3 * PIECE + 5)] == [
        (1, 1),
        (2, 1),
        (2, PIECE - 5),
        (2, 3 * PIECE),
    ]


def test_trees_and_empty_texts_have_no_lines() -> None:
    tree = {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "a"}]}]}
    assert line_pieces(extract(tree, "tiptap"), "") == []
    assert line_pieces(extract("", "markdown"), "") == []
