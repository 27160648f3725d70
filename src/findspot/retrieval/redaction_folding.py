"""Folding for redaction: full-width forms become ASCII and invisible characters disappear, with the way back."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

# Characters without width that may stand inside a number or an address, and the frame of an emoji such as 1️⃣.
_INVISIBLE = "\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\u20e3\ufe00-\ufe0f\ufeff"
_HIDDEN = re.compile(f"[{_INVISIBLE}]")
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−－﹣"), "-")
_SPACES = dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000"), " ")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text. `places[i]` is the original offset of its character i; None means that offsets are equal."""

    text: str
    places: tuple[int, ...] | None = None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original text for a range of the folded text that is not empty."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def fold(text: str) -> Folded:
    """Return the text with one character for each visible character: `１３８` becomes `138`, `＠` becomes `@`."""
    if text.isascii():
        return Folded(text)
    if not _HIDDEN.search(text):
        return Folded(text.translate(_TABLE))
    places = tuple(at for at, character in enumerate(text) if not _HIDDEN.match(character))
    return Folded("".join(text[at] for at in places).translate(_TABLE), places)


def allowed_form(value: str) -> str:
    """Return a value as the list of allowed values compares it: without regard to case and width."""
    return fold(value).text.casefold()


class _Characters(dict[int, str]):
    """Maps a character to its NFKC form if that is one character. Filled on first use of a character."""

    def __missing__(self, point: int) -> str:
        if 0xD800 <= point <= 0xDFFF:  # half of a character, which the pattern engine refuses
            return "\ufffd"
        character = chr(point)
        normal = unicodedata.normalize("NFKC", character)
        if character.isdecimal():
            folded = str(unicodedata.decimal(character))
        else:  # ² and ① are marks beside a number, not digits of it
            folded = normal if len(normal) == 1 and not normal.isdecimal() else character
        self[point] = folded
        return folded


_TABLE = _Characters(_DASHES | _SPACES)
