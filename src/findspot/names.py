"""Validates the names of projects, keys, tables and documents."""

import unicodedata

from findspot.errors import invalid

MAX_LENGTH = 200
_UNSHOWABLE = {"Cc", "Cs", "Zl", "Zp"}  # controls, lone surrogates, line and paragraph separators


def checked(name: str, field: str = "name") -> str:
    """Return the name if it can be displayed in one line; otherwise raise INVALID_ARGUMENT."""
    problem = _problem(name)
    if problem:
        raise invalid(field, problem)
    return name


def _problem(name: str) -> str | None:
    if not name:
        return "must not be empty"
    if len(name) > MAX_LENGTH:
        return f"must not have more than {MAX_LENGTH} characters"
    if name != name.strip():
        return "must not start or end with white space"
    if any(unicodedata.category(character) in _UNSHOWABLE for character in name):
        return "must not hold control characters or line breaks"
    return None
