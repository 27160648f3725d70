"""Is this text JSON that can be kept exactly? Strict RFC 8259, valid UTF-8, no lone surrogate, not nested too deep."""

import codecs
import re
from itertools import accumulate

import msgspec

from findspot.errors import invalid

MAX_DEPTH = 500  # far above real data, far below what any parser on the way can take

_SKIM = msgspec.json.Decoder(msgspec.Raw)
_STRING = re.compile(rb'"[^"]*"')
_PAIR = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_SHAPE = bytes(byte for byte in range(256) if byte not in b'"[]{}')
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_HALF_A_CHARACTER = "holds a lone surrogate, which is half a character"
_WHITE = b" \t\n\r"
_SLICE = 1 << 20


def check(text: bytes, field: str = "body", frame: int = 0) -> bytes:
    """The text without white space around it, if it is JSON that can be kept; otherwise INVALID_ARGUMENT.

    A value that arrives in a frame, such as `{name, data}`, may be as deep as one that arrives alone.
    """
    text = text.strip(_WHITE)
    if not text:
        raise invalid(field, "is empty; send a JSON value")
    try:
        _SKIM.decode(text)
    except RecursionError:
        raise _too_deep(field) from None
    except msgspec.DecodeError as error:
        refuse_halves(text, field)
        raise invalid(field, f"is not valid JSON: {error}") from None
    _check_utf8(text, field)
    if depth(text) > MAX_DEPTH + frame:
        raise _too_deep(field)
    return text


def refuse_halves(text: bytes, field: str) -> None:
    """Name a lone surrogate in a text that the parser did not take: its own words for this are misleading."""
    if _lone_surrogate(text):
        raise invalid(field, _HALF_A_CHARACTER) from None


def whole(text: str) -> str:
    """The text, if it has no half of a character in it; otherwise ValueError. Python's own parser lets them pass, and
    no database or service takes them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(_HALF_A_CHARACTER) from None
    return text


def depth(text: bytes) -> int:
    """How many objects and lists are open at once at most. The text must be well-formed JSON."""
    shape = text.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NOT_SHAPE)
    # Dropping a pair of neighbouring quotes changes nothing for what stands outside strings, and leaves few to match.
    brackets = _STRING.sub(b"", shape.replace(b'""', b""))
    return max(accumulate(memoryview(brackets.translate(_STEPS)).cast("b")), default=0)


def _lone_surrogate(text: bytes) -> bool:
    return _HALF.search(_PAIR.sub(b"", text.replace(b"\\\\", b"-"))) is not None


def _check_utf8(text: bytes, field: str) -> None:
    """Decode slice by slice, so that a large text never has a second copy."""
    decoder, view = codecs.getincrementaldecoder("utf-8")(), memoryview(text)
    for start in range(0, len(text), _SLICE):
        try:
            decoder.decode(view[start : start + _SLICE], final=start + _SLICE >= len(text))
        except UnicodeDecodeError as error:
            raise invalid(field, f"is not valid UTF-8 near byte {start + error.start}") from None


def _too_deep(field: str) -> Exception:
    return invalid(field, f"is nested more than {MAX_DEPTH} levels deep")
