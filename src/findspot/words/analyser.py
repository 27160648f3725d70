"""The analyser: turns a text into index terms; docs/words.md has the rules.

`terms` returns the bag of terms that a chunk is indexed under, without offsets, which makes it fast. `joined_terms`
returns them as one string. `tokens` yields the terms with their offsets, for highlighting. `units` returns the exact
words in order, for phrases. Each distinct word is split once; the result is cached.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Set
from ctypes import c_int64, c_uint32, c_void_p
from functools import cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from findspot.native import address, encoded, first_plane, function, matching, points, text_of
from findspot.words import scripts
from findspot.words.folding import UNKNOWN, are_folded, fold_run
from findspot.words.parts import LONGEST, Part, is_plain, split_word
from findspot.words.stemming import stem

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_Points: TypeAlias = "npt.NDArray[np.uint32]"
TokenKind = Literal["unit", "whole", "subword", "bigram"]

_CACHED_WORDS = 200_000  # about 40 MB
_BREAK = "\x1f"  # separates runs; never part of one
_POINT = "I"  # four bytes
_RUN_TERM = re.compile(f"[{scripts.RUN_CHARACTERS}\u3099\u309a]+")  # marks as well: those of half width are in runs

_fold_points = function("fold_points", c_void_p, c_int64, c_void_p, c_uint32, c_void_p, c_void_p, returns=c_int64)
_find_needles = function(
    "find_needles",
    *(c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_int64, c_int64, c_void_p),
    *(c_void_p, c_int64, c_void_p, c_int64, c_void_p, c_void_p),
)


class Token(NamedTuple):
    """A term at one place of a text: `text[start:end]`, in code points. `exact` is the folded form before stemming.

    `position` counts units. A longer or shorter term has the position of the unit in which it begins.
    """

    term: str
    exact: str
    start: int
    end: int
    position: int
    kind: TokenKind


class _TermCache(dict[str, tuple[str, ...]]):
    """The terms of each word seen so far. Emptied completely when it is full: an LRU order would cost more."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if is_plain(word):
            found: tuple[str, ...] = (stem(word.lower()),)
        else:
            found = tuple(part.term for part in split_word(word))
        if len(word) <= LONGEST:
            if len(self) >= _CACHED_WORDS:
                self.clear()
            self[word] = found
        return found


_terms_of = _TermCache()


def terms(text: str) -> list[str]:
    """Return all terms of a text, each as often as it occurs, in no particular order.

    A single Chinese character counts once. It only has to be findable: bigrams carry term frequency and length.
    """
    return joined_terms(text).split()


def joined_terms(text: str) -> str:
    """Return the terms of a text separated by spaces, ready for an index with a whitespace tokenizer."""
    if text.isascii():
        return " ".join(chain.from_iterable(map(_terms_of.__getitem__, scripts.ASCII_WORD.findall(text))))
    found = list(chain.from_iterable(map(_terms_of.__getitem__, scripts.word_pattern().findall(text))))
    found += scripts.EMOJI.findall(text)
    runs = scripts.RUN.findall(text)
    if runs:
        joined = _BREAK.join(("", *runs, ""))
        single = set(joined)
        if not are_folded(single):
            joined = fold_run(joined)
            single = set(joined)
        single.discard(_BREAK)
        found += single
        found += _bigrams(joined)
    return " ".join(found)


def _bigrams(runs: str) -> list[str]:
    """Return the bigrams of each run, separated by spaces. `runs` has a break before, between and after runs.

    Three slice assignments write all first characters, second characters and spaces. To build bigrams one by one
    would take three times as long.
    """
    points = array(_POINT, encoded(runs))
    bigrams = points[:-1] * 3
    bigrams[::3], bigrams[1::3], bigrams[2::3] = points[:-1], points[1:], array(_POINT, [ord(" ")]) * (len(points) - 1)
    written = text_of(bigrams)
    return [run[2:-2] for run in written[1:-2].split(f"{_BREAK} {_BREAK}")]  # drops the halves next to a break


def tokens(text: str) -> Iterator[Token]:
    """Yield every occurrence of every term in reading order."""
    pattern = scripts.ascii_token_pattern() if text.isascii() else scripts.token_pattern()
    position = 0
    for match in pattern.finditer(text):
        start, matched = match.start(), match[0]
        if match.lastgroup == "word":
            parts = split_word(matched)
            yield from _word_tokens(parts, start, position)
            position += sum(part.kind == "unit" for part in parts)
        elif match.lastgroup == "emoji":
            yield Token(matched, matched, start, start + len(matched), position, "unit")
            position += 1
        else:
            yield from _run_tokens(fold_run(matched), start, position)
            position += len(matched)


class TermSpans:
    """Finds the spans of the wanted terms, and of units that begin with a prefix, in many texts.

    Only words that may match are split, so this takes a fiftieth of the time of `tokens`.
    """

    def __init__(self, wanted: Set[str], prefix: str | None = None) -> None:
        self._wanted, self._prefix = wanted, prefix
        single = {prefix} if prefix and len(prefix) == 1 else set()  # a character of a run is a unit
        runs = [term for term in wanted | single if _RUN_TERM.fullmatch(term)]
        emoji = {term for term in wanted if scripts.EMOJI.fullmatch(term)}
        self._emoji = emoji | ({prefix} if prefix else set())
        others = wanted - {*runs, *emoji, ""}
        substrings = {*map(required_substring, others)} | ({prefix} if prefix else set())
        self._needles = _Needles(runs, list(substrings))
        self._cache: dict[str, tuple[tuple[int, int], ...]] = {}  # spans in text without white space

    def __call__(self, text: str) -> list[tuple[int, int]]:
        """Return the spans in one text, in no particular order. They may overlap."""
        runs, pieces = self._needles.find(text)
        found, cache = [(start, end) for start, end in runs], self._cache
        for start, end in pieces:
            words = text[start:end]
            if words not in cache:
                cache[words] = tuple(self._in_every_word(words))
            for first, last in cache[words]:
                found.append((start + first, start + last))
        if self._emoji and not text.isascii():
            found += [match.span() for match in scripts.EMOJI.finditer(text) if match[0] in self._emoji]
        return found

    def in_each(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the spans in each of these texts, merged. They are searched as one, joined by line ends, which are
        part of no word: that takes a third of the time for the fifty texts of a page."""
        starts = [0, *accumulate(len(text) + 1 for text in texts)]
        return _divided(merged(self("\n".join(texts))), starts)

    def _in_every_word(self, text: str) -> Iterator[tuple[int, int]]:
        pattern = scripts.ASCII_WORD if text.isascii() else scripts.word_pattern()
        for word in pattern.finditer(text):
            if self._prefix or not self._wanted.isdisjoint(_terms_of[word[0]]):
                for part in split_word(word[0]):
                    if self._matches(part):
                        yield word.start() + part.start, word.start() + part.end

    def _matches(self, part: Part) -> bool:
        has_prefix = self._prefix is not None and part.kind == "unit" and part.exact.startswith(self._prefix)
        return has_prefix or part.term in self._wanted


class _Needles:
    """Finds runs, and pieces between spaces or line ends that may contain a wanted word: those with one of several
    substrings, or with a character whose folded form may have another length."""

    def __init__(self, runs: Sequence[str], substrings: Sequence[str]) -> None:
        import numpy as np

        needles = (*runs, *substrings)
        self._arrays = arrays = (
            points("".join(needles)),
            np.fromiter(accumulate(map(len, needles)), np.int64, len(needles)),
            _run_characters(),
        )
        self._arguments = (address(arrays[0]), address(arrays[1]), len(needles), len(runs), address(arrays[2]))

    def find(self, text: str) -> tuple[list[list[int]], list[list[int]]]:
        """Return the spans of runs, and those of pieces."""
        import numpy as np

        given, folded, unknown = _fold_by_table(text)
        room = len(text) + 1
        pieces, counts = np.empty((len(text) // 2 + 1, 2), np.int64), np.array([room, 0])
        while counts[0] >= room:  # rarely: several runs begin at most places
            room = int(counts[0]) + 1
            runs = np.empty((room, 2), np.int64)
            _find_needles(
                *(address(given), address(folded), len(text), *self._arguments, address(unknown), len(unknown)),
                *(address(runs), room, address(pieces), address(counts)),
            )
        return runs[: counts[0]].tolist(), pieces[: counts[1]].tolist()


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order, with those that overlap or touch joined."""
    found, last = list[tuple[int, int]](), -1
    for start, end in sorted(spans):
        if start > last:
            found.append((start, end))
            last = end
        elif end > last:
            found[-1] = (found[-1][0], end)
            last = end
    return found


def _divided(spans: Sequence[tuple[int, int]], starts: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Return spans of joined texts as those of each text, given where the texts start, and where they end."""
    found, nth = [list[tuple[int, int]]() for _ in starts[1:]], 0
    for start, end in spans:
        while start >= starts[nth + 1]:
            nth += 1
        found[nth].append((start - starts[nth], end - starts[nth]))
    return found


def fold_keeping_offsets(text: str) -> str | None:
    """Fold a text character by character, so that offsets stay valid.

    Return None if that is impossible: folding a letter of this text may change its length.
    """
    if text.isascii():
        return text.lower()
    if scripts.NEEDS_FOLDING.search(text):
        return None
    return fold_run(text.lower().replace("’", "'"))


def _fold_by_table(text: str) -> tuple[_Points, _Points, npt.NDArray[np.int64]]:
    """Return the characters of a text, what they are folded to, and the offsets of those that the table does not know.
    These are folded as in a run."""
    import numpy as np

    given, table = points(text), _folded_points()
    folded, unknown = np.empty_like(given), np.empty(len(given), np.int64)
    count = _fold_points(address(given), len(given), address(table), len(table), address(folded), address(unknown))
    if count:
        folded[unknown[:count]] = [ord(fold_run(text[offset])) for offset in unknown[:count].tolist()]
    return given, folded, unknown[:count]


@cache
def _run_characters() -> npt.NDArray[np.bool_]:
    """Return which characters of the first plane are part of runs, by code point."""
    return matching(scripts.RUN)


@cache
def _folded_points() -> _Points:
    """Return what each character of the first plane is folded to, by code point; UNKNOWN for those that need more."""
    import numpy as np

    characters = first_plane()
    table = np.array([ord(folded) for folded in fold_run(characters)], np.uint32)
    table[matching(scripts.NEEDS_FOLDING)] = UNKNOWN
    table[:128] = list(map(ord, characters[:128].lower()))  # no other character that the table knows has a case
    table[ord("’")] = ord("'")
    return table


def required_substring(term: str) -> str:
    """Return a substring of every folded word that has this term.

    The last letter of a stem may differ from the word: `happy` has the stem `happi`, and `lying` has `lie`.
    """
    if len(term) < 3:
        return term
    return term[0] if len(term) == 3 and term.endswith("ie") else term[:-1]


def units(text: str) -> list[str]:
    """Return the exact words of a text in order. Phrases are matched against them."""
    return [token.exact for token in tokens(text) if token.kind == "unit"]


def _word_tokens(parts: tuple[Part, ...], offset: int, position: int) -> Iterator[Token]:
    starts = [part.start for part in parts if part.kind == "unit"]
    for part in parts:
        nth = bisect_right(starts, part.start) - 1
        yield Token(part.term, part.exact, offset + part.start, offset + part.end, position + nth, part.kind)


def _run_tokens(run: str, offset: int, position: int) -> Iterator[Token]:
    for index, character in enumerate(run):
        start = offset + index
        yield Token(character, character, start, start + 1, position + index, "unit")
        if index + 1 < len(run):
            bigram = run[index : index + 2]
            yield Token(bigram, bigram, start, start + 2, position + index, "bigram")
