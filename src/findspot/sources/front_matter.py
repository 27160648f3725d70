"""Finds the start of a Markdown body: after a byte order mark and YAML front matter, which are not part of the text."""

from __future__ import annotations

import re

# The first line must be a YAML key or comment. Otherwise a document that begins with a thematic break would lose its
# first words.
_OPENING = re.compile(r"---[ \t]*(?:\r\n|\r|\n)(?=[ \t]*#|[\w\"'][^\r\n:]{0,200}:(?:[ \t\r\n]|$))")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\r|\n|\Z)", re.MULTILINE)


def body_start(source: str) -> int:
    """Return the offset of the first code point of the Markdown body."""
    start = 1 if source.startswith("\ufeff") else 0
    opening = _OPENING.match(source, start)
    closing = _CLOSING.search(source, opening.end()) if opening else None
    return closing.end() if closing else start
