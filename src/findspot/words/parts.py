"""Splits a word into the terms it is found by: the whole word, its units, and the subwords of camel case.

`HTTPServer2` is found by `httpserver2`, by its units `httpserver` and `2`, and by its subwords `http` and `server`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from findspot.words import scripts
from findspot.words.folding import fold_word
from findspot.words.stemming import stem

LONGEST = 64  # characters of a term; people do not type longer ones

Kind = Literal["unit", "whole", "subword"]

_CONTRACTION = re.compile(r"[a-z]+['’](?:t|re|ve|ll|d|m)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’][sS](?![^\W_])")
_SUBWORD = re.compile(r"^([A-Z]{2,})s$|([A-Z]+(?![a-z])|[A-Z]?[a-z]+)")


class Part(NamedTuple):
    """A term of a word: `word[start:end]` in the word, `exact` folded but not stemmed, `term` stemmed."""

    term: str
    exact: str
    start: int
    end: int
    kind: Kind


def is_plain(word: str) -> bool:
    """Return whether a word consists of a single unit. Most words do, and this check is fast."""
    if not word.isascii() or len(word) > LONGEST:
        return False
    return word.isdigit() or (word.isalpha() and (word.islower() or word.istitle() or word.isupper()))


def split_word(word: str) -> tuple[Part, ...]:
    """Return the terms of a word: first its units in order, then subwords and wholes."""
    return _cached_split(word) if len(word) <= LONGEST else _split(word)


@lru_cache(maxsize=20_000)
def _cached_split(word: str) -> tuple[Part, ...]:
    return _split(word)


def _split(word: str) -> tuple[Part, ...]:
    if "'" in word or "’" in word:
        if _CONTRACTION.fullmatch(word):
            return (_unit(word, 0, len(word)),)
        word = _POSSESSIVE.sub(lambda found: " " * len(found[0]), word)
    pattern = scripts.ASCII_UNIT if word.isascii() else scripts.unit_pattern()
    spans = [found.span() for found in pattern.finditer(word)]
    parts = [_unit(word, start, end) for start, end in spans]
    if not word.islower():
        for start, end in spans:
            parts += _subwords(word, start, end)
    single, segments = set(spans), _joined(spans)
    wholes = [segment for segment in segments if segment not in single]
    suffix = word.endswith(("++", "#"))
    if len(segments) > 1 or suffix:
        wholes.append((segments[0][0], len(word) if suffix else segments[-1][1]))
    parts += [_whole(word, start, end) for start, end in wholes if end - start <= LONGEST]
    return tuple(part for part in parts if part.term and " " not in part.term)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join letters and digits without a separator between them: `v2` in `v2.3`."""
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


def _subwords(word: str, start: int, end: int) -> Iterator[Part]:
    """Yield the words in `camelCase`, except single letters. `GPTs` yields `GPT`, which the stemmer does not know."""
    unit = word[start:end]
    if len(unit) > LONGEST or unit.islower() or unit.isupper() or unit.istitle():
        return
    for match in _SUBWORD.finditer(unit):
        group = match.lastindex or 0
        exact = match[group].lower()
        if 1 < len(exact) < len(unit):
            yield Part(stem(exact), exact, start + match.start(group), start + match.end(group), "subword")
