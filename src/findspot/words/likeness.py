"""How alike are two texts? By their character 5-grams, after folding.

Folding makes texts equal that differ only in case, width, white space, or traditional and simplified characters. Two
folded texts are nearly identical if at least NEAR of the 5-grams of each are in the other and both have the same
numbers: a passage with another version or amount says something else. Short texts are only ever identical.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from ctypes import c_int64, c_void_p
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from findspot.native import address, function, points
from findspot.words.folding import simplified_forms

GRAM = 5  # characters
NEAR = 0.9
SHORTEST_NEAR = 40  # characters of a folded text; in a shorter one, every word counts

_Hashes: TypeAlias = "npt.NDArray[np.uint32]"

_UTF_16 = f"utf-16-{sys.byteorder[0]}e"
_BREAK = "\x1f"
_SEEDS = (0xED558CCD, 0x1A85EC53, 0x1E98DF25, 0xA0B428DB, 0x9C88C6E3, 0x75374CC3)
_LEAST_IN_COMMON = 3  # of six least hashes; near texts miss this once in a hundred times
_SAMPLED = 8  # one gram in this many is in the sample of a text
_LEAST_SAMPLE, _NEAR_IN_SAMPLE = 32, 0.7  # grams, and the share that two samples of near texts have in common
_MAX_COMPARED = 4  # texts that one text is compared with in full
_IRREGULAR = 0xFFFF  # no character; texts with irregular ones are folded one at a time
_SURROGATES = range(0xD800, 0xE000)  # halves of characters from U+10000 on
_JAMO = range(0x1100, 0x1200)  # parts of Korean syllables, which combine
_NUMBER = re.compile(r"\d+")

_hash_grams = function("hash_grams", c_void_p, c_int64, c_void_p)


def fold_texts(texts: Sequence[str]) -> list[str]:
    """Return texts in which different spellings of the same words are equal. Many at once take little longer.

    They are folded as one array, and spaces that follow another are dropped from it: to look for them in each text
    would take as long as all the rest (0.13 ms for 64 texts).
    """
    joined = _BREAK.join([text.replace(_BREAK, " ") for text in texts])
    units = np.frombuffer(joined.encode(_UTF_16, "surrogatepass"), np.uint16)
    folded = _folded_units().take(units)
    irregular = np.flatnonzero(folded == _IRREGULAR)
    folded[irregular] = units[irregular]
    whole = _single_spaced(folded).tobytes().decode(_UTF_16, "surrogatepass")
    found = [text.strip(" ") for text in whole.split(_BREAK)] if texts else []
    if len(irregular):
        for place in set(np.searchsorted(np.flatnonzero(units == ord(_BREAK)), irregular).tolist()):
            found[place] = " ".join(_folded(texts[place].replace(_BREAK, " ")).split())
    return found


def _single_spaced(units: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
    """Return characters without the spaces that follow another."""
    is_space = units == ord(" ")
    repeated = np.flatnonzero(is_space[1:] & is_space[:-1]) + 1
    return np.delete(units, repeated) if len(repeated) else units


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().translate(simplified_forms())


@cache
def _folded_units() -> npt.NDArray[np.uint16]:
    """Return what each UTF-16 unit is folded to; _IRREGULAR if that is not one unit or depends on others."""
    table = np.full(_IRREGULAR + 1, _IRREGULAR, np.uint16)
    for point in range(_IRREGULAR):
        character = chr(point)
        folded = _folded(character)
        if character.isspace():
            table[point] = ord(" ")
        elif unicodedata.category(character)[0] != "M" and point not in _JAMO and point not in _SURROGATES:
            table[point] = ord(folded) if len(folded) == 1 and ord(folded) < _IRREGULAR else _IRREGULAR
    table[ord(_BREAK)] = ord(_BREAK)
    return table


class Grams:
    """What a text is compared by: its folded form, its grams and its numbers, calculated once."""

    __slots__ = ("_folded", "_grams", "_numbers")

    def __init__(self, text: str) -> None:
        (self._folded,) = fold_texts([text])
        self._grams = frozenset(_hashes(self._folded).tolist())
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


def first_alike(texts: Sequence[str]) -> list[int]:
    """Return for each folded text the position of the first one that it equals or nearly equals, or its own.

    Near texts have nearly the same grams, so that the least of some hash of their grams is usually the same. Texts with
    enough such hashes in common are compared in full, each with a few others at most. The cost grows with the square of
    the number of texts, but slowly: it is meant for some hundreds of them.
    """
    firsts: dict[str, int] = {}
    found = [firsts.setdefault(text, position) for position, text in enumerate(texts)]
    long = [position for position in firsts.values() if len(texts[position]) >= SHORTEST_NEAR]
    grams = _GramsOfAll([texts[position] for position in long])
    for number, earlier in _likely_pairs(grams.least()).items():
        heads = [other for other in earlier if found[long[other]] == long[other]]
        near = (other for other in heads[:_MAX_COMPARED] if grams.are_near(number, other))
        found[long[number]] = long[next(near, number)]
    return [found[each] for each in found]


def _likely_pairs(least: _Hashes) -> dict[int, list[int]]:
    """Return for each row the earlier rows that have enough hashes in common with it, in order."""
    common = np.zeros((len(least), len(least)), np.uint8)
    for column in least.T:
        common += column[:, np.newaxis] == column
    pairs: dict[int, list[int]] = {}
    for number, other in np.argwhere(np.tril(common >= _LEAST_IN_COMMON, -1)).tolist():
        pairs.setdefault(number, []).append(other)
    return pairs


class _GramsOfAll:
    """The grams of folded texts, none shorter than a gram. The hashes of all of them are calculated at once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._hashes = _hashes("".join(texts))
        lengths = np.array([len(text) for text in texts], np.int64)
        self._ends = np.cumsum(lengths) - GRAM + 1
        self._starts = self._ends - lengths + GRAM - 1
        self._samples, self._sets = dict[int, frozenset[int]](), dict[int, frozenset[int]]()

    def least(self) -> _Hashes:
        """Return a row for each text: the least hash of its grams in several orders."""
        if not self._texts:
            return np.empty((0, len(_SEEDS)), np.uint32)
        spans = np.stack([self._starts, self._ends], axis=1).ravel()[:-1]  # without the grams across two texts
        return np.stack([np.minimum.reduceat(self._hashes ^ np.uint32(seed), spans)[::2] for seed in _SEEDS], axis=1)

    def are_near(self, one: int, other: int) -> bool:
        """Return whether two texts are nearly identical. A sample of their grams rejects most that are not."""
        shorter, longer = sorted((len(self._texts[one]), len(self._texts[other])))
        if shorter < NEAR * longer:
            return False
        first, second = self._sample(one), self._sample(other)
        if min(len(first), len(second)) >= _LEAST_SAMPLE and not _share_most(first, second, _NEAR_IN_SAMPLE):
            return False
        if _NUMBER.findall(self._texts[one]) != _NUMBER.findall(self._texts[other]):
            return False
        return _share_most(self._set(one), self._set(other), NEAR)

    def _of(self, number: int) -> _Hashes:
        return self._hashes[self._starts[number] : self._ends[number]]

    def _sample(self, number: int) -> frozenset[int]:
        if number not in self._samples:
            hashes = self._of(number)
            self._samples[number] = frozenset(hashes[hashes & np.uint32(_SAMPLED - 1) == 0].tolist())
        return self._samples[number]

    def _set(self, number: int) -> frozenset[int]:
        if number not in self._sets:
            self._sets[number] = frozenset(self._of(number).tolist())
        return self._sets[number]


def _share_most(one: frozenset[int], other: frozenset[int], share: float) -> bool:
    return len(one & other) >= share * max(len(one), len(other))


def _hashes(text: str) -> _Hashes:
    """Return a hash of each gram, in order."""
    characters = points(text)
    hashes = np.empty(max(len(characters) - GRAM + 1, 0), np.uint32)
    _hash_grams(address(characters), len(characters), address(hashes))
    return hashes
