"""Source offsets of the characters inside a Markdown code span.

The parser returns the source span and the value of a code span, not the offset of each character. The value leaves out
the backticks, one space at each edge, and the markers at the start of a continued line; a line break reads as a space.
So this module aligns the value with the source again, line by line. If that fails, the value becomes one segment that
covers the whole inside: an offset may be imprecise, but is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Segment = tuple[str, int, int]
"""A text and the source span it comes from."""

_LINE_END = re.compile(r"\r?\n")
_LINE_START = re.compile(r"[ \t\v\f>]*")
_ESCAPED_PIPE = re.compile(r"\\\|")


def code_span_segments(source: str, start: int, end: int, value: str, in_table: bool) -> list[Segment]:
    """Return the segments of `value`, which the parser read from the code span `source[start:end]`."""
    # At the end of a heading the parser's span includes the white space after the code span.
    span = source[start:end].rstrip()
    fence = len(span) - len(span.lstrip("`"))
    first, last = start + fence, start + len(span) - fence
    # Nearly all code spans are on one line, with or without a space at each edge.
    if source.startswith(value, first):
        if first + len(value) == last:
            return [(value, first, last)]
    elif source.startswith(value, first + 1) and first + len(value) + 2 == last:
        return [(value, first + 1, last - 1)]
    align = _cell_segments if in_table else _line_segments
    segments = align(source, first, last, value)
    if segments is not None:
        return segments
    segments = align(source, first, last, f" {value} ")
    if segments is not None:
        return _without_edges(segments)
    return [(value, first, last)]


def _line_segments(source: str, first: int, last: int, value: str) -> list[Segment] | None:
    """Align with every line end read as a space and the markers before a continued line skipped; None if it fails."""
    segments: list[Segment] = []
    done = 0
    for break_start, start, end, next_start in _lines(source, first, last):
        # The parser reads CRLF as two spaces. It is one line end, and one space here.
        spaces = " " * (next_start - end)
        content = _content_start(source, start, end, value, done, spaces, break_start < start)
        if content < 0:
            return None
        if break_start < start:
            segments.append((" ", break_start, content))
        segments.append((source[content:end], content, end))
        done += end - content + len(spaces)
    return segments if done == len(value) else None


def _content_start(source: str, start: int, end: int, value: str, done: int, spaces: str, continued: bool) -> int:
    """Return the offset in the line `source[start:end]` where `value[done:]` continues, or -1."""
    markers = _LINE_START.match(source, start, end) if continued else None
    for content in range(start, (markers.end() if markers else start) + 1):
        line = source[content:end] + spaces
        if value.startswith(line, done) and (spaces or done + len(line) == len(value)):
            return content
    return -1


def _lines(source: str, first: int, last: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield each line of `source[first:last]`: start of the break before it, its start, its end, the next start."""
    break_start = first
    for match in _LINE_END.finditer(source, first, last):
        yield break_start, first, match.start(), match.end()
        break_start, first = match.span()
    yield break_start, first, last, last


def _cell_segments(source: str, first: int, last: int, value: str) -> list[Segment] | None:
    """Align inside a table cell, where a pipe must be escaped even in code; None if it fails."""
    segments: list[Segment] = []
    for match in _ESCAPED_PIPE.finditer(source, first, last):
        segments.append((source[first : match.start()], first, match.start()))
        segments.append(("|", match.start(), match.end()))
        first = match.end()
    segments.append((source[first:last], first, last))
    return segments if "".join(text for text, _, _ in segments) == value else None


def _without_edges(segments: list[Segment]) -> list[Segment]:
    """Remove the first and the last character: the spaces that pad a code span."""
    kept = [segment for segment in segments if segment[0]]
    text, start, end = kept[0]
    kept[0] = (text[1:], start + 1, end) if len(text) > 1 else ("", end, end)
    text, start, end = kept[-1]
    kept[-1] = (text[:-1], start, end - 1) if len(text) > 1 else ("", start, start)
    return kept
