"""What is a word found by? By itself, by its units, and by the words it was put together from.

`HTTPServer2` is found by `httpserver2`, by its units `httpserver` and `2`, and by `http` and `server`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from findspot.words import writing
from findspot.words.folding import fold_word
from findspot.words.stemming import stem

LONGEST = 64  # characters of a term: nobody types a longer one, only machines write them

Kind = Literal["unit", "whole", "hump"]

_CONTRACTION = re.compile(r"[a-z]+['’](?:t|re|ve|ll|d|m)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’][sS](?![^\W_])")
_HUMP = re.compile(r"^([A-Z]{2,})s$|([A-Z]+(?![a-z])|[A-Z]?[a-z]+)")


class Part(NamedTuple):
    """A term that a word is found by, the form it has in the word, and which characters of the word it stands for."""

    term: str
    exact: str
    start: int
    end: int
    kind: Kind


def is_plain(word: str) -> bool:
    """Whether a word is a single unit and nothing else, as most are: quick to tell."""
    if not word.isascii() or len(word) > LONGEST:
        return False
    return word.isdigit() or (word.isalpha() and (word.islower() or word.istitle() or word.isupper()))


def take_apart(word: str) -> tuple[Part, ...]:
    """The terms of a word: first its units in order, then what is longer or shorter than a unit."""
    return _remembered(word) if len(word) <= LONGEST else _taken_apart(word)


@lru_cache(maxsize=20_000)
def _remembered(word: str) -> tuple[Part, ...]:
    return _taken_apart(word)


def _taken_apart(word: str) -> tuple[Part, ...]:
    if "'" in word or "’" in word:
        if _CONTRACTION.fullmatch(word):
            return (_unit(word, 0, len(word)),)
        word = _POSSESSIVE.sub(lambda found: " " * len(found[0]), word)
    pattern = writing.ASCII_UNIT if word.isascii() else writing.unit()
    spans = [found.span() for found in pattern.finditer(word)]
    parts = [_unit(word, start, end) for start, end in spans]
    if not word.islower():
        for start, end in spans:
            parts += _humps(word, start, end)
    single, subwords = set(spans), _joined(spans)
    wholes = [subword for subword in subwords if subword not in single]
    suffix = word.endswith(("++", "#"))
    if len(subwords) > 1 or suffix:
        wholes.append((subwords[0][0], len(word) if suffix else subwords[-1][1]))
    parts += [_whole(word, start, end) for start, end in wholes if end - start <= LONGEST]
    return tuple(part for part in parts if part.term and " " not in part.term)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Letters and digits that stand together: `v2` in `v2.3`."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _unit(word: str, start: int, end: int) -> Part:
    exact = fold_word(word[start:end])[:LONGEST]
    return Part(stem(exact), exact, start, end, "unit")


def _whole(word: str, start: int, end: int) -> Part:
    exact = fold_word(word[start:end])
    return Part(exact, exact, start, end, "whole")


def _humps(word: str, start: int, end: int) -> Iterator[Part]:
    """The words in `camelCase`; a single letter between them is none. Of `GPTs` it is `GPT`: no stemmer knows it."""
    unit = word[start:end]
    if len(unit) > LONGEST or unit.islower() or unit.isupper() or unit.istitle():
        return
    for hump in _HUMP.finditer(unit):
        group = hump.lastindex or 0
        exact = hump[group].lower()
        if 1 < len(exact) < len(unit):
            yield Part(stem(exact), exact, start + hump.start(group), start + hump.end(group), "hump")
