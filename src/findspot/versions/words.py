"""Splits a text into words for word counts and diffs.

A Chinese character or a hiragana is a word of its own. In other scripts a word extends from one Unicode word boundary
to the next: letters, digits and their marks, joined by an apostrophe or a full stop between letters and by a comma or a
full stop between digits. In scripts that need a dictionary to find words (Thai, Khmer), a whole run counts as one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from findspot.native import PLANE, matching, points

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_HAN = "\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u309f"
_SINGLE = re.compile(f"[{_HAN}{_HIRAGANA}]+")
_VOICED = re.compile("[\u3099\u309a]")  # marks among the hiragana
_JOINER = "\u200d"
_MARK_BLOCKS = (range(0x300, 0x20000), range(0xE0100, 0xE01F0))
_LETTER_JOINERS, _DIGIT_JOINERS = "'’.·‧", ".,;'"
_LONG = 4096  # characters from which a text is counted by array lookup, in a tenth of the time
_RARE, _WORD, _ONE, _LETTER, _DIGIT, _JOINS_LETTERS, _JOINS_DIGITS = (1 << bit for bit in range(7))


def words(text: str) -> list[str]:
    """Split a text into words, white space, and single other characters with everything joined to them.

    Nothing is lost: the parts joined together are the text.
    """
    return _part_pattern().findall(text)


def word_count(text: str) -> int:
    """Return the number of words. Punctuation, white space and emoji do not count."""
    if len(text) >= _LONG and (counted := _count_by_lookup(text)) is not None:
        return counted
    single = 0
    if not (text.isascii() or _VOICED.search(text)):  # count one-character words by runs, not one by one
        spaced, runs = _SINGLE.subn(" ", text)
        single, text = len(text) - len(spaced) + runs, spaced
    return single + _count_pattern().subn("", text)[1]  # counts in C, without creating an object per word


def _count_by_lookup(text: str) -> int | None:
    """Count the starts of words, less those that a joiner connects. None if the text has a mark or a rare character."""
    import numpy as np

    kinds = _kinds().take(points(text), mode="clip")
    if (kinds & _RARE).any():
        return None
    starts = kinds[1:] & ~kinds[:-1] & _WORD
    between, around = kinds[1:-1], kinds[:-2] & kinds[2:]  # of each character, and of both its neighbours
    joins_letters = (between & _JOINS_LETTERS != 0) & (around & _LETTER != 0)
    joins = joins_letters | ((between & _JOINS_DIGITS != 0) & (around & _DIGIT != 0))
    found = np.count_nonzero(kinds & _ONE) + np.count_nonzero(starts) - np.count_nonzero(joins)
    return int(found) + bool(kinds[0] & _WORD)


@cache
def _kinds() -> npt.NDArray[np.uint8]:
    """Return what is known of each character of the first plane, by code point. The last one stands for all others."""
    import numpy as np

    kinds = np.zeros(PLANE, np.uint8)
    single = _HAN + _HIRAGANA
    patterns = {
        _WORD: rf"[^\W{single}]",
        _ONE: f"[{single}]",
        _LETTER: rf"[^\W\d_{single}]",
        _DIGIT: r"\d",
        _JOINS_LETTERS: f"[{_LETTER_JOINERS}]",
        _JOINS_DIGITS: f"[{_DIGIT_JOINERS}]",
        _RARE: rf"{_mark()}|[\ud800-\udfff\uffff]|{_VOICED.pattern}",
    }
    for kind, pattern in patterns.items():
        kinds[matching(f"(?:{pattern})+")] |= kind
    return kinds


@cache
def _mark() -> str:
    """Match a combining mark or joiner. `re` has no class for them, and `\\w` excludes them."""
    points = [ord(_JOINER)]
    for block in _MARK_BLOCKS:
        points.extend(point for point in block if unicodedata.category(chr(point)).startswith("M"))
    # The short lookahead rejects most text before the long character class is tried.
    return rf"(?=[^\x00-\u02ff\u3100-\ua66e])[{''.join(map(chr, points))}]"


def _word() -> str:
    marks, single = rf"(?:{_mark()})*+", _HAN + _HIRAGANA
    # Possessive quantifiers: no backtracking, so long words take linear time.
    run = rf"(?:[^\W{single}]++{marks})++"
    letter = rf"[^\W\d_{single}]"
    joiner = rf"(?:(?<={letter})[{_LETTER_JOINERS}](?={letter})|(?<=\d)[{_DIGIT_JOINERS}](?=\d))"
    return rf"{run}(?:{joiner}{run})*+|[{single}]{marks}"


@cache
def _count_pattern() -> re.Pattern[str]:
    # The first alternative is a fast path: ASCII words with nothing after them that could join them to other text.
    return re.compile(rf"[A-Za-z0-9_]++(?![^\x00-\x7f]|['.,;])|{_word()}")


@cache
def _part_pattern() -> re.Pattern[str]:
    # Emoji stay whole: a base with its marks, joined emoji, skin tones, and both halves of a flag.
    joined = rf"(?:{_mark()}|[\U0001f3fb-\U0001f3ff]|(?<={_JOINER})[^\w\s])*+"
    flag = "[\U0001f1e6-\U0001f1ff]"
    return re.compile(rf"{_word()}|\s++|{flag}{{2}}|.{joined}", re.DOTALL)
