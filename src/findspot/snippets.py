"""What is shown of a hit: a stretch of its text around the best match, and what matched in it."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from findspot.words import Query

LENGTH = 240  # characters
_TOGETHER = 160  # matches that stand no further apart are shown together


class Snippet(NamedTuple):
    """A span of a text, and spans of that span."""

    start: int
    end: int
    highlights: tuple[tuple[int, int], ...]


def snippet(query: "Query", text: str, length: int = LENGTH) -> Snippet:
    """The stretch in which most of a query's words stand, cut at sentences or words."""
    from findspot.chunking import around
    from findspot.words import highlights

    spans = highlights(query, text)
    start, end = around(text, *_best(text, spans), length)
    inside = ((max(first, start) - start, min(last, end) - start) for first, last in spans)
    return Snippet(start, end, tuple((first, last) for first, last in inside if first < last))


def _best(text: str, spans: list[tuple[int, int]]) -> tuple[int, int]:
    """Where the most different words stand together; the first such place."""
    best, most = (0, 0), 0
    for place, (start, end) in enumerate(spans):
        near = [span for span in spans[place:] if span[1] <= start + _TOGETHER] or [(start, end)]
        value = len({text[first:last].lower() for first, last in near})
        if value > most:
            best, most = (start, near[-1][1]), value
    return best
