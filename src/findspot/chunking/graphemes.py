"""Where does one character, as a reader sees it, end and the next begin?

Extended grapheme clusters of UAX #29, through `regex`, which carries the Unicode tables for them; the standard
library has none. White space always stands for itself: chunks are stripped, so a mark on a blank goes with what
follows it, and the two halves of CRLF are never seen apart.
"""

from __future__ import annotations

import regex

LONGEST = 8_000  # no one typed a longer cluster: it is cut like text without boundaries

# GB9c, which `regex` does not have yet: a consonant behind a virama is written into the one before it.
_VIRAMA = r"\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d"
_CONSONANT = (
    r"\u0915-\u0939\u0958-\u095f\u0978-\u097f\u0995-\u09b9\u09dc-\u09df\u09f0\u09f1\u0a95-\u0ab9\u0af9"
    r"\u0b15-\u0b39\u0b5c-\u0b5f\u0b71\u0c15-\u0c39\u0c58-\u0c5a\u0d15-\u0d3a"
)
_CLUSTER = regex.compile(rf"\X(?:(?<=[{_VIRAMA}]\u200d?)(?=[{_CONSONANT}])\X)*")
_BLANK = regex.compile(r"\s")
_FLAG_HALF = "\U0001f1e6-\U0001f1ff"
_NO_FLAG_HALF = regex.compile(rf"(?r)[^{_FLAG_HALF}]")

# Most cuts fall between two characters that never join, which one look behind tells: on the right one that never
# joins what is before it, on the left one that joins nothing of that kind.
_LETTERS = (
    r"\x20-\x7e\u00c0-\u02ff\u0370-\u0482\u048a-\u052f\u05d0-\u05ea\u0620-\u064a"
    r"\u3001-\u3029\u3041-\u3096\u30a0-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff01-\uff60"
)
_PICTURES = r"\u2600-\u27bf\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
_HANGUL_FIRST, _HANGUL_LATER = r"\u1100-\u115f", r"\u1160-\u11ff"
_TIED_TO_LEFT = rf"\u0300-\u036f\ufe0f\U0001f3fb-\U0001f3ff{_HANGUL_LATER}{_FLAG_HALF}"
_SURE = regex.compile(rf"(?r)(?<=[{_LETTERS}{_PICTURES}{_TIED_TO_LEFT}])[{_LETTERS}{_PICTURES}{_HANGUL_FIRST}]")


def is_boundary(text: str, start: int, place: int) -> bool:
    """Whether text may be cut before `place`, given that it may be cut before `start`."""
    if place <= start or place >= len(text) or text[place - 1].isspace() or text[place].isspace():
        return True
    return last_boundary(text, start, place) == place


def last_boundary(text: str, start: int, place: int) -> int:
    """The last sound cut at or before `place`, given that `start` is one."""
    if place >= len(text):
        return len(text)
    before = _NO_FLAG_HALF.search(text, start, place + 1)
    flags = before.end() if before else start
    if flags < place:  # in a run of flags, which is counted here: `regex` counts it anew at each of its characters
        place -= (place - flags) % 2
        if flags < place:
            return place
    sure = _SURE.search(text, start + 1, place + 1)
    here: int = sure.start() if sure else start
    if here == place:
        return place
    last = 0
    for cluster in _CLUSTER.finditer(text[here : place + 1]):
        last = cluster.start()
    return here + last


def cluster_end(text: str, start: int) -> int:
    """Where the cluster that begins at `start` ends."""
    found = _CLUSTER.match(text[start : start + LONGEST])
    end: int = start + (found.end() if found else 1)
    blank = _BLANK.search(text, start + 1, end)  # behind a sign that is written around what follows
    return blank.start() if blank else end
