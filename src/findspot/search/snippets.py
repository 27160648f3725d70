"""Choose the snippet of a hit: the part of its text with the best match, and what matched in it."""

from collections.abc import Sequence
from typing import NamedTuple

LENGTH = 240  # characters
_WINDOW = 160  # characters; matches within it are shown together


class Snippet(NamedTuple):
    """A span of a text, and the spans of the matches relative to its start."""

    start: int
    end: int
    highlights: tuple[tuple[int, int], ...]


def snippet(text: str, spans: Sequence[tuple[int, int]], length: int = LENGTH) -> Snippet:
    """Return the part of the text with the most different matches, cut at sentences or words.

    `spans` are the matches in the whole text, in order.
    """
    from findspot.chunking import excerpt

    start, end = excerpt(text, *_best(text, spans), length)
    inside = [(first, last) for first, last in spans if first < end and last > start]
    return Snippet(start, end, tuple([(max(first, start) - start, min(last, end) - start) for first, last in inside]))


def _best(text: str, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the first span of at most _WINDOW characters with the most different matches."""
    words = [text[start:end].lower() for start, end in spans]
    best, most, until = (0, 0), 0, 0
    for place, (start, end) in enumerate(spans):
        until = max(until, place + 1)
        while until < len(spans) and spans[until][1] <= start + _WINDOW:
            until += 1
        if until - place > most and (value := len(set(words[place:until]))) > most:
            best, most = (start, max(end, spans[until - 1][1])), value
    return best
