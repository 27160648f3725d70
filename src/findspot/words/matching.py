"""Does a text fulfil a query, and where?

An index finds candidates by their terms. What it cannot tell from terms alone, such as whether the words of a phrase
follow one another, is told here from the text itself, alike for every engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from findspot.words.analyser import Places, Token, folded_like, key, tokens
from findspot.words.parts import LONGEST
from findspot.words.query import Phrase, Query
from findspot.words.writing import RUN, SIGN

# What is one sign to the eye: 👍🏽 with its colour, ❤️ as a picture, 👩‍👩‍👧 with all who are joined.
_SIGN = rf"(?:{SIGN.pattern})[\ufe0f\u20e3\U0001f3fb-\U0001f3ff]*"
_WHOLE_SIGN = re.compile(rf"{_SIGN}(?:\u200d{_SIGN})*")
_BETWEEN = r"(?:'s|[\W_])*?"  # what may stand between two units that follow one another, in a folded text
_APART = r"[^\w']+"
_PLAIN = r"(?<![\w']){}(?![\w'])".format  # units that stand apart from everything else
_BREAK = "\x1f"  # in no unit, so that a phrase is found only where whole units stand


class Acceptance:
    """Whether a text holds all phrases of a query and nothing that it excludes. For many texts: only one that may hold
    such a phrase is taken apart."""

    def __init__(self, query: Query) -> None:
        self._phrases = [_Sought(phrase) for phrase in query.phrases]
        self._excluded = [_Sought(phrase) for phrase in query.excluded]

    def __call__(self, text: str) -> bool:
        folded = folded_like(text)
        wanted = [each.stands_in(folded) for each in self._phrases]
        if False in wanted:
            return False
        unwanted = [each.stands_in(folded) for each in self._excluded]
        if True in unwanted:
            return False
        if None not in wanted and None not in unwanted:
            return True
        found = list(tokens(text))
        line = _line(token.exact for token in found if token.kind == "unit")
        terms = {token.term for token in found if token.kind == "unit"}
        return all(each.is_told_by(line, terms) for each in self._phrases) and not any(
            each.is_told_by(line, terms) for each in self._excluded
        )


def accepts(query: Query, text: str) -> bool:
    """The same for one text."""
    return Acceptance(query)(text)


class _Sought:
    """A phrase that is looked for."""

    def __init__(self, phrase: Phrase) -> None:
        self._exact, self._terms, self._line = phrase.exact, phrase.terms, _line(phrase.units)
        units = list(map(re.escape, phrase.units))
        keys = units if phrase.exact else [re.escape(key(term)) for term in phrase.terms]
        cut = max(map(len, phrase.units)) >= LONGEST  # it may stand in a longer one
        self._trace = None if cut else re.compile((_BETWEEN if phrase.exact else "|").join(keys))
        self._surely = re.compile(
            "".join(units) if RUN.fullmatch("".join(phrase.units)) else _PLAIN(_APART.join(units))
        )

    def stands_in(self, folded: str | None) -> bool | None:
        """Whether it stands in a text, given what `folded_like` says of that; None if only all its words tell."""
        if folded is None or self._trace is None:
            return None
        if self._trace.search(folded) is None:
            return False
        return True if self._surely.search(folded) else None

    def is_told_by(self, line: str, terms: set[str]) -> bool:
        return self._line in line if self._exact else not terms.isdisjoint(self._terms)


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
