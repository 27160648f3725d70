"""Correct words of a query that occur nowhere in the index, and find other spellings of the words that do.

`genrator expresion` becomes `generator expression`. `nodejs` also finds `node.js`, and the reverse.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from findspot.words import Query, Token

MAX_CORRECTED = 8  # words of a query; one with more unknown words is a text in another language
MAX_RESPELT = 4  # words of a query for which other spellings are looked up

Frequencies = Callable[..., Mapping[str, int] | None]  # the terms of an index, as Engine.frequencies returns them


class _Correction(NamedTuple):
    """A word that occurs in the index, and the term of another one that is as near, if there is one."""

    word: str
    second: str | None


def corrected(query: "Query", text: str, parse: Callable[[str], "Query"], frequencies: Frequencies) -> "Query":
    """Return the query with unknown words corrected (`corrected_text`), and with other spellings of its words.

    `parse` reads the corrected text. Words in required phrases, exclusions and the word that is being typed stay. If
    the engine does not know its terms, no word is corrected, and `node.js` is also `nodejs`, but not the reverse: a
    word has dozens of forms with a joining character.
    """
    from findspot.words.spelling import may_be_misspelt

    words, spellings = _plain_words(query, text), _other_spellings(query)
    known = frequencies([*(token.term for token in words), *chain.from_iterable(spellings.values())])
    if known is None:
        return replace(query, variants=tuple((term, tuple(others)) for term, others in _unjoined(query).items()))
    unknown = [token for token in words if token.term not in known and may_be_misspelt(token.exact)]
    found = {token.exact: _correction(token.exact, frequencies) for token in _distinct(unknown)[:MAX_CORRECTED]}
    made = {word: each for word, each in found.items() if each is not None}
    if made:
        text = _replaced(text, [(token, made[token.exact].word) for token in unknown if token.exact in made])
        query = replace(parse(text), corrected_text=text)
        spellings = _other_spellings(query)
        spellings |= {_term(each.word): [each.second] for each in made.values() if each.second}
        known = frequencies(list(chain.from_iterable(spellings.values()))) or {}
    variants = {term: tuple(each for each in others if each in known) for term, others in spellings.items()}
    return replace(query, variants=tuple((term, others) for term, others in variants.items() if others))


def _plain_words(query: "Query", text: str) -> "list[Token]":
    """Return the words of a query that are not parts of longer ones, such as a name with dots."""
    from findspot.words import tokens

    found = [token for token in tokens(text) if token.term in query.complete_terms]
    longer = [token for token in found if token.kind != "unit"]
    return [
        token
        for token in found
        if token.kind == "unit" and not any(each.start <= token.start and token.end <= each.end for each in longer)
    ]


def _distinct(words: "Sequence[Token]") -> "list[Token]":
    return list({token.exact: token for token in words}.values())


def _correction(word: str, frequencies: Frequencies) -> _Correction | None:
    """Return the most frequent of the nearest words: with a joining character, one error, or two errors."""
    from findspot.words.spelling import (
        ONE_ERROR_FROM,
        SURE_LETTERS,
        TWO_ERRORS_FROM,
        joined_forms,
        one_error,
        surface_near,
    )

    if best := _most_frequent(word, {form: form for form in joined_forms(word)}, frequencies):
        return best
    if len(word) >= ONE_ERROR_FROM and (best := _most_frequent(word, _by_term(one_error(word)), frequencies)):
        return best
    if len(word) < TWO_ERRORS_FROM:
        return None
    found = frequencies((), prefix=word[:SURE_LETTERS]) or {}
    near = {term: surface_near(word, term) for term in found if term.isalpha()}
    return _most_frequent(word, {term: form for term, form in near.items() if form}, frequencies)


def _by_term(words: Iterable[str]) -> dict[str, str]:
    """Return the words by their terms: of each term the first word that is written so, else the first one."""
    by_term: dict[str, str] = {}
    for word in words:
        term = _term(word)
        if term not in by_term or (_is_written(word, term) and not _is_written(by_term[term], term)):
            by_term[term] = word
    return by_term


def _is_written(word: str, term: str) -> bool:
    """Return whether a term that occurs is likely to stand for this word, and not only for others with its stem."""
    from findspot.words.vocabulary import is_word

    return word == term or is_word(word)


def _most_frequent(word: str, by_term: Mapping[str, str], frequencies: Frequencies) -> _Correction | None:
    """Return the best of these words that occur: with the same first letter, then one that is written so, then the
    most frequent one."""
    counts = frequencies(list(by_term)) or {}

    def rank(term: str) -> tuple[bool, bool, int, str]:
        meant = by_term[term]
        return meant[0] != word[0], not _is_written(meant, term), -counts[term], term

    best = sorted(counts, key=rank)[:2]
    if not best:
        return None
    is_second_near = len(best) > 1 and by_term[best[1]][0] == word[0]
    return _Correction(by_term[best[0]], best[1] if is_second_near else None)


def _other_spellings(query: "Query") -> dict[str, list[str]]:
    """Return the terms of a short query with those of the same words with, or without, a joining character."""
    from findspot.words.spelling import joined_forms, may_be_misspelt

    plain = [token for token in _few_words(query) if token.kind == "unit" and may_be_misspelt(token.exact)]
    return {token.term: list(joined_forms(token.exact)) for token in plain} | _unjoined(query)


def _unjoined(query: "Query") -> dict[str, list[str]]:
    """Return the terms of a short query that have a joining character, with those of the same words without it."""
    from findspot.words.spelling import unjoined_form

    words = [token for token in _few_words(query) if token.kind == "whole"]
    return {token.term: [_term(unjoined_form(token.exact))] for token in words}


def _few_words(query: "Query") -> "list[Token]":
    """Return the complete words of a query; none if there are many."""
    from findspot.words import tokens

    words = [token for token in tokens(query.positive_text) if token.term in query.complete_terms]
    return [] if sum(token.kind == "unit" for token in words) > MAX_RESPELT else words


def _term(word: str) -> str:
    from findspot.words import terms

    return terms(word)[-1]  # the whole, if the word has parts


def _replaced(text: str, words: "Iterable[tuple[Token, str]]") -> str:
    for token, word in sorted(words, key=lambda each: -each[0].start):
        text = text[: token.start] + word + text[token.end :]
    return text
