"""Where the elements of a table's lists are in its text, so that the context of a hit is read without the rest."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from findspot import pointer as pointers
from findspot.jsontext.tree import Tree
from findspot.pointer import Missing

_NUMBER: Final = "Q"  # eight bytes
_LIST = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Records:
    """The elements of the list at a pointer: where each begins and ends in the text of the table, in bytes.

    `around` is the context of an element that has none of its own.
    """

    pointer: str
    spans: bytes  # two numbers for each element
    around: dict[str, Any]

    def __len__(self) -> int:
        return len(self.spans) // (2 * array(_NUMBER).itemsize)

    def span(self, place: str) -> tuple[int, int] | None:
        """Return where the element is that a place in the list is in; None if there is no such element."""
        index = pointers.index(self.path_of(place)[0])
        if index is None or index >= len(self):
            return None
        size = 2 * array(_NUMBER).itemsize
        start, end = memoryview(self.spans)[index * size : (index + 1) * size].cast(_NUMBER)
        return start, end

    def path_of(self, place: str) -> tuple[str, ...]:
        """Return the way from the list to a place in it."""
        return pointers.parse(place[len(self.pointer) :])


def list_pointers(place: str) -> list[str]:
    """Return the pointers of what may be a list around a place, the outermost first."""
    tokens = pointers.parse(place)
    return [pointers.write(tokens[:at]) for at, token in enumerate(tokens) if token.isdigit()]


def outermost_list(tree: Tree, tokens: tuple[str, ...]) -> tuple[str, bytes] | None:
    """Return the pointer and the text of the first list around a place; None if there is none.

    Nothing below the list may have been read from the tree before: then its text would not be that of the table.
    """
    for at in range(len(tokens)):
        try:
            text = tree.get(tokens[:at])
        except Missing:
            return None
        if text.startswith(b"["):
            return pointers.write(tokens[:at]), text
    return None


def spans_of(text: bytes, listed: bytes) -> bytes:
    """Return the spans of the elements of a list, whose text `listed` is part of `text`."""
    at, spans = text.index(listed) + 1, array(_NUMBER)
    for each in _LIST.decode(listed):
        element = bytes(each)
        at = text.index(element, at)  # the next one: only commas and white space are in between
        spans.extend((at, at + len(element)))
        at += len(element)
    return spans.tobytes()


def joined_pieces(pieces: dict[int, bytes], size: int, span: tuple[int, int]) -> bytes | None:
    """Return a span of a text that is stored in pieces of this size; None if one of them is missing."""
    numbers = range(span[0] // size, (span[1] - 1) // size + 1)
    if any(number not in pieces for number in numbers):
        return None
    first = numbers[0] * size
    return b"".join(pieces[number] for number in numbers)[span[0] - first : span[1] - first]


def piece_numbers(spans: Sequence[tuple[int, int]], size: int) -> list[int]:
    """Return the numbers of the pieces that hold these spans."""
    return sorted({number for start, end in spans for number in range(start // size, (end - 1) // size + 1)})
