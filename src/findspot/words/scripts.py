"""Regular expressions that find words in the text of any script.

A *word* is letters and digits with the characters that join them: `x-request-id`, `foo.bar::baz`, `v2.3.1`, `a@b.org`,
`https://a.org/b?c=d`. A *run* is a sequence of characters in a script without spaces between words: Chinese, Japanese,
Thai, Lao, Burmese and Khmer. Korean is handled in the same way.
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
EMOJI = re.compile("[\U0001f1e6-\U0001f1ff]{2}|[\u2600-\u27bf\U0001f300-\U0001f3fa\U0001f400-\U0001faff]")

# Characters that folding may replace by others or by several: all but ASCII, known punctuation and runs.
NEEDS_FOLDING = re.compile(
    rf"[^\x00-\x7f\u2010-\u2027\u2030-\u205e\u3000-\u3004\u3008-\u3020\u30fb{RUN_CHARACTERS}"
    r"\uff01-\uff06\uff08-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
)

_ASCII = "A-Za-z0-9"
_JOINERS = r"_+|[-./@&'’]|::"
_DIGIT_JOINERS = r"(?<=\d)[:,](?=\d)"
_ADDRESS = r"(?:://[A-Za-z0-9\-._~:/?#@!$&*+,;=%]*[A-Za-z0-9/])?"
_SUFFIX = r"(?:(?:\+\+|\#)(?!\w))?"  # c++, c#


def _pattern(segment: str, letter: str) -> re.Pattern[str]:
    # Possessive quantifiers: no backtracking, so long words take linear time.
    joiner = rf"(?:(?:{_JOINERS})(?={letter})|{_DIGIT_JOINERS})"
    return re.compile(rf"{segment}(?:{joiner}{segment})*+{_ADDRESS}{_SUFFIX}")


ASCII_WORD = _pattern(f"[{_ASCII}]++", f"[{_ASCII}]")
ASCII_UNIT = re.compile(r"[A-Za-z]+|[0-9]+")


@cache
def word_pattern() -> re.Pattern[str]:
    """Match a word in any script with spaces between words."""
    letter = rf"[^\W_{RUN_CHARACTERS}]"
    return _pattern(rf"{letter}++(?:{mark()}{letter}*+)*+", letter)


@cache
def unit_pattern() -> re.Pattern[str]:
    """Match consecutive letters, or consecutive digits, inside a word."""
    return re.compile(rf"[^\W\d_]++(?:{mark()}[^\W\d_]*+)*+|\d++(?:{mark()}\d*+)*+")


@cache
def mark() -> str:
    """Match a combining mark, a joiner or a soft hyphen. `re` has no class for them, and `\\w` excludes them.

    The marks of a script without spaces belong to its runs.
    """
    points = [0xAD, 0x200C, 0x200D]
    marks = (point for point in range(0x300, 0x1E94B) if unicodedata.category(chr(point)).startswith("M"))
    points += [point for point in marks if not RUN.match(chr(point))]
    # The short lookahead rejects most text before the long character class is tried.
    return rf"(?=[^\x00-\xac\xae-\u02ff\u3100-\ua66e])[{''.join(map(chr, points))}]"


@cache
def ascii_token_pattern() -> re.Pattern[str]:
    return re.compile(f"(?P<word>{ASCII_WORD.pattern})")


@cache
def token_pattern() -> re.Pattern[str]:
    """Match a word, a run or an emoji, as the group of that name."""
    return re.compile(f"(?P<word>{word_pattern().pattern})|(?P<run>{RUN.pattern})|(?P<emoji>{EMOJI.pattern})")
