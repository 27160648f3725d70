"""Any text, cut into chunks of at most `size` characters that share up to `overlap` of them.

A chunk ends at the best boundary in the last half of its window: a blank line, else a sentence end, else a line end,
else a blank; without any of them at the size. The next one begins up to `overlap` characters before, at a sentence or
a word if one begins there. Every chunk reaches past the one before it, so cutting always ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from findspot.chunking.graphemes import cluster_end, is_boundary, last_boundary

SIZE = 1000
OVERLAP = 100

_AHEAD = 32  # how far past the window a boundary is looked at: closing quotes belong to their sentence

_WIDE_ENDS = "。！？；…｡"
_WIDE_CLOSERS = "」』”’）】》〉"
_ENDS = ".!?" + _WIDE_ENDS
_CLOSERS = "\"')\\]»" + _WIDE_CLOSERS
# A full stop ends a sentence only before a blank (3.14, example.com). Each pattern begins with a set of characters,
# which `re` skips to at once, and looks at a run of stops only from its first.
SENTENCE = re.compile(
    rf"[{_ENDS}](?<![{_ENDS}]{{2}})[{_ENDS}]*+[{_CLOSERS}]*+(?:(?=\s)|(?<=[{_WIDE_ENDS}{_WIDE_CLOSERS}]))"
)
# These run from the end of the window to its front: the last boundary is the one that is wanted.
_BLANK_LINE = regex.compile(r"(?r)\n[^\S\n]*\n|\r[^\S\r\n]*\r|\u2029[\s\S]")
_LINE_END = regex.compile(r"(?r)[\n\r\x0b\x0c\x85\u2028\u2029]")
_WORD_END = regex.compile(r"(?r)\s")
_WORD_START = re.compile(r"(?<=\s)\S")
_VISIBLE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a text, without blanks around it: `text[start:end]`. `index` counts the chunks of the text from 0."""

    start: int
    end: int
    index: int


def cut(text: str, size: int = SIZE, overlap: int = OVERLAP) -> Iterator[Chunk]:
    """The chunks of a text, one after the other; the same text always gives the same ones."""
    if size < 1 or overlap < 0 or 2 * overlap >= size:
        raise ValueError("a chunk has at least one character, and less than half of it overlaps")
    stop = len(text.rstrip())
    start = fresh = _first_visible(text, 0, stop)
    index = 0
    while fresh < stop:
        if stop - start <= size:
            yield Chunk(start, stop, index)
            return
        end = _end(text, start, fresh, start + size)
        if end is None:  # a cluster as long as the window leaves no room for overlap
            start = fresh
            continue
        yield Chunk(start, end, index)
        index += 1
        fresh = _first_visible(text, end, stop)
        start = _overlapping(text, start, end, fresh, size, overlap)


def _first_visible(text: str, place: int, stop: int) -> int:
    found = _VISIBLE.search(text, place, stop)
    return found.start() if found else stop


def _end(text: str, start: int, fresh: int, limit: int) -> int | None:
    """Where the chunk ends that begins at `start`, and has to hold the character at `fresh` that no chunk holds yet."""
    late = max(start + (limit - start) // 2, fresh + 1)
    end = (
        _last_blank(_BLANK_LINE, text, late, limit, width=2)
        or _last_sentence_end(text, start, late, limit)
        or _last_blank(_LINE_END, text, late, limit)
        or _last_blank(_WORD_END, text, late, limit)
    )
    if end:
        return end
    end = last_boundary(text, start, limit)
    if end > fresh:
        return start + len(text[start:end].rstrip())
    return cluster_end(text, start) if fresh == start else None


def _last_blank(pattern: regex.Pattern[str], text: str, late: int, limit: int, width: int = 1) -> int | None:
    """Where the visible text ends before the last such blank; None if nothing late in the window is visible there."""
    found = pattern.search(text, late, limit + width)
    if not found:
        return None
    end = late - 1 + len(text[late - 1 : found.start()].rstrip())
    return end if end >= late else None


def _last_sentence_end(text: str, start: int, late: int, limit: int) -> int | None:
    for match in reversed(list(SENTENCE.finditer(text, late - 1, limit + _AHEAD))):
        end = match.end()
        if late <= end <= limit and is_boundary(text, start, end):
            return end
    return None


def _overlapping(text: str, start: int, end: int, fresh: int, size: int, overlap: int) -> int:
    """Where the next chunk begins: before `end` if what is new still fits well, or at what is new."""
    earliest = max(end - overlap, start + 1)
    if overlap == 0 or earliest >= end or fresh - earliest > size // 2:
        return fresh
    half = end - (end - earliest) // 2
    for match in SENTENCE.finditer(text, max(start, earliest - _AHEAD), half):
        begin = _first_visible(text, match.end(), end)
        if earliest <= begin <= half and begin < end and is_boundary(text, start, begin):
            return begin
    word = _WORD_START.search(text, earliest, end)
    if word:
        return word.start()
    begin = last_boundary(text, start, earliest)
    if begin < earliest:
        begin = cluster_end(text, begin)
    return begin if begin < end else fresh
