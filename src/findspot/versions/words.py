"""Words, as people count and compare them.

A Chinese character or a kana is a word of its own. Elsewhere a word reaches from one Unicode word boundary to the
next: letters, digits and the marks on them, joined by an apostrophe or a full stop between letters and by a comma or
a full stop between digits. Scripts that need a dictionary to find their words (Thai, Khmer) count one a run.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_HAN = "\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u309f"
_ALONE = re.compile(f"[{_HAN}{_HIRAGANA}]+")
_VOICED = re.compile("[\u3099\u309a]")  # marks among the hiragana
_JOINER = "\u200d"
_MARK_BLOCKS = (range(0x300, 0x20000), range(0xE0100, 0xE01F0))


def words(text: str) -> list[str]:
    """The text cut into words, white space, and single other characters with all that is joined to them.

    Nothing is lost: the pieces joined together are the text.
    """
    return _pieces().findall(text)


def word_count(text: str) -> int:
    """How many words a text has; punctuation, white space and emoji count nothing."""
    alone = 0
    if not (text.isascii() or _VOICED.search(text)):  # what stands alone is counted by the run, not one by one
        spaced, runs = _ALONE.subn(" ", text)
        alone, text = len(text) - len(spaced) + runs, spaced
    return alone + _counted().subn("", text)[1]  # counts in C, without an object a word


@cache
def _mark() -> str:
    """One combining mark or joiner: `re` has no name for them and takes them for no letters."""
    points = [ord(_JOINER)]
    for block in _MARK_BLOCKS:
        points.extend(point for point in block if unicodedata.category(chr(point)).startswith("M"))
    # Most text never gets past the guard, which is one look; the class behind it is long.
    return rf"(?=[^\x00-\u02ff\u3100-\ua66e])[{''.join(map(chr, points))}]"


def _word() -> str:
    marks, alone = rf"(?:{_mark()})*+", _HAN + _HIRAGANA
    # Possessive throughout: a word is read once, forwards, however long it is.
    run = rf"(?:[^\W{alone}]++{marks})++"
    letter = rf"[^\W\d_{alone}]"
    joint = rf"(?:(?<={letter})['’.·‧](?={letter})|(?<=\d)[.,;'](?=\d))"
    return rf"{run}(?:{joint}{run})*+|[{alone}]{marks}"


@cache
def _counted() -> re.Pattern[str]:
    # Most words are plain ASCII with nothing that could join them to what follows: those are seen at a glance.
    return re.compile(rf"[A-Za-z0-9_]++(?![^\x00-\x7f]|['.,;])|{_word()}")


@cache
def _pieces() -> re.Pattern[str]:
    # Emoji stay whole: a base with its marks, and whatever a joiner, a skin tone or a flag's second half ties to it.
    tied = rf"(?:{_mark()}|[\U0001f3fb-\U0001f3ff]|(?<={_JOINER})[^\w\s])*+"
    flag = "[\U0001f1e6-\U0001f1ff]"
    return re.compile(rf"{_word()}|\s++|{flag}{{2}}|.{tied}", re.DOTALL)
