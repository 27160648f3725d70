"""Choose the snippet of a hit: the part of its text with the best match, and what matched in it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

LENGTH = 240  # characters
_WINDOW = 160  # characters; matches within it are shown together


class Snippet(NamedTuple):
    """A span of a text, and the spans of the matches relative to its start."""

    start: int
    end: int
    highlights: tuple[tuple[int, int], ...]


def snippets(
    texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]], length: int = LENGTH
) -> Iterator[Snippet]:
    """Yield the part of each text with the most different matches, cut at sentences or words.

    `spans` are the matches in each whole text, in order.
    """
    from findspot.chunking import excerpts

    for (start, end), matches in zip(excerpts(texts, list(map(_best, texts, spans)), length), spans, strict=True):
        shown = [
            (first - start if first > start else 0, (last if last < end else end) - start)
            for first, last in matches
            if first < end and last > start
        ]
        yield Snippet(start, end, tuple(shown))


def _best(text: str, spans: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the first span of at most _WINDOW characters with the most different matches."""
    if not spans:
        return 0, 0
    if spans[-1][1] <= spans[0][0] + _WINDOW or len(spans) == 1:
        return spans[0][0], spans[-1][1]
    words = [text[start:end].lower() for start, end in spans]
    best, most, until = (0, 0), 0, 0
    for place, (start, end) in enumerate(spans):
        until = max(until, place + 1)
        while until < len(spans) and spans[until][1] <= start + _WINDOW:
            until += 1
        if until - place > most and (value := len(set(words[place:until]))) > most:
            best, most = (start, max(end, spans[until - 1][1])), value
    return best
