"""Checks the names of projects, keys, tables, tools and endpoints, and the titles of documents."""

import unicodedata

from findspot.errors import invalid

MAX_LENGTH = 200
_UNSHOWABLE = {"Cc", "Cs", "Zl", "Zp"}  # control characters, lone surrogates, line and paragraph separators


def checked(name: str, field: str = "name") -> str:
    """Return the name without white space around it; INVALID_ARGUMENT if it cannot be shown in one line."""
    name = name.strip()
    if not name:
        raise invalid(field, "must not be empty")
    if len(name) > MAX_LENGTH:
        raise invalid(field, f"must not have more than {MAX_LENGTH} characters")
    if any(unicodedata.category(character) in _UNSHOWABLE for character in name):
        raise invalid(field, "must not contain control characters or line breaks")
    return name
