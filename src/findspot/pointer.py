"""RFC 6901 JSON pointers: parse, write and compare."""

import re

from findspot.errors import invalid

_BAD_ESCAPE = re.compile(r"~(?![01])")
_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_MAX_INDEX_DIGITS = 18
MAX_BYTES = 2400  # of a pointer that the store keeps in an index; PostgreSQL refuses entries over 2,704 bytes


class Missing(LookupError):
    """A pointer does not resolve in a value. The message names the step and the reason."""


def parse(pointer: str, field: str = "json_pointer") -> tuple[str, ...]:
    """Return the unescaped reference tokens of a pointer. The empty pointer is the whole value."""
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise invalid(field, "a JSON pointer is empty or starts with '/'")
    if _BAD_ESCAPE.search(pointer):
        raise invalid(field, "'~' in a JSON pointer must be written '~0', and '/' inside a key '~1'")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def write(tokens: tuple[str, ...]) -> str:
    """Return the pointer of these tokens: the inverse of `parse`."""
    return "".join(map(step, tokens))


def step(token: str) -> str:
    """Return one token, escaped, as it is appended to a pointer."""
    if "~" in token or "/" in token:
        token = token.replace("~", "~0").replace("/", "~1")
    return "/" + token


def holds(scope: str, pointer: str) -> bool:
    """Return whether `pointer` is `scope` or below it: `/a` holds `/a/b`, but not `/ab`."""
    return pointer == scope or pointer.startswith(scope + "/")


def indexable(pointer: str) -> str:
    """Return the pointer, or the nearest one above it that the store can keep in an index: short and without U+0000."""
    encoded = pointer.encode()
    kept = encoded[: MAX_BYTES + 1].partition(b"\0")[0]
    if len(kept) == len(encoded) <= MAX_BYTES:
        return pointer
    return kept.rpartition(b"/")[0].decode()


def index(token: str) -> int | None:
    """Return the list index that a token names, or None (`01`, `-1`, `1e0` and `-` are not indexes)."""
    if len(token) > _MAX_INDEX_DIGITS or not _INDEX.fullmatch(token):
        return None
    return int(token)
