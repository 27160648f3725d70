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

_VALUE = msgspec.json.Decoder()
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_WHITE = b" \t\n\r"


def read(text: bytes, *, threshold: int, scope: str = "", max_length: int = MAX_LENGTH) -> Iterator[Node | Skipped]:
    """The long strings at a scope of a JSON text and below it; none if the scope leads nowhere."""
    try:
        inner = _cut_out(text, pointers.parse(scope, "scope"))
        value = None if inner is None else _VALUE.decode(inner)
    except RecursionError:
        raise _too_deep("") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SourceError(f"not a JSON text: {error}") from None
    return walk(value, threshold=threshold, base=scope, max_length=max_length)


def walk(value: Any, *, threshold: int, base: str = "", max_length: int = MAX_LENGTH) -> Iterator[Node | Skipped]:
    """The long strings of a decoded value that stands at the pointer `base`: `threshold` characters and more."""
    if isinstance(value, str):
        if len(value) >= threshold:
            yield _judged(base, value, max_length)
        return
    if not isinstance(value, dict | list):
        return
    open_containers = [_Open(value, base)]
    while open_containers:
        container = open_containers[-1]
        for key, item in container.items:
            kind = type(item)
            if kind is str:
                if len(item) >= threshold:
                    yield _judged(_below(container.pointer, key), item, max_length)
            elif kind is dict or kind is list:
                if len(open_containers) >= MAX_DEPTH:
                    raise _too_deep(container.pointer)
                open_containers.append(_Open(item, _below(container.pointer, key)))
                break
        else:
            open_containers.pop()


class _Open:
    """An object or list that the walk is inside of."""

    __slots__ = ("items", "pointer")

    def __init__(self, container: dict[str, Any] | list[Any], pointer: str) -> None:
        self.items: Iterator[tuple[Any, Any]]
        self.items = iter(container.items()) if isinstance(container, dict) else enumerate(container)
        self.pointer = pointer


def _below(parent: str, key: str | int) -> str:
    """The pointer one step down. One that is too long anyway stops growing, or long keys would cost their product."""
    if len(parent) > MAX_POINTER:
        return parent
    pointer = parent + (pointers.write((key,)) if isinstance(key, str) else f"/{key}")
    return pointer if len(pointer) <= MAX_POINTER else pointer[:MAX_POINTER] + _CUT_MARK


def _judged(pointer: str, text: str, max_length: int) -> Node | Skipped:
    if len(pointer) > MAX_POINTER:
        return Skipped(pointer[:MAX_POINTER] + _CUT_MARK, SkipReason.POINTER_TOO_LONG)
    if "\0" in pointer:
        return Skipped(pointer, SkipReason.POINTER_HOLDS_NUL)
    if len(text) > max_length:
        return Skipped(pointer, SkipReason.CONTENT_TOO_LONG)
    return Node(pointer, text)


def _cut_out(text: bytes, tokens: tuple[str, ...]) -> bytes | msgspec.Raw | None:
    """The text of the value at a pointer, one level at a time, so that all around it is never built."""
    inner: bytes | msgspec.Raw = text.strip(_WHITE)
    for token in tokens:
        first = bytes(memoryview(inner)[:1])
        found: msgspec.Raw | None = None
        if first == b"{":
            found = _OBJECT.decode(inner).get(token)
        elif first == b"[":
            items, place = _LIST.decode(inner), pointers.index(token)
            found = items[place] if place is not None and place < len(items) else None
        if found is None:
            return None
        inner = found
    return inner


def _too_deep(pointer: str) -> SourceError:
    return SourceError(f"the value is nested too deep; {MAX_DEPTH} levels are the limit", pointer)
