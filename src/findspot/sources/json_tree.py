"""The strings of a JSON value, each with its pointer, in document order.

Whatever is long enough comes out: as a Node, or as Skipped with the reason it cannot be searched. Nothing recurses,
so depth is a rule here and not an accident of the interpreter.
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
MAX_DEPTH = 1000  # every step is at least one character, so what lies below could hardly be pointed at
_CUT_MARK = "…"
_SMALL = 1 << 20  # bytes that are decoded at once
_LOOKS = 10  # a text that is nested deep is not looked through once a level

_VALUE = msgspec.json.Decoder()
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_WHITE = b" \t\n\r"


def read(text: bytes, *, threshold: int, scope: str = "", max_length: int = MAX_LENGTH) -> Iterator[Node | Skipped]:
    """The long strings at a scope of a JSON text and below it; none if the scope leads nowhere."""
    inner = _cut_out(msgspec.Raw(text.strip(_WHITE)), pointers.parse(scope, "scope"))
    value = _decoded(_VALUE, inner) if inner is not None and len(memoryview(inner)) < _SMALL else inner
    return walk(value, threshold=threshold, base=scope, max_length=max_length)


def walk(value: Any, *, threshold: int, base: str = "", max_length: int = MAX_LENGTH) -> Iterator[Node | Skipped]:
    """The long strings of a value that stands at the pointer `base`: `threshold` characters and more.

    The value is decoded, or still a JSON text (`msgspec.Raw`), of which only what may hold such a string is decoded.
    """
    text = _Text(threshold, len(memoryview(value)) if isinstance(value, msgspec.Raw) else 0)
    open_containers = [_Open({None: value}, base)]
    while open_containers:
        container = open_containers[-1]
        for key, item in container.items:
            if type(item) is msgspec.Raw:
                item = text.opened(item)
            kind = type(item)
            if kind is str:
                if len(item) >= threshold:
                    yield _judged(_below(container.pointer, key), item, max_length)
            elif kind is dict or kind is list:
                if len(open_containers) > MAX_DEPTH:
                    raise _too_deep(container.pointer)
                open_containers.append(_Open(item, _below(container.pointer, key)))
                break
        else:
            open_containers.pop()


class _Open:
    """An object or list that the walk is inside of."""

    __slots__ = ("items", "pointer")

    def __init__(self, container: dict[Any, Any] | list[Any], pointer: str) -> None:
        self.items: Iterator[tuple[Any, Any]]
        self.items = iter(container.items()) if isinstance(container, dict) else enumerate(container)
        self.pointer = pointer


def _below(parent: str, key: str | int | None) -> str:
    """The pointer one step down; without a key, the same.

    One that is too long anyway stops growing: long keys inside one another would cost their product.
    """
    if key is None or len(parent) > MAX_POINTER:
        return parent
    pointer = parent + (pointers.step(key) if isinstance(key, str) else f"/{key}")
    return pointer if len(pointer) <= MAX_POINTER else pointer[:MAX_POINTER] + _CUT_MARK


def _judged(pointer: str, text: str, max_length: int) -> Node | Skipped:
    if len(pointer) > MAX_POINTER:
        return Skipped(pointer[:MAX_POINTER] + _CUT_MARK, SkipReason.POINTER_TOO_LONG)
    if "\0" in pointer:
        return Skipped(pointer, SkipReason.POINTER_HOLDS_NUL)
    if len(text) > max_length:
        return Skipped(pointer, SkipReason.CONTENT_TOO_LONG)
    return Node(pointer, text)


class _Text:
    """A JSON text that is opened where a long string may be, and passed over elsewhere."""

    def __init__(self, threshold: int, size: int) -> None:
        self._least = threshold + 2  # a string of n characters takes at least n bytes and its quotes
        self._patience = size * _LOOKS

    def opened(self, raw: msgspec.Raw) -> Any:
        """The value of a text, whole or one level deep; None if nothing in it is long enough."""
        size = len(memoryview(raw))
        if size < self._least:
            return None
        self._patience -= size
        if size < _SMALL or self._patience < 0:
            return _decoded(_VALUE, raw)
        return _one_level(raw)


def _cut_out(raw: msgspec.Raw, tokens: tuple[str, ...]) -> msgspec.Raw | None:
    """The text at a pointer; all around it is passed over."""
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
    """An object or list whose values are still texts, or any other value."""
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
    return SourceError(f"the value is nested too deep; {MAX_DEPTH} levels are the limit", pointer)
