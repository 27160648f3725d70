"""Folding: makes spellings equal that differ in case, width, accents, or traditional and simplified characters.

`fold_run` replaces one character by one, so offsets stay valid; it is for Chinese. `fold_word` may change the length.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from findspot.native import PLANE, points, text_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Letters that Unicode does not decompose, and what people type for them.
_SPELT_OUT = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ø": "o", "đ": "d", "ħ": "h", "ł": "l", "ı": "i", "ŋ": "ng"}
    | {"’": "'", "ʼ": "'", "＇": "'", "\u00ad": None, "\u200c": None, "\u200d": None}
)
# Marks that a reader may leave out. Marks of Indic and Thai scripts are letters and stay.
_MARK_SPANS = ((0x300, 0x36F), (0x483, 0x487), (0x591, 0x5C7), (0x610, 0x61A), (0x64B, 0x65F), (0x670, 0x670))
_LATE_MARK_SPANS = ((0x6D6, 0x6ED), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE00, 0xFE0F))
_FOLDED_SCRIPTS = ("LATIN", "GREEK")
UNKNOWN = 0xFFFFFFFF  # in a table: it does not fold this character

_TABLE_FROM = 64  # characters; a longer run is folded by one array lookup, in a fifth of the time


def fold_word(word: str) -> str:
    """Return the folded form of a word: `Ｃafé` and `CAFE` become `cafe`."""
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", word).translate(_letters()).casefold().translate(_SPELT_OUT)


def fold_run(run: str) -> str:
    """Fold Chinese, Japanese or Korean character by character: `電腦` becomes `电脑`."""
    if len(run) < _TABLE_FROM:
        return run.translate(_characters())
    characters = points(run)
    if characters.max() >= PLANE:
        return run.translate(_characters())
    return text_of(folded_points().take(characters))


def are_folded(characters: set[str]) -> bool:
    """Return whether folding is known to change none of these characters: 0.1 µs for a chunk, not 3 to fold it."""
    return characters <= _characters().unchanged


@cache
def simplified_forms() -> dict[int, str]:
    """Return the simplified form of each traditional character, by code point."""
    traditional, simplified = resources.files(__package__).joinpath("t2s.txt").read_text("utf-8").split("\n")[:2]
    return dict(zip(map(ord, traditional), simplified, strict=True))


@cache
def _letters() -> _Letters:
    return _Letters()


@cache
def _characters() -> _Characters:
    return _Characters()


@cache
def folded_points() -> npt.NDArray[np.uint32]:
    """Return what each character of the first plane is folded to, by code point."""
    import numpy as np

    characters = _Characters()
    return np.fromiter((ord(characters[point]) for point in range(PLANE)), np.uint32)


class _Letters(dict[int, str]):
    """Maps a letter to its base letter and a combining mark to nothing. Filled on first use of a letter."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        plain = character
        if any(first <= point <= last for first, last in _MARK_SPANS + _LATE_MARK_SPANS):
            plain = ""
        elif unicodedata.name(character, "").startswith(_FOLDED_SCRIPTS):
            plain = unicodedata.normalize("NFD", character)[0]
        elif character.isdecimal():
            plain = str(unicodedata.decimal(character))
        self[point] = plain
        return plain


class _Characters(dict[int, str]):
    """Maps a character to its simplified, full-width-normalised form, which is always one character."""

    def __init__(self) -> None:
        super().__init__(simplified_forms())
        self.unchanged: set[str] = set()  # characters seen so far that folding does not change

    def __missing__(self, point: int) -> str:
        normal = unicodedata.normalize("NFKC", chr(point))
        folded = normal if len(normal) == 1 else chr(point)
        if ord(folded) != point and ord(folded) in self:
            folded = self[ord(folded)]
        if ord(folded) == point:
            self.unchanged.add(chr(point))
        self[point] = folded
        return folded
