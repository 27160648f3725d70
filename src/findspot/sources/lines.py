"""Finds the line and column of a character in the source that a text was extracted from.

The index of a text is made once, when the document is cut, and stored in pieces of equal length. A piece is enough to
look up any character in it, so a search reads a few hundred bytes per hit, however long the document is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

import msgspec

from findspot.sources.extract import Extract

PIECE = 1 << 13  # characters of the text

_LINE_END = re.compile(r"\r\n|\r|\n")
_Columns = tuple[list[int], list[int], list[int]]
_DECODER = msgspec.msgpack.Decoder(_Columns)


class LinePiece:
    """The places of one piece of a text. From each entry to the next one, the column grows with the offset."""

    def __init__(self, encoded: bytes) -> None:
        offsets, lines, self._columns = _DECODER.decode(encoded)
        self._offsets, self._lines = list(accumulate(offsets)), list(accumulate(lines))

    def position(self, index: int) -> tuple[int, int]:
        """Return the line and column, both from 1, of code point `index` of the text. It must be in this piece."""
        offset = index % PIECE
        entry = bisect_right(self._offsets, offset) - 1
        return self._lines[entry], self._columns[entry] + offset - self._offsets[entry]


def line_pieces(found: Extract, source: str) -> list[bytes]:
    """Return the line index of a text in pieces; [] for a text that comes from a tree, which has no lines.

    Columns count code points. A line ends with a line feed, a carriage return, or both.
    """
    if found.nodes is not None or not found.text:
        return []
    pieces: list[_Columns] = []
    last = (0, 1, 1)
    for index, line, column in _entries(found, source):
        while len(pieces) * PIECE <= index:  # each piece begins with an entry
            start = len(pieces) * PIECE
            last = (index, line, column) if index == start else (start, last[1], last[2] + start - last[0])
            pieces.append(([0], [last[1]], [last[2]]))
        if line == last[1] and column - last[2] == index - last[0]:
            continue
        offsets, lines, columns = pieces[-1]
        offsets.append(index - last[0])  # differences are small numbers, which take one byte each
        lines.append(line - last[1])
        columns.append(column)
        last = (index, line, column)
    while len(pieces) * PIECE < len(found.text):
        start = len(pieces) * PIECE
        pieces.append(([0], [last[1]], [last[2] + start - last[0]]))
    return [msgspec.msgpack.encode(piece) for piece in pieces]


def _entries(found: Extract, source: str) -> Iterator[tuple[int, int, int]]:
    """Yield offsets of the text where a run or a line begins, each with its line and column."""
    starts = _line_starts(source)
    runs, line = found.runs, 0
    for run in range(len(runs)):
        text_start, text_end = runs.text_starts[run], runs.text_end(run, len(found.text))
        first, last = runs.starts[run], runs.ends[run]
        if first == last and run:
            continue  # inserted characters: their place is after the character before them
        while line + 1 < len(starts) and starts[line + 1] <= first:
            line += 1
        yield text_start, line + 1, first - starts[line] + 1
        if last - first != text_end - text_start:  # all characters of the run come from the same span
            for index in range(text_start + 1, text_end):
                yield index, line + 1, first - starts[line] + 1
            continue
        while line + 1 < len(starts) and starts[line + 1] < last:
            line += 1
            yield text_start + starts[line] - first, line + 1, 1


def _line_starts(source: str) -> list[int]:
    if "\r" in source:
        return [0, *(end.end() for end in _LINE_END.finditer(source))]
    lengths = (len(line) + 1 for line in source.split("\n"))  # a fifth of the time of the regular expression
    return [0, *accumulate(lengths)][:-1]
