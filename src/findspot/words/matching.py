"""Does a text fulfil a query, and where?

An index finds candidates by their terms. What it cannot tell from terms alone, such as whether the words of a phrase
follow one another, is told here from the text itself, alike for every engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from findspot.words.analyser import Places, Token, tokens
from findspot.words.query import Phrase, Query
from findspot.words.writing import SIGN

# What is one sign to the eye: 👍🏽 with its colour, ❤️ as a picture, 👩‍👩‍👧 with all who are joined.
_SIGN = rf"(?:{SIGN.pattern})[\ufe0f\u20e3\U0001f3fb-\U0001f3ff]*"
_WHOLE_SIGN = re.compile(rf"{_SIGN}(?:\u200d{_SIGN})*")
_BREAK = "\x1f"  # in no unit, so that a phrase is found only where whole units stand


def accepts(query: Query, text: str) -> bool:
    """Whether a text holds all phrases of a query and nothing that it excludes."""
    if not query.phrases and not query.excluded:
        return True
    found = list(tokens(text))
    line = _line(token.exact for token in found if token.kind == "unit")
    terms = {token.term for token in found if token.kind == "unit"}
    return all(_stands_in(phrase, line, terms) for phrase in query.phrases) and not any(
        _stands_in(phrase, line, terms) for phrase in query.excluded
    )


class Highlights:
    """The spans of a text that match a query, in order and apart; phrases only where they stand whole."""

    def __init__(self, query: Query) -> None:
        self._phrases = query.phrases
        self._has_signs = any(SIGN.search(term) for term in query.scored)
        self._places = Places(frozenset(query.terms), query.prefix)

    def __call__(self, text: str) -> list[tuple[int, int]]:
        spans = list(self._places(text))
        if self._phrases:
            units = [token for token in tokens(text) if token.kind == "unit"]
            spans += [span for phrase in self._phrases for span in _phrase_spans(phrase, units)]
        if self._has_signs:
            whole = [found.span() for found in _WHOLE_SIGN.finditer(text)]
            spans += [each for each in whole if any(start < each[1] and each[0] < end for start, end in spans)]
        return _merged(spans)


def _line(units: Iterator[str] | tuple[str, ...]) -> str:
    return _BREAK + _BREAK.join(units) + _BREAK


def _stands_in(phrase: Phrase, line: str, terms: set[str]) -> bool:
    if phrase.exact:
        return _line(phrase.units) in line
    return not terms.isdisjoint(phrase.terms)


def _phrase_spans(phrase: Phrase, units: list[Token]) -> Iterator[tuple[int, int]]:
    length, exact = len(phrase.units), [unit.exact for unit in units]
    for place, word in enumerate(exact):
        if word == phrase.units[0] and tuple(exact[place : place + length]) == phrase.units:
            yield units[place].start, units[place + length - 1].end


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
