"""Checks JSON texts: strict RFC 8259, valid UTF-8, no lone surrogates, and limited nesting."""

import codecs
import re
from itertools import accumulate

import msgspec

from findspot.errors import invalid
from findspot.jsontext.lists import Shape, slices

MAX_DEPTH = 500  # far more than real data has, far less than any of the parsers involved allows

_SKIM = msgspec.json.Decoder(msgspec.Raw)
_PAIR = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_LONE_SURROGATE = "contains a lone surrogate, which is half a character"
_WHITE = b" \t\n\r"
_SLICE = 1 << 20


def check(text: bytes, field: str = "body", frame: int = 0) -> bytes:
    """Return the text without white space around it. Raise INVALID_ARGUMENT if it is not valid JSON.

    `frame` is the number of levels around the value, as in `{name, data}`. They do not count toward the depth limit.
    """
    text = text.strip(_WHITE)
    if not text:
        raise invalid(field, "is empty; send a JSON value")
    try:
        _SKIM.decode(text)
    except RecursionError:
        raise _too_deep(field) from None
    except msgspec.DecodeError as error:
        refuse_lone_surrogates(text, field)
        raise invalid(field, f"is not valid JSON: {error}") from None
    _check_utf8(text, field)
    if depth(text) > MAX_DEPTH + frame:
        raise _too_deep(field)
    return text


def refuse_lone_surrogates(text: bytes, field: str) -> None:
    """Raise INVALID_ARGUMENT if a text that the parser rejected has a lone surrogate: its own message is misleading."""
    if _has_lone_surrogate(text):
        raise invalid(field, _LONE_SURROGATE) from None


def scalar_text(text: str) -> str:
    """Return the text, or raise ValueError if it has a lone surrogate.

    Python's own JSON parser accepts lone surrogates, but databases and services do not.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(_LONE_SURROGATE) from None
    return text


def without_nul(text: str) -> str:
    """Return the text, or raise ValueError if it holds U+0000, which text in PostgreSQL cannot."""
    if "\0" in text:
        raise ValueError("must not contain U+0000")
    return text


def depth(text: bytes) -> int:
    """Return the maximum nesting depth of objects and lists. The text must be well-formed JSON."""
    shape, deepest, level = Shape(), 0, 0
    for _, part in slices(text, 0, _SLICE):
        brackets = shape.brackets(part)
        deepest = max(deepest, *accumulate(memoryview(brackets.translate(_STEPS)).cast("b"), initial=level))
        level = shape.level
    return deepest


def _has_lone_surrogate(text: bytes) -> bool:
    return _HALF.search(_PAIR.sub(b"", text.replace(b"\\\\", b"-"))) is not None


def _check_utf8(text: bytes, field: str) -> None:
    """Decode slice by slice, so that a large text is not copied as a whole."""
    decoder, view = codecs.getincrementaldecoder("utf-8")(), memoryview(text)
    for start in range(0, len(text), _SLICE):
        try:
            decoder.decode(view[start : start + _SLICE], final=start + _SLICE >= len(text))
        except UnicodeDecodeError as error:
            raise invalid(field, f"is not valid UTF-8 near byte {start + error.start}") from None


def _too_deep(field: str) -> Exception:
    return invalid(field, f"is nested more than {MAX_DEPTH} levels deep")
