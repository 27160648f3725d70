"""What is a word in which script? The patterns that find words in a text.

A *word* is a run of letters and digits, with what joins it to the next: `x-request-id`, `foo.bar::baz`, `v2.3.1`,
`a@b.org`, `https://a.org/b?c=d`. A *run* is text of a script that does not part its words by blanks: Chinese, Japanese,
Korean, Thai and its neighbours. A *sign* is an emoji.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Han with iteration marks, kana, hangul; then Thai, Lao, Burmese and Khmer with their marks.
RUN_CHARACTERS = (
    r"\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    r"\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f\uac00-\ud7a3"
    r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
)
RUN = re.compile(f"[{RUN_CHARACTERS}]+")
SIGN = re.compile("[\U0001f1e6-\U0001f1ff]{2}|[\u2600-\u27bf\U0001f300-\U0001f3fa\U0001f400-\U0001faff]")

# What may be folded to other letters: all that is not known to be a plain letter, punctuation or a run.
FOLDING = re.compile(
    rf"[^\x00-\x7f\u2010-\u2027\u2030-\u205e\u3000-\u3004\u3008-\u3020\u30fb{RUN_CHARACTERS}"
    r"\uff01-\uff06\uff08-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
)

_ASCII = "A-Za-z0-9"
_JOINTS = r"_+|[-./@&'’]|::"
_DIGIT_JOINTS = r"(?<=\d)[:,](?=\d)"
_ADDRESS = r"(?:://[A-Za-z0-9\-._~:/?#@!$&*+,;=%]*[A-Za-z0-9/])?"
_SUFFIX = r"(?:(?:\+\+|\#)(?!\w))?"  # c++, c#


def _pattern(run: str, look: str) -> re.Pattern[str]:
    # Possessive: a word is read once, forwards, however long it is.
    joint = rf"(?:(?:{_JOINTS})(?={look})|{_DIGIT_JOINTS})"
    return re.compile(rf"{run}(?:{joint}{run})*+{_ADDRESS}{_SUFFIX}")


ASCII_WORD = _pattern(f"[{_ASCII}]++", f"[{_ASCII}]")
ASCII_UNIT = re.compile(r"[A-Za-z]+|[0-9]+")


@cache
def word() -> re.Pattern[str]:
    """A word in any script that parts its words."""
    letter = rf"[^\W_{RUN_CHARACTERS}]"
    return _pattern(rf"{letter}++(?:{_mark()}{letter}*+)*+", letter)


@cache
def unit() -> re.Pattern[str]:
    """A run of letters or a run of digits inside a word."""
    return re.compile(rf"[^\W\d_]++(?:{_mark()}[^\W\d_]*+)*+|\d++(?:{_mark()}\d*+)*+")


@cache
def _mark() -> str:
    """A combining mark, a joiner or a soft hyphen: `re` has no name for them and takes them for no letters."""
    points = [0xAD, 0x200C, 0x200D]
    points += [point for point in range(0x300, 0x1E94B) if unicodedata.category(chr(point)).startswith("M")]
    # Most text never gets past the guard, which is one look; the class behind it is long.
    return rf"(?=[^\x00-\xac\xae-\u02ff\u3100-\ua66e])[{''.join(map(chr, points))}]"


@cache
def ascii_pieces() -> re.Pattern[str]:
    return re.compile(f"(?P<word>{ASCII_WORD.pattern})")


@cache
def pieces() -> re.Pattern[str]:
    """A word, a run or a sign, by the name of its group."""
    return re.compile(f"(?P<word>{word().pattern})|(?P<run>{RUN.pattern})|(?P<sign>{SIGN.pattern})")
