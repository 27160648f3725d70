"""How alike are two texts? By their character 5-grams, after folding.

Folding makes texts equal that differ only in case, width, white space, or traditional and simplified characters. Two
folded texts are nearly identical if at least NEAR of the 5-grams of each are in the other and both have the same
numbers: a passage with another version or amount says something else. Short texts are only ever identical.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from findspot.words.folding import simplified_forms

GRAM = 5  # characters
NEAR = 0.9
SHORTEST_NEAR = 40  # characters of a folded text; in a shorter one, every word counts

_Hashes: TypeAlias = "npt.NDArray[np.unsignedinteger[Any]]"

_UTF_32 = f"utf-32-{sys.byteorder[0]}e"
_BREAK = "\x1f"
_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)
_SEEDS = (0xED558CCD, 0x1A85EC53, 0x1E98DF25, 0xA0B428DB, 0x9C88C6E3, 0x75374CC3)
_LEAST_IN_COMMON = 3  # of six least hashes; near texts miss this once in a hundred times
_MAX_COMPARED = 4  # texts that one text is compared with in full
_REGULAR = 0x10000  # characters from here on are folded one text at a time
_IRREGULAR = 0xFFFFFFFF
_JAMO = range(0x1100, 0x1200)  # parts of Korean syllables, which combine
_NUMBER = re.compile(r"\d+")


def fold_texts(texts: Sequence[str]) -> list[str]:
    """Return texts in which different spellings of the same words are equal. Many at once take little longer."""
    if not texts:
        return []
    joined = _BREAK.join(text.replace(_BREAK, " ") for text in texts)
    points = np.frombuffer(joined.encode(_UTF_32, "surrogatepass"), np.uint32)
    folded = _folded_points().take(points, mode="clip")
    irregular = np.flatnonzero(folded == _IRREGULAR)
    found = np.where(folded == _IRREGULAR, points, folded).tobytes().decode(_UTF_32, "surrogatepass").split(_BREAK)
    for place in np.unique(np.searchsorted(np.flatnonzero(points == ord(_BREAK)), irregular)).tolist():
        found[place] = _folded(texts[place].replace(_BREAK, " "))
    return [" ".join(text.split()) for text in found]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().translate(simplified_forms())


@cache
def _folded_points() -> npt.NDArray[np.uint32]:
    """Return what each character is folded to; _IRREGULAR if that is not one character or depends on others."""
    table = np.full(_REGULAR + 1, _IRREGULAR, np.uint32)
    for point in range(_REGULAR):
        character = chr(point)
        folded = _folded(character)
        if len(folded) == 1 and unicodedata.category(character)[0] != "M" and point not in _JAMO:
            table[point] = ord(folded)
    table[ord(_BREAK)] = ord(_BREAK)
    return table


def containment(part: str, whole: str) -> float:
    """Return the share of the 5-grams of one text that are in another, from 0 to 1, after folding both.

    A text of fewer than five characters counts as one gram, which is contained if the other text has it anywhere.
    """
    first, second = fold_texts([part, whole])
    if len(first) < GRAM:
        return float(bool(first) and first in second)
    grams = _grams(first)
    return len(grams & _grams(second)) / len(grams)


def first_alike(texts: Sequence[str]) -> list[int]:
    """Return for each folded text the position of the first one that it equals or nearly equals, or its own.

    Near texts have nearly the same grams, so that the least of some hash of their grams is usually the same. Texts with
    enough such hashes in common are compared in full, each with a few others at most. The cost grows with the square of
    the number of texts, but slowly: it is meant for some hundreds of them.
    """
    firsts: dict[str, int] = {}
    found = [firsts.setdefault(text, position) for position, text in enumerate(texts)]
    long = [position for position in firsts.values() if len(texts[position]) >= SHORTEST_NEAR]
    grams = _GramsOf(texts)
    for number, earlier in _likely_pairs(_least_hashes([texts[position] for position in long])).items():
        heads = [long[other] for other in earlier if found[long[other]] == long[other]]
        near = (other for other in heads[:_MAX_COMPARED] if _is_near(grams, long[number], other))
        found[long[number]] = next(near, long[number])
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


def _is_near(grams: _GramsOf, one: int, other: int) -> bool:
    shorter, longer = sorted((len(grams.texts[one]), len(grams.texts[other])))
    if shorter < NEAR * longer or _NUMBER.findall(grams.texts[one]) != _NUMBER.findall(grams.texts[other]):
        return False
    return len(grams[one] & grams[other]) >= NEAR * max(len(grams[one]), len(grams[other]))


class _GramsOf(dict[int, frozenset[int]]):
    """The grams of texts by position, calculated on first use."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__()
        self.texts = texts

    def __missing__(self, position: int) -> frozenset[int]:
        self[position] = _grams(self.texts[position])
        return self[position]


def _grams(text: str) -> frozenset[int]:
    """Return the hashes of the different grams of a folded text."""
    return frozenset(_hashes(text).tolist())


def _hashes(text: str) -> _Hashes:
    """Return a hash of each gram, in order."""
    points = np.frombuffer(text.encode(_UTF_32, "surrogatepass"), np.uint32).astype(np.uint64)
    count = max(len(points) - GRAM + 1, 0)
    hashes = np.zeros(count, np.uint64)
    for offset, multiplier in enumerate(_MULTIPLIERS):
        hashes += points[offset : offset + count] * np.uint64(multiplier)
    return hashes ^ (hashes >> np.uint64(29))


def _least_hashes(texts: Sequence[str]) -> _Hashes:
    """Return a row for each text, none shorter than a gram: the least hash of its grams in several orders."""
    if not texts:
        return np.empty((0, len(_SEEDS)), np.uint64)
    hashes = (_hashes("".join(texts)) >> np.uint64(32)).astype(np.uint32)
    lengths = np.array([len(text) for text in texts])
    ends = np.cumsum(lengths)
    spans = np.stack([ends - lengths, ends - GRAM + 1], axis=1).ravel()[:-1]  # without the grams across two texts
    return np.stack([np.minimum.reduceat(hashes ^ np.uint32(seed), spans)[::2] for seed in _SEEDS], axis=1)
