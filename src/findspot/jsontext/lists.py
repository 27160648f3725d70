"""Reads the elements of a large JSON list in batches, so that they are never all in memory at once."""

import re
from collections.abc import Iterator
from itertools import chain

import msgspec

BATCH = 64 * 1024  # bytes of a list that are opened at once

_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_STRING = re.compile(rb'"[^"]*"')
_NOT_SHAPE = bytes(byte for byte in range(256) if byte not in b'"[]{}')
_TOKEN = re.compile(rb'"(?:[^"\\]+|\\.)*+"|[\[\]{},]', re.DOTALL)
_REST_OF_STRING = re.compile(rb'(?:[^"\\]+|\\.)*+"', re.DOTALL)
_SEARCHED = 4096  # bytes after a batch in which its last element may end; otherwise the batch grows


class Shape:
    """Follows the structure of a JSON text that is read in slices: nesting, and whether a slice ends in a string."""

    def __init__(self) -> None:
        self.in_string = False
        self.level = 0

    def brackets(self, part: bytes) -> bytes:
        """Return the brackets in the next slice, without those in strings. No slice may end within an escape."""
        shape = part.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NOT_SHAPE)
        # Removing pairs of adjacent quotes does not change what is outside strings, and leaves few strings to match.
        outside = _STRING.sub(b"", (b'"' + shape if self.in_string else shape).replace(b'""', b""))
        brackets, quote, _ = outside.partition(b'"')
        self.in_string = bool(quote)
        self.level += brackets.count(b"[") + brackets.count(b"{") - brackets.count(b"]") - brackets.count(b"}")
        return brackets


def slices(text: bytes, start: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the text in slices that do not end within an escape, each with the position of its end."""
    while start < len(text):
        end = start + size
        part = text[start:end]
        if (len(part) - len(part.rstrip(b"\\"))) % 2:
            part = text[start : end + 1]
        start += len(part)
        yield start, part


def elements(text: bytes) -> Iterator[msgspec.Raw]:
    """Return the elements of a valid list, one after another. The text has no white space around it."""
    return chain.from_iterable(map(_LIST.decode, parts(text)))


def parts(text: bytes) -> Iterator[bytes]:
    """Yield a valid list as several shorter ones, of about `BATCH` bytes, or of one larger element."""
    if len(text) <= BATCH:
        yield text
        return
    shape, begin = Shape(), 1
    for end, part in slices(text, 1, BATCH):
        shape.brackets(part)
        if end >= len(text):
            break
        cut = _end_of_element(text, end, shape)
        if cut is not None and cut > begin:
            yield b"".join((b"[", memoryview(text)[begin:cut], b"]"))
            begin = cut + 1
    yield b"[" + text[begin:]


def _end_of_element(text: bytes, start: int, shape: Shape) -> int | None:
    """Return the position of the first comma between elements, if it comes soon after `start`."""
    level, at, last = shape.level, start, start + _SEARCHED
    if shape.in_string:
        rest = _REST_OF_STRING.match(text, start, last)
        if rest is None:
            return None
        at = rest.end()
    for token in _TOKEN.finditer(text, at, last):
        kind = token[0]
        if kind == b"," and level == 0:
            return token.start()
        if kind in (b"[", b"{"):
            level += 1
        elif kind in (b"]", b"}"):
            level -= 1
    return None
