"""Yields the strings of a JSON value with their pointers, in document order.

Every string of at least the threshold length is yielded: as a Node, or as Skipped with the reason why it cannot be
searched. Nothing recurses, so the depth limit does not depend on the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from findspot import pointer as pointers
from findspot.models import Node, Skipped, SkipReason
from findspot.sources.errors import SourceError

MAX_POINTER = 1024
MAX_LENGTH = 50_000_000
MAX_DEPTH = 1000  # each level adds a character or more, so the pointers of much deeper strings exceed MAX_POINTER
_CUT_MARK = "…"
DECODE_WHOLE = 1 << 20  # bytes; a smaller text is decoded as a whole
MAX_SCANS = 10  # how often the text may be scanned level by level before the rest is decoded as a whole

_VALUE = msgspec.json.Decoder()
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_WHITE = b" \t\n\r"


def read(text: bytes, *, threshold: int, scope: str = "", max_length: int = MAX_LENGTH) -> Iterator[Node | Skipped]:
    """Yield the long strings of a JSON text at a scope and below; none if the scope does not exist."""
    inner = _raw_at(msgspec.Raw(text.strip(_WHITE)), pointers.parse(scope, "scope"))
    value = _decoded(_VALUE, inner) if inner is not None and len(memoryview(inner)) < DECODE_WHOLE else inner
    return walk(value, threshold=threshold, base=scope, max_length=max_length)


def walk(value: Any, *, threshold: int, base: str = "", max_length: int = MAX_LENGTH) -> Iterator[Node | Skipped]:
    """Yield the strings of at least `threshold` characters in a value whose pointer is `base`.

    The value is decoded, or a JSON text (`msgspec.Raw`). Of a JSON text, only parts that may contain such a string are
    decoded.
    """
    decoder = _LazyDecoder(threshold, len(memoryview(value)) if isinstance(value, msgspec.Raw) else 0)
    open_containers = [_OpenContainer({None: value}, base)]
    while open_containers:
        container = open_containers[-1]
        for key, item in container.items:
            if type(item) is msgspec.Raw:
                item = decoder.decode(item)
            kind = type(item)
            if kind is str:
                if len(item) >= threshold:
                    yield _node_or_skipped(_child_pointer(container.pointer, key), item, max_length)
            elif kind is dict or kind is list:
                if len(open_containers) > MAX_DEPTH:
                    raise _too_deep(container.pointer)
                open_containers.append(_OpenContainer(item, _child_pointer(container.pointer, key)))
                break
        else:
            open_containers.pop()


class _OpenContainer:
    """An object or list whose items are being walked."""

    __slots__ = ("items", "pointer")

    def __init__(self, container: dict[Any, Any] | list[Any], pointer: str) -> None:
        self.items: Iterator[tuple[Any, Any]]
        self.items = iter(container.items()) if isinstance(container, dict) else enumerate(container)
        self.pointer = pointer


def _child_pointer(parent: str, key: str | int | None) -> str:
    """Return the pointer of a child; without a key, that of the parent.

    A pointer that is already too long does not grow: nested long keys would take quadratic memory.
    """
    if key is None or len(parent) > MAX_POINTER:
        return parent
    pointer = parent + (pointers.step(key) if isinstance(key, str) else f"/{key}")
    return pointer if len(pointer) <= MAX_POINTER else pointer[:MAX_POINTER] + _CUT_MARK


def _node_or_skipped(pointer: str, text: str, max_length: int) -> Node | Skipped:
    if len(pointer) > MAX_POINTER:
        return Skipped(pointer[:MAX_POINTER] + _CUT_MARK, SkipReason.POINTER_TOO_LONG)
    if len(pointer.encode()) > pointers.MAX_BYTES:
        return Skipped(pointer, SkipReason.POINTER_TOO_LONG)
    if "\0" in pointer:
        return Skipped(pointer, SkipReason.POINTER_HOLDS_NUL)
    if len(text) > max_length:
        return Skipped(pointer, SkipReason.CONTENT_TOO_LONG)
    return Node(pointer, text)


class _LazyDecoder:
    """Decodes JSON texts that may contain a long string, and skips the others."""

    def __init__(self, threshold: int, size: int) -> None:
        self._min_size = threshold + 2  # a string of n characters takes at least n bytes and its quotes
        self._scan_budget = size * MAX_SCANS

    def decode(self, raw: msgspec.Raw) -> Any:
        """Return the value of a text, completely or one level deep; None if it cannot contain a long string."""
        size = len(memoryview(raw))
        if size < self._min_size:
            return None
        self._scan_budget -= size
        if size < DECODE_WHOLE or self._scan_budget < 0:
            return _decoded(_VALUE, raw)
        return _one_level(raw)


def _raw_at(raw: msgspec.Raw, tokens: tuple[str, ...]) -> msgspec.Raw | None:
    """Return the JSON text at a pointer, without decoding anything beside the path."""
    found: msgspec.Raw | None = raw
    for token in tokens:
        container = None if found is None else _one_level(found)
        found = None
        if isinstance(container, dict):
            found = container.get(token)
        elif isinstance(container, list):
            place = pointers.index(token)
            found = container[place] if place is not None and place < len(container) else None
    return found


def _one_level(raw: msgspec.Raw) -> Any:
    """Decode an object or list one level deep, leaving its values as JSON text; decode any other value."""
    first = bytes(memoryview(raw)[:1])
    return _decoded(_OBJECT if first == b"{" else _LIST if first == b"[" else _VALUE, raw)


def _decoded(decoder: msgspec.json.Decoder[Any], raw: msgspec.Raw) -> Any:
    try:
        return decoder.decode(raw)
    except RecursionError:
        raise _too_deep("") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SourceError(f"not a JSON text: {error}") from None


def _too_deep(pointer: str) -> SourceError:
    return SourceError(f"the value is nested more than {MAX_DEPTH} levels deep", pointer)
