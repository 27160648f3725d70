"""The chunker: cuts a text into chunks of at most `size` characters that overlap by up to `overlap` characters.

A chunk ends at the best boundary in the last half of its window: a blank line, else a sentence end, else a line end,
else white space, else at the size. The next chunk begins up to `overlap` characters earlier, at a sentence or a word if
one begins there. Every chunk ends later than the one before it, so cutting always terminates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ctypes import c_int64, c_void_p
from dataclasses import dataclass
from functools import cache

import regex

from findspot.chunking.graphemes import cluster_end, is_boundary, last_boundary
from findspot.native import PLANE, encoded, first_plane, function

SIZE = 1000
OVERLAP = 100

_LOOKAHEAD = 32  # characters after the window that are searched for closing quotes, which belong to their sentence

WIDE_COMMAS = "，、：；"
_WIDE_ENDS = "。！？；…｡"
_WIDE_CLOSERS = "」』”’）】》〉"
_ENDS = ".!?" + _WIDE_ENDS
_CLOSERS = "\"')\\]»" + _WIDE_CLOSERS
# A full stop ends a sentence only before white space (3.14, example.com). The pattern begins with a character set,
# which `re` searches fast, and matches a run of stops only from its first character.
SENTENCE = re.compile(
    rf"[{_ENDS}](?<![{_ENDS}]{{2}})[{_ENDS}]*+[{_CLOSERS}]*+(?:(?=\s)|(?<=[{_WIDE_ENDS}{_WIDE_CLOSERS}]))"
)
# These search backwards, because the last boundary of the window is wanted.
_BLANK_LINE = regex.compile(r"(?r)\n[^\S\n]*\n|\r[^\S\r\n]*\r|\u2029[\s\S]")
_LINE_END = regex.compile(r"(?r)[\n\r\x0b\x0c\x85\u2028\u2029]")
_WORD_END = regex.compile(r"(?r)\s")
_WORD_START = re.compile(r"(?<=\s)\S")
_VISIBLE = re.compile(r"\S")
_BLANK = re.compile(r"\s")

# Characters that never join a neighbour of this kind, and white space that both `str` and `regex` take for it.
_SEPARATE = regex.compile(r"[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}\t\n]+")
_JOINS, _IS_BLANK, _IS_END, _IS_CLOSER, _IS_FULL_WIDTH, _IS_COMMA = 1, 2, 4, 8, 16, 32

_cut_text = function("cut_text", *(c_void_p, c_int64) * 2, c_int64, c_void_p, c_int64, returns=c_int64)


@dataclass(frozen=True, slots=True)
class Chunk:
    """The span `text[start:end]`, without white space around it. `index` numbers the chunks of the text from 0."""

    start: int
    end: int
    index: int


def cut(text: str, size: int = SIZE, overlap: int = OVERLAP) -> Iterator[Chunk]:
    """Yield the chunks of a text in order. Deterministic: the same text always has the same chunks."""
    for index, (start, end) in enumerate(spans(text, size, overlap)):
        yield Chunk(start, end, index)


def spans(text: str, size: int = SIZE, overlap: int = OVERLAP) -> Iterator[tuple[int, int]]:
    """Yield the spans of the chunks of a text."""
    if size < 1 or overlap < 0 or 2 * overlap >= size:
        raise ValueError("size must be at least 1, and overlap less than half of it")
    found = _plain_spans(text, size, overlap) if len(text) > size else None
    yield from clustered_spans(text, size, overlap) if found is None else found


def clustered_spans(text: str, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of any text: the reference for C, which cuts texts without longer grapheme clusters.

    `uncovered` is the first visible character that is in no chunk yet.
    """
    stop = len(text.rstrip())
    start = uncovered = _first_visible(text, 0, stop)
    while uncovered < stop:
        if stop - start <= size:
            yield start, stop
            return
        end = _end(text, start, uncovered, start + size)
        if end is None:  # a grapheme cluster as long as the window leaves no room for overlap
            start = uncovered
            continue
        yield start, end
        uncovered = _first_visible(text, end, stop)
        start = _next_start(text, start, end, uncovered, size, overlap)


def _plain_spans(text: str, size: int, overlap: int) -> Iterator[tuple[int, int]] | None:
    """Return the spans as C finds them, in a fifth of the time; None if characters of the text may join."""
    points, room = encoded(text), 2 + 4 * len(text) // size
    while True:
        found = (c_int64 * (2 * room))()
        count = _cut_text(points, len(text), kinds(), size, overlap, found, room)
        if count <= room:
            break
        room = count
    if count < 0:
        return None
    places = found[: 2 * count]
    return zip(places[::2], places[1::2], strict=True)


@cache
def kinds() -> bytes:
    """Return what each character is: the numbers of native/cutter.h."""
    plane = first_plane()
    found = bytearray([_JOINS]) * PLANE
    for run in _SEPARATE.finditer(plane):
        found[run.start() : run.end()] = bytes(run.end() - run.start())
    for blank in _BLANK.finditer(plane):
        found[blank.start()] = found[blank.start()] or _IS_BLANK
    for kind, characters in (
        (_IS_END, _ENDS),
        (_IS_CLOSER, _CLOSERS.replace("\\", "")),
        (_IS_FULL_WIDTH, _WIDE_ENDS + _WIDE_CLOSERS),
        (_IS_COMMA, WIDE_COMMAS),
    ):
        for character in characters:
            found[ord(character)] |= kind
    return bytes(found)


def _first_visible(text: str, start: int, stop: int) -> int:
    found = _VISIBLE.search(text, start, stop)
    return found.start() if found else stop


def _end(text: str, start: int, uncovered: int, limit: int) -> int | None:
    """Return the end of the chunk that begins at `start`. It must include the character at `uncovered`."""
    late = max(start + (limit - start) // 2, uncovered + 1)
    may_have_lines = not text[late : limit + 2].isprintable()  # without line ends, cutting takes half the time
    end = (
        (may_have_lines and _last_blank(_BLANK_LINE, text, late, limit, width=2))
        or _last_sentence_end(text, start, late, limit)
        or (may_have_lines and _last_blank(_LINE_END, text, late, limit))
        or _last_blank(_WORD_END, text, late, limit)
    )
    if end:
        return end
    end = last_boundary(text, start, limit)
    if end > uncovered:
        return start + len(text[start:end].rstrip())
    return cluster_end(text, start) if uncovered == start else None


def _last_blank(pattern: regex.Pattern[str], text: str, late: int, limit: int, width: int = 1) -> int | None:
    """Return the end of the visible text before the last match; None if the text ends before `late`."""
    found = pattern.search(text, late, limit + width)
    if not found:
        return None
    end = late - 1 + len(text[late - 1 : found.start()].rstrip())
    return end if end >= late else None


def _last_sentence_end(text: str, start: int, late: int, limit: int) -> int | None:
    for match in reversed(list(SENTENCE.finditer(text, late - 1, limit + _LOOKAHEAD))):
        end = match.end()
        if late <= end <= limit and is_boundary(text, start, end):
            return end
    return None


def _next_start(text: str, start: int, end: int, uncovered: int, size: int, overlap: int) -> int:
    """Return the start of the next chunk: up to `overlap` before `end`, or at `uncovered` across a long gap."""
    earliest = max(end - overlap, start + 1)
    if overlap == 0 or earliest >= end or uncovered - earliest > size // 2:
        return uncovered
    half = end - (end - earliest) // 2
    for match in SENTENCE.finditer(text, max(start, earliest - _LOOKAHEAD), half):
        begin = _first_visible(text, match.end(), end)
        if earliest <= begin <= half and begin < end and is_boundary(text, start, begin):
            return begin
    word = _WORD_START.search(text, earliest, end)
    if word:
        return word.start()
    begin = last_boundary(text, start, earliest)
    if begin < earliest:
        begin = cluster_end(text, begin)
    return begin if begin < end else uncovered
