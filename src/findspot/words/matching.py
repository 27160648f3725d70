"""Checks candidates against a query's phrases and exclusions, and finds the spans to highlight.

An index recalls candidates by their terms. Terms alone do not show whether the words of a phrase follow one another;
this module checks that on the text, in the same way for every engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from findspot.words.analyser import TermSpans, Token, fold_keeping_offsets, merged, required_substring, tokens
from findspot.words.parts import LONGEST
from findspot.words.query import Phrase, Query
from findspot.words.scripts import EMOJI, RUN

# A whole emoji sequence: 👍🏽 with its skin tone, ❤️ with its variation selector, 👩‍👩‍👧 with its joiners.
_EMOJI = rf"(?:{EMOJI.pattern})[\ufe0f\u20e3\U0001f3fb-\U0001f3ff]*"
_WHOLE_EMOJI = re.compile(rf"{_EMOJI}(?:\u200d{_EMOJI})*")
_BETWEEN_UNITS = r"(?:'s|[\W_])*?"  # may separate neighbouring units in a folded text
_WORD_GAP = r"[^\w']+"
_WHOLE_WORDS = r"(?<![\w']){}(?![\w'])".format
_BREAK = "\x1f"  # part of no unit, so that a phrase matches only whole units


class Acceptance:
    """Tests whether texts contain all phrases of a query and none of its exclusions.

    Made for many texts: a text is tokenized only if a regular expression cannot decide.
    """

    def __init__(self, query: Query) -> None:
        self._phrases = [_PhraseTest(phrase) for phrase in query.phrases]
        self._excluded = [_PhraseTest(phrase) for phrase in query.excluded]

    def __call__(self, text: str) -> bool:
        folded = fold_keeping_offsets(text)
        required = [phrase.quick(folded) for phrase in self._phrases]
        if False in required:
            return False
        excluded = [phrase.quick(folded) for phrase in self._excluded]
        if True in excluded:
            return False
        if None not in required and None not in excluded:
            return True
        found = list(tokens(text))
        units = _joined_units(token.exact for token in found if token.kind == "unit")
        terms = {token.term for token in found if token.kind == "unit"}
        return all(phrase.matches(units, terms) for phrase in self._phrases) and not any(
            phrase.matches(units, terms) for phrase in self._excluded
        )


def accepts(query: Query, text: str) -> bool:
    """Return whether one text contains all phrases of a query and none of its exclusions."""
    return Acceptance(query)(text)


class _PhraseTest:
    """Tests whether a phrase occurs in texts."""

    def __init__(self, phrase: Phrase) -> None:
        self._exact, self._terms, self._units = phrase.exact, phrase.terms, _joined_units(phrase.units)
        units = list(map(re.escape, phrase.units))
        parts = units if phrase.exact else [re.escape(required_substring(term)) for term in phrase.terms]
        is_cut = max(map(len, phrase.units)) >= LONGEST  # the text may contain a longer unit
        self._possible = None if is_cut else re.compile((_BETWEEN_UNITS if phrase.exact else "|").join(parts))
        self._certain = re.compile(
            "".join(units) if RUN.fullmatch("".join(phrase.units)) else _WHOLE_WORDS(_WORD_GAP.join(units))
        )

    def quick(self, folded: str | None) -> bool | None:
        """Decide by regular expressions on the folded text. None: undecided, the text must be tokenized."""
        if folded is None or self._possible is None:
            return None
        if self._possible.search(folded) is None:
            return False
        return True if self._certain.search(folded) else None

    def matches(self, units: str, terms: set[str]) -> bool:
        """Decide on the units and terms of the text."""
        return self._units in units if self._exact else not terms.isdisjoint(self._terms)


class Highlights:
    """Finds the spans of texts that match a query, in order and without overlap. Phrases match only as a whole."""

    def __init__(self, query: Query) -> None:
        self._phrases = query.phrases
        self._has_emoji = any(EMOJI.search(term) for term in query.scored_terms)
        terms = frozenset().union(*map(query.spellings, query.content_terms))
        self._term_spans = TermSpans(terms, query.prefix)

    def __call__(self, text: str) -> list[tuple[int, int]]:
        return self._with_phrases(text, self._term_spans(text))

    def of_each(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the spans of each of these texts. For many texts this takes less time than one call for each."""
        found = self._term_spans.in_each(texts)
        return list(map(self._with_phrases, texts, found)) if self._phrases or self._has_emoji else found

    def _with_phrases(self, text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Add the spans of phrases to those of terms, and extend both to whole emoji."""
        if self._phrases:
            units = [token for token in tokens(text) if token.kind == "unit"]
            spans += [span for phrase in self._phrases for span in _phrase_spans(phrase, units)]
        if self._has_emoji:
            whole = [match.span() for match in _WHOLE_EMOJI.finditer(text)]
            spans += [each for each in whole if any(start < each[1] and each[0] < end for start, end in spans)]
        return merged(spans)


def _joined_units(units: Iterator[str] | tuple[str, ...]) -> str:
    return _BREAK + _BREAK.join(units) + _BREAK


def _phrase_spans(phrase: Phrase, units: list[Token]) -> Iterator[tuple[int, int]]:
    length, exact = len(phrase.units), [unit.exact for unit in units]
    for first, word in enumerate(exact):
        if word == phrase.units[0] and tuple(exact[first : first + length]) == phrase.units:
            yield units[first].start, units[first + length - 1].end
