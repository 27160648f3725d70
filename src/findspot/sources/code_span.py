"""Where the characters inside a code span stand.

The parser says where a code span begins and ends and what it holds, not where each character inside it stands: the
backticks, one space at each edge, and the markers at the start of a continued line are left out, and a line break is
read as a space. So the value is laid against the source again, line by line. Should it ever not fit, it is one piece
with the place of the whole inside: a place may be wide, never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Piece = tuple[str, int, int]
"""A text and the source span it comes from."""

_LINE_END = re.compile(r"\r?\n")
_LINE_START = re.compile(r"[ \t\v\f>]*")
_ESCAPED_PIPE = re.compile(r"\\\|")


def code_span_pieces(source: str, start: int, end: int, value: str, in_table: bool) -> list[Piece]:
    """The pieces of `value`, which the parser read from the code span `source[start:end]`."""
    # At the end of a heading the parser's span takes in the white space behind the code span.
    span = source[start:end].rstrip()
    fence = len(span) - len(span.lstrip("`"))
    first, last = start + fence, start + len(span) - fence
    # Nearly all code spans stand on one line, as they are or with a space at each edge.
    if source.startswith(value, first):
        if first + len(value) == last:
            return [(value, first, last)]
    elif source.startswith(value, first + 1) and first + len(value) + 2 == last:
        return [(value, first + 1, last - 1)]
    lay = _cell_pieces if in_table else _line_pieces
    pieces = lay(source, first, last, value)
    if pieces is not None:
        return pieces
    pieces = lay(source, first, last, f" {value} ")
    if pieces is not None:
        return _without_edges(pieces)
    return [(value, first, last)]


def _line_pieces(source: str, first: int, last: int, value: str) -> list[Piece] | None:
    """The pieces when every line end reads as a space and the markers before a continued line as nothing."""
    pieces: list[Piece] = []
    done = 0
    for break_start, start, end, next_start in _lines(source, first, last):
        # The parser reads CRLF as two spaces; it is one line end, and one space here.
        spaces = " " * (next_start - end)
        content = _content_start(source, start, end, value, done, spaces, break_start < start)
        if content < 0:
            return None
        if break_start < start:
            pieces.append((" ", break_start, content))
        pieces.append((source[content:end], content, end))
        done += end - content + len(spaces)
    return pieces if done == len(value) else None


def _content_start(source: str, start: int, end: int, value: str, done: int, spaces: str, continued: bool) -> int:
    """Where the line `source[start:end]` begins to read as `value[done:]` up to `spaces`, or -1."""
    markers = _LINE_START.match(source, start, end) if continued else None
    for content in range(start, (markers.end() if markers else start) + 1):
        line = source[content:end] + spaces
        if value.startswith(line, done) and (spaces or done + len(line) == len(value)):
            return content
    return -1


def _lines(source: str, first: int, last: int) -> Iterator[tuple[int, int, int, int]]:
    """The lines of `source[first:last]`: where the break before each starts, its start, its end, the next start."""
    break_start = first
    for match in _LINE_END.finditer(source, first, last):
        yield break_start, first, match.start(), match.end()
        break_start, first = match.span()
    yield break_start, first, last, last


def _cell_pieces(source: str, first: int, last: int, value: str) -> list[Piece] | None:
    """The pieces in a table cell, where a pipe must be escaped even in code."""
    pieces: list[Piece] = []
    for match in _ESCAPED_PIPE.finditer(source, first, last):
        pieces.append((source[first : match.start()], first, match.start()))
        pieces.append(("|", match.start(), match.end()))
        first = match.end()
    pieces.append((source[first:last], first, last))
    return pieces if "".join(text for text, _, _ in pieces) == value else None


def _without_edges(pieces: list[Piece]) -> list[Piece]:
    """The pieces without their first and last character: the spaces that pad a code span."""
    shown = [piece for piece in pieces if piece[0]]
    text, start, end = shown[0]
    shown[0] = (text[1:], start + 1, end) if len(text) > 1 else ("", end, end)
    text, start, end = shown[-1]
    shown[-1] = (text[:-1], start, end - 1) if len(text) > 1 else ("", start, start)
    return shown
