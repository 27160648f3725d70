"""A stretch of a text around a place in it, to be shown: it begins and ends at sentences, else at words."""

from __future__ import annotations

from itertools import chain

import regex

from findspot.chunking.cut import SENTENCE
from findspot.chunking.graphemes import cluster_end, is_boundary, last_boundary

# Where a reader pauses inside a sentence: a blank, or a Chinese comma, which has none behind it.
_PAUSE = r"\s|(?<=[，、：；])(?=\S)"
_NEXT_PAUSE, _LAST_PAUSE = regex.compile(_PAUSE), regex.compile(f"(?r){_PAUSE}")


def excerpt(text: str, start: int, end: int, size: int) -> tuple[int, int]:
    """A span of at most `size` characters with `text[start:end]` in it, or as much of that as fits."""
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    if last - first <= size:
        return first, max(first, last)
    start, end = max(first, min(start, last - 1)), min(end, last)
    earliest = max(first, min(start, max(end, start + 1) - size), start - size // 2, 0)
    begin = _beginning(text, first, earliest, start)
    stop = _ending(text, begin, min(max(end, begin + size // 2), begin + size), begin + size, last)
    if stop == last and last - begin < size:  # there is room before it
        begin = min(begin, _beginning(text, first, max(first, last - size), begin))
    begin = stop - len(text[begin:stop].lstrip())  # the place may be a blank
    return begin, begin + len(text[begin:stop].rstrip())


def _beginning(text: str, first: int, earliest: int, start: int) -> int:
    """Where a sentence begins that reaches to `start`, else a word, not before `earliest`."""
    if earliest <= first:
        return first
    for found in chain(SENTENCE.finditer(text, earliest - 1, start), _NEXT_PAUSE.finditer(text, earliest, start)):
        begin = start - len(text[found.end() : start].lstrip())
        if earliest <= begin <= start and is_boundary(text, first, begin):
            return begin
    sound = last_boundary(text, first, earliest)
    return sound if sound == earliest else min(cluster_end(text, sound), start)


def _ending(text: str, begin: int, least: int, limit: int, last: int) -> int:
    """Where a sentence ends behind `least`, else a word, not past `limit`; a word before it, if there is none."""
    if limit >= last:
        return last
    sentences = [found.end() for found in SENTENCE.finditer(text, least - 1, limit)]
    pauses = (found.start() for found in _LAST_PAUSE.finditer(text, begin + (limit - begin) // 2, limit + 1))
    for place in chain(reversed(sentences), pauses):
        end = begin + len(text[begin:place].rstrip())
        if begin < end <= limit and is_boundary(text, begin, end):
            return end
    end = last_boundary(text, begin, limit)
    return end if end > begin else limit
