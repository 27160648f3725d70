"""Boundaries of extended grapheme clusters (UAX #29): the characters that a reader sees.

`regex` has the Unicode tables for them; the standard library does not. White space is always a cluster of its own:
chunks are stripped, so a mark on a space belongs to the text after it, and CRLF is never split between two chunks.
"""

from __future__ import annotations

import re

import regex

LONGEST = 8_000  # code points; a longer cluster is no real text and is cut anywhere

# Rule GB9c, which `regex` does not have yet: a consonant after a virama joins the consonant before it.
_VIRAMA = r"\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d"
_CONSONANT = (
    r"\u0915-\u0939\u0958-\u095f\u0978-\u097f\u0995-\u09b9\u09dc-\u09df\u09f0\u09f1\u0a95-\u0ab9\u0af9"
    r"\u0b15-\u0b39\u0b5c-\u0b5f\u0b71\u0c15-\u0c39\u0c58-\u0c5a\u0d15-\u0d3a"
)
_CLUSTER = regex.compile(rf"\X(?:(?<=[{_VIRAMA}]\u200d?)(?=[{_CONSONANT}])\X)*")
_BLANK = regex.compile(r"\s")
_FLAG_HALF = "\U0001f1e6-\U0001f1ff"
_NO_FLAG_HALF = regex.compile(rf"(?r)[^{_FLAG_HALF}]")

# Most cuts are between two characters that never join. One lookbehind recognises them: the right character never joins
# the text before it, and the left one never joins a character of that kind.
_LETTERS = (
    r"\x20-\x7e\u00c0-\u02ff\u0370-\u0482\u048a-\u052f\u05d0-\u05ea\u0620-\u064a"
    r"\u3001-\u3029\u3041-\u3096\u30a0-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff01-\uff60"
)
_PICTURES = r"\u2600-\u27bf\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
_HANGUL_FIRST, _HANGUL_LATER = r"\u1100-\u115f", r"\u1160-\u11ff"
_JOINED_TO_LEFT = rf"\u0300-\u036f\ufe0f\U0001f3fb-\U0001f3ff{_HANGUL_LATER}{_FLAG_HALF}"
_SEPARATE = rf"(?<=[{_LETTERS}{_PICTURES}{_JOINED_TO_LEFT}])[{_LETTERS}{_PICTURES}{_HANGUL_FIRST}]"
_CERTAIN, _IS_CERTAIN = regex.compile(f"(?r){_SEPARATE}"), re.compile(_SEPARATE).match


def is_boundary(text: str, start: int, offset: int) -> bool:
    """Return whether `offset` is a cluster boundary, given that `start` is one."""
    if offset <= start or offset >= len(text) or text[offset - 1].isspace() or text[offset].isspace():
        return True
    return _IS_CERTAIN(text, offset) is not None or last_boundary(text, start, offset) == offset


def last_boundary(text: str, start: int, offset: int) -> int:
    """Return the last cluster boundary at or before `offset`, given that `start` is one."""
    if offset >= len(text):
        return len(text)
    before = _NO_FLAG_HALF.search(text, start, offset + 1)
    flags = before.end() if before else start
    if flags < offset:  # count flag halves here: `regex` would count the run again at each of its characters
        offset -= (offset - flags) % 2
        if flags < offset:
            return offset
    certain = _CERTAIN.search(text, start + 1, offset + 1)
    known: int = certain.start() if certain else start
    if known == offset:
        return offset
    last = 0
    for cluster in _CLUSTER.finditer(text[known : offset + 1]):
        last = cluster.start()
    return known + last


def cluster_end(text: str, start: int) -> int:
    """Return the end of the cluster that begins at `start`."""
    found = _CLUSTER.match(text[start : start + LONGEST])
    end: int = start + (found.end() if found else 1)
    space = _BLANK.search(text, start + 1, end)  # after a prepended character, which joins the text that follows
    return space.start() if space else end
