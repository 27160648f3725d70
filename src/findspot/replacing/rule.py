"""What to search for, and what to put in its place."""

from __future__ import annotations

from dataclasses import dataclass

MAX_LENGTH = 10_000  # characters of what is searched for, and of the replacement


@dataclass(frozen=True, slots=True)
class ReplaceRule:
    """A search text or regular expression, its replacement, and how both are read."""

    search: str
    replace: str
    case_sensitive: bool = False
    whole_word: bool = False
    regex: bool = False
    preserve_case: bool = False
