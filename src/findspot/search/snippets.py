"""What is shown of a hit: a stretch of its text around the best match, and what matched in it."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from findspot.words import Highlights

LENGTH = 240  # characters
_TOGETHER = 160  # matches that stand no further apart are shown together


class Snippet(NamedTuple):
    """A span of a text, and spans of that span."""

    start: int
    end: int
    highlights: tuple[tuple[int, int], ...]


def snippet(highlights: "Highlights", text: str, length: int = LENGTH) -> Snippet:
    """The stretch in which most of a query's words stand, cut at sentences or words."""
    from findspot.chunking import excerpt

    spans = highlights(text)
    start, end = excerpt(text, *_best(text, spans), length)
    inside = ((max(first, start) - start, min(last, end) - start) for first, last in spans)
    return Snippet(start, end, tuple((first, last) for first, last in inside if first < last))


def _best(text: str, spans: list[tuple[int, int]]) -> tuple[int, int]:
    """Where the most different words stand together; the first such place."""
    words = [text[start:end].lower() for start, end in spans]
    best, most, until = (0, 0), 0, 0
    for place, (start, end) in enumerate(spans):
        until = max(until, place + 1)
        while until < len(spans) and spans[until][1] <= start + _TOGETHER:
            until += 1
        if until - place > most and (value := len(set(words[place:until]))) > most:
            best, most = (start, max(end, spans[until - 1][1])), value
    return best
