"""Decides whether a match is a whole word.

In scripts with spaces an edge of a word has a word character on at most one side, as for `\\b`. Chinese has no spaces,
so the most probable segmentation of the text decides, with traditional characters read as simplified ones:

* A match that is a word of the dictionary must not be cut or continued by another word: 发现 in 头发|现在 is none.
* Any other match, such as a name, must only not lie inside a longer word, because the segmentation of unknown words is
  a guess.
"""

from __future__ import annotations

from bisect import bisect_right

import regex

from findspot.words.folding import fold_run
from findspot.words.scripts import RUN_CHARACTERS
from findspot.words.segmentation import is_word, word_starts

_HANGUL = r"\uac00-\ud7a3"  # Korean has spaces
_UNSPACED = regex.compile(rf"[{RUN_CHARACTERS.replace(_HANGUL, '')}]+")
_UNSPACED_BEFORE = regex.compile(rf"(?r)[{RUN_CHARACTERS.replace(_HANGUL, '')}]+")
_WORD_CHARACTER = regex.compile(r"[\w\p{M}\u200c\u200d]")


class WholeWords:
    """Whole words of one text. Questions come from left to right, so the last run of characters is kept."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._run = (0, 0)
        self._starts: list[int] = []

    def is_whole(self, start: int, end: int) -> bool:
        """Return whether `text[start:end]` is one or more whole words."""
        across = [self._across(start), self._across(end)]
        if across == [None, None]:
            return True
        if _UNSPACED.fullmatch(self._text, start, end) and is_word(fold_run(self._text[start:end])):
            return False
        return not any(word and word[0] <= start and end <= word[1] for word in across)

    def _across(self, edge: int) -> tuple[int, int] | None:
        """Return the word that goes across an edge; None if the edge is between two words."""
        text = self._text
        if not 0 < edge < len(text):
            return None
        left, right = text[edge - 1], text[edge]
        unspaced = bool(_UNSPACED.match(left)) + bool(_UNSPACED.match(right))
        if unspaced == 2:
            return self._word_across(edge)
        if not unspaced and _WORD_CHARACTER.match(left) and _WORD_CHARACTER.match(right):
            return 0, len(text)
        return None

    def _word_across(self, edge: int) -> tuple[int, int] | None:
        first, last = self._run
        if not first < edge < last:
            before = _UNSPACED_BEFORE.match(self._text, 0, edge)
            after = _UNSPACED.match(self._text, edge)
            first, last = self._run = before.start(), after.end()
            self._starts = [first + start for start in word_starts(fold_run(self._text[first:last]))] + [last]
        following = bisect_right(self._starts, edge)
        start = self._starts[following - 1]
        return None if start == edge else (start, self._starts[following])
