"""Compares JSON values by their texts. Numbers compare by value, strings by characters, objects without order."""

import json
from collections.abc import Iterator
from itertools import takewhile, zip_longest
from typing import Any

import msgspec

from findspot.jsontext.lists import BATCH, elements, parts

_WHITE = b" \t\n\r"
_DIGITS = 4300  # an exponent with more digits is compared by its spelling: Python refuses to read it

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_STRING = msgspec.json.Decoder(str)


def equal(left: bytes, right: bytes) -> bool:
    """Return whether two valid JSON texts have the same value.

    Containers are opened one level at a time, and lists in parts, until a difference is found.
    """
    pending = [iter([(left.strip(_WHITE), right.strip(_WHITE))])]
    while pending:
        pair = next(pending[-1], None)
        if pair is None:
            pending.pop()
            continue
        one, other = map(bytes, pair)
        if one == other:
            continue
        inside = _inside(one, other)
        if inside is None:
            return False
        pending.append(inside)
    return True


def _inside(one: bytes, other: bytes) -> Iterator[tuple[Any, Any]] | None:
    """Return the pairs of values that decide whether two different texts have the same value; None if they differ."""
    kinds = _kind(one), _kind(other)
    if kinds == (b"{", b"{"):
        members, others = _OBJECT.decode(one), _OBJECT.decode(other)
        if members.keys() != others.keys():
            return None
        return ((value, others[key]) for key, value in members.items())
    if kinds == (b"[", b"["):
        return _different(one, other)
    if kinds == (b'"', b'"'):
        return iter(()) if _STRING.decode(one) == _STRING.decode(other) else None
    if kinds == (b"0", b"0"):
        return iter(()) if canonical_number(one.decode()) == canonical_number(other.decode()) else None
    return None


def _different(one: bytes, other: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the elements of two lists whose texts differ, side by side; nothing beside the rest of the longer list."""
    if max(len(one), len(other)) > BATCH:
        ones, others = parts(one), parts(other)
        same = takewhile(lambda pair: pair[0] == pair[1], zip(ones, others, strict=False))
        done = sum(len(part) - 1 for part, _ in same)  # equal beginnings need not be opened
        one, other = (b"[" + (text[1 + done :] or b"]") for text in (one, other))
    for each, beside in zip_longest(map(bytes, elements(one)), map(bytes, elements(other)), fillvalue=b""):
        if each != beside:
            yield each, beside


def _kind(text: bytes) -> bytes:
    first = text[:1]
    return b"0" if first.isdigit() or first == b"-" else first


def canonical_number(text: str) -> str:
    """Return one spelling for all spellings of a number: `1`, `1.0` and `10e-1` become `1e0`."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole.lstrip("-") + fraction).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return "0e0"
    if len(exponent) > _DIGITS:
        return text
    shift = int(exponent or "0") - len(fraction) + len(digits) - len(significant)
    return f"{'-' if whole.startswith('-') else ''}{significant}e{shift}"


def _number(text: str) -> msgspec.Raw:
    return msgspec.Raw(canonical_number(text).encode())


_DECODER = json.JSONDecoder(parse_float=_number, parse_int=_number)


def canonical(text: bytes) -> bytes:
    """Return one text for all texts of a JSON value, so that values can be looked up in a set."""
    if text.startswith(b'"') and b"\\" not in text:
        return text  # most strings have only one spelling
    return msgspec.json.encode(_DECODER.decode(text.decode()), order="sorted")
