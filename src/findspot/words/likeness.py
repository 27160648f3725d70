"""How alike are two texts? By their character 5-grams, after folding.

Folding makes texts equal that differ only in case, width, white space, or traditional and simplified characters. Two
folded texts are nearly identical if at least NEAR of the 5-grams of each are in the other and both have the same
numbers: a passage with another version or amount says something else. Short texts are only ever identical.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from ctypes import c_int32, c_int64, c_uint32, c_void_p
from functools import cache
from itertools import accumulate, pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from findspot.native import address, first_plane, function, points, text_of
from findspot.words.folding import UNKNOWN, simplified_forms

GRAM = 5  # characters
NEAR = 0.9
SHORTEST_NEAR = 40  # characters of a folded text; in a shorter one, every word counts

_Points: TypeAlias = "npt.NDArray[np.uint32]"
_Ends: TypeAlias = "npt.NDArray[np.int64]"

_ORDERS = 6  # of a text's grams, by a hash; the least one of each order is compared
_LEAST_IN_COMMON = 3  # of these; near texts miss this once in a hundred times
_SAMPLED = 8  # one gram in this many is in the sample of a text, which is counted in half the time of all
_LEAST_SAMPLE, _NEAR_IN_SAMPLE = 32, 0.7  # grams, and the share that two samples of near texts have in common
_MAX_COMPARED = 4  # texts that one text is compared with in full
_PICTURES = range(0x1F300, 0x1FB00)  # emoji and other symbols, which folding does not change
_SURROGATES = range(0xD800, 0xE000)  # halves of characters from U+10000 on
_JAMO = range(0x1100, 0x1200)  # parts of Korean syllables, which combine
_NUMBER = re.compile(r"\d+")

_hash_grams = function("hash_grams", c_void_p, c_int64, c_void_p)
_fold_texts = function("fold_texts", c_void_p, c_void_p, c_int64, c_void_p, c_uint32, c_void_p, c_void_p, c_void_p)
_first_equal = function("first_equal", c_void_p, c_void_p, c_int64, c_void_p, c_void_p)
_likely_pairs = function(
    "likely_pairs", c_void_p, c_void_p, c_void_p, c_int64, c_int64, c_int32, c_void_p, c_void_p, returns=c_int64
)
_count_grams = function("count_grams", c_void_p, c_int64, c_void_p, c_int64, c_uint32, c_void_p, c_int64, c_void_p)


def fold_texts(texts: Sequence[str]) -> list[str]:
    """Return texts in which different spellings of the same words are equal. Many at once take little longer."""
    folded, ends = _folded_points(texts)
    whole, start, found = text_of(folded), 0, list[str]()
    for end in ends.tolist():
        found.append(whole[start:end])
        start = end
    return found


def _folded_points(texts: Sequence[str]) -> tuple[_Points, _Ends]:
    """Return the characters of the folded texts, one text after the other, and where each ends."""
    given, table = points("".join(texts)), _table()
    given_ends = np.fromiter(accumulate(map(len, texts)), np.int64, len(texts))
    folded, ends, is_irregular = np.empty_like(given), np.empty_like(given_ends), np.empty(len(texts), np.bool_)
    _fold_texts(
        *(address(given), address(given_ends), len(texts), address(table), len(table)),
        *(address(folded), address(ends), address(is_irregular)),
    )
    if not is_irregular.any():
        return folded[: ends[-1]] if texts else folded, ends
    parts = [folded[start:end] for start, end in pairwise((0, *ends.tolist()))]
    for number in np.flatnonzero(is_irregular).tolist():
        parts[number] = points(" ".join(_folded(texts[number]).split()))
    return np.concatenate(parts), np.cumsum(list(map(len, parts)))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().translate(simplified_forms())


@cache
def _table() -> _Points:
    """Return what each character is folded to; UNKNOWN if that is not one character or depends on others."""
    table = np.full(_PICTURES.stop, UNKNOWN, np.uint32)
    table[_PICTURES.start :] = _PICTURES
    for point, character in enumerate(first_plane()):
        folded = _folded(character)
        if character.isspace():
            table[point] = ord(" ")
        elif len(folded) == 1 and not _may_combine(folded) and unicodedata.category(character)[0] != "M":
            table[point] = ord(folded)
    table[_SURROGATES.start : _SURROGATES.stop] = UNKNOWN
    return table


def _may_combine(character: str) -> bool:
    """Return whether a character may become one with those before it: `ﾊﾞ`, of half width, becomes `バ`."""
    return unicodedata.category(character)[0] == "M" or ord(character) in _JAMO


class Grams:
    """What a text is compared by: its folded form, its grams and its numbers, calculated once."""

    __slots__ = ("_folded", "_grams", "_numbers")

    def __init__(self, text: str) -> None:
        (self._folded,) = fold_texts([text])
        self._grams = frozenset(_hashes(points(self._folded)).tolist())
        self._numbers = Counter(_NUMBER.findall(self._folded))

    def share_in(self, other: Grams) -> float:
        """Return the share of the grams that another text contains, from 0 to 1.

        A text of fewer than five characters counts as one gram, which is contained if the other text has it anywhere.
        """
        if not self._grams:
            return float(bool(self._folded) and self._folded in other._folded)
        return len(self._grams & other._grams) / len(self._grams)

    def repeat(self, other: Grams) -> bool:
        """Return whether one of two texts nearly contains the other, numbers included.

        Short texts repeat each other only if they are identical after folding.
        """
        part, whole = (self, other) if len(self._grams) <= len(other._grams) else (other, self)
        if len(part._folded) < SHORTEST_NEAR:
            return part._folded == whole._folded
        return not part._numbers - whole._numbers and len(part._grams & whole._grams) >= NEAR * len(part._grams)


def containment(part: str, whole: str) -> float:
    """Return the share of the 5-grams of one text that are in another, from 0 to 1, after folding both."""
    return Grams(part).share_in(Grams(whole))


class FoldedTexts:
    """Folds texts, and finds those that are alike. `keys` has a hash of each, which is the same in every process."""

    __slots__ = ("_ends", "_firsts", "_points", "keys")

    def __init__(self, texts: Sequence[str]) -> None:
        self._points, self._ends = _folded_points(texts)
        keys, self._firsts = np.empty((2, len(texts)), np.int64)
        _first_equal(*self._arrays(), len(texts), address(keys), address(self._firsts))
        self.keys: list[int] = keys.tolist()

    def first_alike(self) -> list[int]:
        """Return for each text the position of the first one that it equals or nearly equals, or its own.

        Near texts have nearly the same grams, so that the least of some hash of their grams is usually the same. Texts
        with enough such hashes in common are compared in full, each with a few others at most. The cost grows with the
        square of the number of texts, but slowly: it is meant for some hundreds of them.
        """
        found: list[int] = self._firsts.tolist()
        compared = Counter[int]()
        for number, other in self._likely_pairs():
            if found[number] == number and found[other] == other and compared[number] < _MAX_COMPARED:
                compared[number] += 1
                if self._are_near(number, other):
                    found[number] = other
        return [found[each] for each in found]

    def _likely_pairs(self) -> list[list[int]]:
        """Return the pairs of different, long texts that have enough hashes in common: the later, then the earlier."""
        count = len(self._ends)
        least = np.empty((count, _ORDERS), np.uint32)
        pairs = np.empty((count * (count - 1) // 2, 2), np.int64)
        found = _likely_pairs(
            *(*self._arrays(), address(self._firsts), count),
            *(SHORTEST_NEAR, _LEAST_IN_COMMON, address(least), address(pairs)),
        )
        likely: list[list[int]] = pairs[:found].tolist()
        return likely

    def _are_near(self, one: int, other: int) -> bool:
        """Return whether two texts are nearly identical. A sample of their grams rejects most that are not."""
        texts = self._characters(one), self._characters(other)
        shorter, longer = sorted(map(len, texts))
        if shorter < NEAR * longer:
            return False
        count = _GramCounts(*texts)
        *counts, common = count(_SAMPLED)
        if min(counts) >= _LEAST_SAMPLE and common < _NEAR_IN_SAMPLE * max(counts):
            return False
        first, second = (_NUMBER.findall(text_of(text)) for text in texts)
        if first != second:
            return False
        *counts, common = count(1)
        return common >= NEAR * max(counts)

    def _characters(self, number: int) -> _Points:
        return self._points[self._ends[number - 1] if number else 0 : self._ends[number]]

    def _arrays(self) -> tuple[int, int]:
        return address(self._points), address(self._ends)


class _GramCounts:
    """Counts the grams that two texts have in common."""

    def __init__(self, one: _Points, other: _Points) -> None:
        self._texts = one, other
        self._slots = np.empty(1 << (len(one) + len(other)).bit_length(), np.uint64)
        self._counts = np.empty(3, np.int64)

    def __call__(self, every: int) -> list[int]:
        """Return how many different grams each text has, and how many both, of those with a multiple as their hash."""
        one, other = self._texts
        _count_grams(
            *(address(one), len(one), address(other), len(other), every),
            *(address(self._slots), len(self._slots), address(self._counts)),
        )
        found: list[int] = self._counts.tolist()
        return found


def _hashes(characters: _Points) -> _Points:
    """Return a hash of each gram, in order."""
    hashes = np.empty(max(len(characters) - GRAM + 1, 0), np.uint32)
    _hash_grams(address(characters), len(characters), address(hashes))
    return hashes
