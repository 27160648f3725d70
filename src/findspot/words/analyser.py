"""From a text to the terms it is found by; docs/words.md has the rules.

`terms` is the bag of terms that a chunk is indexed under, quickly and without places; `line` is the same as one string.
`tokens` gives these terms with their places, for highlighting; `units` the exact words in order, for phrases. Each
distinct word is taken apart once: what it gives is remembered.
"""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Set
from itertools import chain
from typing import Literal, NamedTuple

from findspot.words import writing
from findspot.words.folding import are_folded, fold_run
from findspot.words.parts import LONGEST, Part, is_plain, take_apart
from findspot.words.stemming import stem

TokenKind = Literal["unit", "whole", "hump", "pair"]

_REMEMBERED = 200_000  # distinct words: about 40 MB
_BREAK = "\x1f"  # in no run
_UTF_32 = f"utf-32-{sys.byteorder[0]}e"
_POINT = "I"  # four bytes


class Token(NamedTuple):
    """A term of a text, the form it has there without stemming, and its place: `text[start:end]`, in code points.

    Units follow one another: `position` counts them. A longer or shorter term has the position of the unit in which
    it begins.
    """

    term: str
    exact: str
    start: int
    end: int
    position: int
    kind: TokenKind


class _Remembered(dict[str, tuple[str, ...]]):
    """The terms of every word met so far; forgotten all at once when they are too many."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if is_plain(word):
            found: tuple[str, ...] = (stem(word.lower()),)
        else:
            found = tuple(part.term for part in take_apart(word))
        if len(word) <= LONGEST:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = found
        return found


_terms_of = _Remembered()


def terms(text: str) -> list[str]:
    """All terms that a text is found by, each as often as it occurs; in no particular order.

    A single Chinese character counts once: it is there to be found, and pairs already tell how often and how long.
    """
    return line(text).split()


def line(text: str) -> str:
    """The same, separated by blanks: what an index is given."""
    if text.isascii():
        return " ".join(chain.from_iterable(map(_terms_of.__getitem__, writing.ASCII_WORD.findall(text))))
    found = list(chain.from_iterable(map(_terms_of.__getitem__, writing.word().findall(text))))
    found += writing.SIGN.findall(text)
    runs = writing.RUN.findall(text)
    if runs:
        joined = _BREAK.join(("", *runs, ""))
        single = set(joined)
        if not are_folded(single):
            joined = fold_run(joined)
            single = set(joined)
        single.discard(_BREAK)
        found += single
        found += _pairs(joined)
    return " ".join(found)


def _pairs(runs: str) -> list[str]:
    """The pairs of neighbours in each run, separated by blanks. There is a break before, between and after runs.

    Every third place of the answer is filled at one stroke with first characters, second characters or blanks: taking
    pairs one by one would be most of the work that an index costs.
    """
    points = array(_POINT, runs.encode(_UTF_32))
    pairs = points[:-1] * 3
    pairs[::3], pairs[1::3], pairs[2::3] = points[:-1], points[1:], array(_POINT, [ord(" ")]) * (len(points) - 1)
    written = pairs.tobytes().decode(_UTF_32)
    return [run[2:-2] for run in written[1:-2].split(f"{_BREAK} {_BREAK}")]  # `a ab bc c` says `ab bc`


def tokens(text: str) -> Iterator[Token]:
    """The same terms in reading order, each at every place where it stands."""
    position = 0
    for found in _pieces(text).finditer(text):
        start, piece = found.start(), found[0]
        if found.lastgroup == "word":
            parts = take_apart(piece)
            yield from _word_tokens(parts, start, position)
            position += sum(part.kind == "unit" for part in parts)
        elif found.lastgroup == "sign":
            yield Token(piece, piece, start, start + len(piece), position, "unit")
            position += 1
        else:
            yield from _run_tokens(fold_run(piece), start, position)
            position += len(piece)


class Places:
    """Where tokens stand that are wanted, or whose unit begins so. For many texts: only words that may be among them
    are taken apart, so a text is read in a small part of the time that `tokens` takes."""

    def __init__(self, wanted: Set[str], prefix: str | None = None) -> None:
        self._wanted, self._prefix = wanted, prefix
        single = {prefix} if prefix and len(prefix) == 1 else set()  # a character of a run is a unit
        self._runs = [term for term in wanted | single if writing.RUN.fullmatch(term)]
        self._signs = {term for term in wanted if writing.SIGN.fullmatch(term)} | ({prefix} if prefix else set())
        self._keys = {key(term) for term in wanted - {*self._runs, *self._signs}}
        self._keys |= {prefix} if prefix else set()
        self._met: dict[str, tuple[tuple[int, int], ...]] = {}  # what was found in stretches without blanks

    def __call__(self, text: str) -> Iterator[tuple[int, int]]:
        folded = folded_like(text)
        if folded is None:
            yield from self._looked_through(text)
        else:
            yield from self._of_words(text, folded)
        if not text.isascii():
            yield from self._of_runs(text, fold_run(text) if folded is None else folded)
            if self._signs:
                yield from (found.span() for found in writing.SIGN.finditer(text) if found[0] in self._signs)

    def _of_words(self, text: str, folded: str) -> Iterator[tuple[int, int]]:
        seen = set[int]()
        for looked_for in self._keys:
            place = folded.find(looked_for)
            while place >= 0:
                start, end = _stretch(text, place)
                if start not in seen:
                    seen.add(start)
                    stretch = text[start:end]
                    if stretch not in self._met:
                        self._met[stretch] = tuple(self._looked_through(stretch))
                    yield from ((start + first, start + last) for first, last in self._met[stretch])
                place = folded.find(looked_for, end)

    def _looked_through(self, text: str) -> Iterator[tuple[int, int]]:
        pattern = writing.ASCII_WORD if text.isascii() else writing.word()
        for found in pattern.finditer(text):
            if self._prefix or not self._wanted.isdisjoint(_terms_of[found[0]]):
                for part in take_apart(found[0]):
                    if self._tells(part):
                        yield found.start() + part.start, found.start() + part.end

    def _tells(self, part: Part) -> bool:
        begins = self._prefix is not None and part.kind == "unit" and part.exact.startswith(self._prefix)
        return begins or part.term in self._wanted

    def _of_runs(self, text: str, folded: str) -> Iterator[tuple[int, int]]:
        for term in self._runs:
            place = folded.find(term)
            while place >= 0:
                if writing.RUN.fullmatch(text, place, place + len(term)):
                    yield place, place + len(term)
                place = folded.find(term, place + 1)


def folded_like(text: str) -> str | None:
    """A text as its words are compared, character by character; None where that is not so simple: what is looked for
    may stand there in other letters, or in more of them."""
    if text.isascii():
        return text.lower()
    if writing.FOLDING.search(text):
        return None
    lowered = text.lower().replace("’", "'")
    return lowered if are_folded(set(lowered)) else fold_run(lowered)


def key(term: str) -> str:
    """What every word with this term has in it, as `folded_like` shows it. A stem may end otherwise than its words do,
    in one letter: `happi` is that of `happy`; and `lie` that of `lying`."""
    if len(term) < 3:
        return term
    return term[0] if len(term) == 3 and term.endswith("ie") else term[:-1]


def _stretch(text: str, place: int) -> tuple[int, int]:
    """What stands around a place without a blank or the end of a line: one word or more, all of them whole."""
    start = max(text.rfind(" ", 0, place), text.rfind("\n", 0, place)) + 1
    ends = text.find(" ", place), text.find("\n", place)
    return start, min((end for end in ends if end >= 0), default=len(text))


def units(text: str) -> list[str]:
    """The exact words of a text in order: what a phrase is a part of."""
    return [token.exact for token in tokens(text) if token.kind == "unit"]


def _word_tokens(parts: tuple[Part, ...], offset: int, position: int) -> Iterator[Token]:
    starts = [part.start for part in parts if part.kind == "unit"]
    for part in parts:
        nth = bisect_right(starts, part.start) - 1
        yield Token(part.term, part.exact, offset + part.start, offset + part.end, position + nth, part.kind)


def _run_tokens(run: str, offset: int, position: int) -> Iterator[Token]:
    for place, character in enumerate(run):
        here = offset + place
        yield Token(character, character, here, here + 1, position + place, "unit")
        if place + 1 < len(run):
            pair = run[place : place + 2]
            yield Token(pair, pair, here, here + 2, position + place, "pair")


def _pieces(text: str) -> re.Pattern[str]:
    return writing.ascii_pieces() if text.isascii() else writing.pieces()
