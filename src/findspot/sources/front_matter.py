"""Where the body of a Markdown file begins: behind a byte order mark and YAML front matter, which are not its text."""

from __future__ import annotations

import re

# The first line must read as a YAML key or comment, or a document that opens with a thematic break would lose its
# first words.
_OPENING = re.compile(r"---[ \t]*(?:\r\n|\r|\n)(?=[ \t]*#|[\w\"'][^\r\n:]{0,200}:(?:[ \t\r\n]|$))")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\r|\n|\Z)", re.MULTILINE)


def body_start(source: str) -> int:
    """The first code point of the Markdown itself."""
    start = 1 if source.startswith("\ufeff") else 0
    opening = _OPENING.match(source, start)
    closing = _CLOSING.search(source, opening.end()) if opening else None
    return closing.end() if closing else start
