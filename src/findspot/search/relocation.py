"""Find a passage in the current text of its document, when the index is behind and the text has changed since."""

from typing import NamedTuple

from findspot.models import ChunkRow

WINDOW = 20_000  # characters on each side of the indexed position in which a changed passage is looked for
SLACK = 200  # characters by which a changed passage may have grown on each side
_LEAST_PIECE = 2  # characters


class Place(NamedTuple):
    """A range of the current text. `kept` characters in a row are those of the indexed passage."""

    start: int
    end: int
    kept: int


def place(chunk: ChunkRow, text: str) -> Place:
    """Return where a passage is now: the nearest occurrence of its text, else the lines that hold most of it."""
    start = _nearest(text, chunk.text, chunk.char_start)
    if start is not None:
        return Place(start, start + len(chunk.text), len(chunk.text))
    return _changed_place(chunk, text)


def _changed_place(chunk: ChunkRow, text: str) -> Place:
    first = max(0, chunk.char_start - WINDOW)
    near = text[first : chunk.char_end + WINDOW]
    size = len(chunk.text) // 2
    while size >= _LEAST_PIECE:
        for offset in range(0, len(chunk.text) - size + 1, size):
            piece = chunk.text[offset : offset + size]
            if (found := _nearest(near, piece, chunk.char_start + offset - first)) is not None:
                return _lines(chunk, text, found + first, offset, size)
        size //= 2
    return _lines(chunk, text, min(chunk.char_start, len(text)), 0, 0)


def _lines(chunk: ChunkRow, text: str, found: int, offset: int, size: int) -> Place:
    """Return the lines around a piece of the passage, as many as the passage had before and after that piece."""
    start = found
    for _ in range(chunk.text.count("\n", 0, offset)):
        start = max(0, text.rfind("\n", 0, start))
    start = text.rfind("\n", 0, start) + 1
    end = found + size
    for _ in range(chunk.text.count("\n", offset + size)):
        end = _end_of_line(text, end) + 1
    end = _end_of_line(text, end)
    return Place(
        max(start, found - offset - SLACK), min(end, found - offset + len(chunk.text) + SLACK, len(text)), size
    )


def _end_of_line(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found


def _nearest(text: str, piece: str, position: int) -> int | None:
    """Return the occurrence of a piece that is nearest to a position."""
    after = text.find(piece, max(0, position))
    before = text.rfind(piece, 0, max(0, position) + len(piece))
    return min((each for each in (before, after) if each >= 0), key=lambda each: abs(each - position), default=None)
