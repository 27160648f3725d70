"""Splits a text into words for word counts and diffs.

A Chinese character or a hiragana is a word of its own. In other scripts a word extends from one Unicode word boundary
to the next: letters, digits and their marks, joined by an apostrophe or a full stop between letters and by a comma or a
full stop between digits. In scripts that need a dictionary to find words (Thai, Khmer), a whole run counts as one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_HAN = "\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u309f"
_SINGLE = re.compile(f"[{_HAN}{_HIRAGANA}]+")
_VOICED = re.compile("[\u3099\u309a]")  # marks among the hiragana
_JOINER = "\u200d"
_MARK_BLOCKS = (range(0x300, 0x20000), range(0xE0100, 0xE01F0))


def words(text: str) -> list[str]:
    """Split a text into words, white space, and single other characters with everything joined to them.

    Nothing is lost: the parts joined together are the text.
    """
    return _part_pattern().findall(text)


def word_count(text: str) -> int:
    """Return the number of words. Punctuation, white space and emoji do not count."""
    single = 0
    if not (text.isascii() or _VOICED.search(text)):  # count one-character words by runs, not one by one
        spaced, runs = _SINGLE.subn(" ", text)
        single, text = len(text) - len(spaced) + runs, spaced
    return single + _count_pattern().subn("", text)[1]  # counts in C, without creating an object per word


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
    joiner = rf"(?:(?<={letter})['’.·‧](?={letter})|(?<=\d)[.,;'](?=\d))"
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
