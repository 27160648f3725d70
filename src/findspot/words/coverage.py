"""How much of a query a text contains, counted in words, and in characters for scripts without spaces."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from findspot.words import scripts
from findspot.words.analyser import TermSpans, tokens
from findspot.words.matching import Highlights
from findspot.words.query import Query


class MatchCount(NamedTuple):
    """`found` of the `total` words or characters in the query."""

    found: int
    total: int


class Coverage(NamedTuple):
    """The part of a query that a text contains. `matches` are passages of the text that show every matched term, and
    `missing` the words of the query, as typed, that the text does not contain."""

    words: MatchCount
    characters: MatchCount
    matches: tuple[str, ...]
    missing: tuple[str, ...]


def measure_coverage(query: Query, found: Set[str], text: str) -> Coverage:
    """Return which part of the query the text contains, given the query terms that matched.

    A word that is still being typed counts as found when its prefix matched.
    """
    counted, required = frozenset((*query.content_terms, *query.required_terms)), frozenset(query.required_terms)
    words, characters = dict[int, bool](), dict[int, bool]()
    spans = dict[int, tuple[int, int]]()
    for token in tokens(query.positive_text):
        if token.term in counted and token.kind != "subword":  # a part of a word is not the word
            is_found = (token.term if token.term in required else query.prefix or token.term) in found
            counts = words if scripts.RUN.fullmatch(token.term) is None else characters
            width = 2 if token.kind == "bigram" else 1  # characters of a bigram; any other token is one place
            for place in range(width):
                position, start = token.position + place, token.start + place
                counts[position] = counts.get(position, False) or is_found
                spans.setdefault(position, (start, start + 1 if width == 2 else token.end))
    missing = [spans[position] for position, is_found in sorted((words | characters).items()) if not is_found]
    return Coverage(_count(words), _count(characters), _matches(query, found, text), _typed(query, missing))


def _typed(query: Query, spans: list[tuple[int, int]]) -> tuple[str, ...]:
    """Return these spans of the query as typed, each text once. Neighbouring characters are one text."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return tuple(dict.fromkeys(query.positive_text[start:end] for start, end in joined))


def _count(found_by_position: Mapping[int, bool]) -> MatchCount:
    return MatchCount(sum(found_by_position.values()), len(found_by_position))


def _matches(query: Query, found: Set[str], text: str) -> tuple[str, ...]:
    """Return the fewest passages that together contain all matched terms: 古老的灯塔, not its bigrams."""
    terms_of = {text[start:end]: _terms_in(query, text[start:end]) for start, end in Highlights(query)(text)}
    missing, chosen = set(found), list[str]()
    while best := max(terms_of, key=lambda passage: len(terms_of[passage] & missing), default=""):
        if not terms_of[best] & missing:
            break
        missing -= terms_of.pop(best)
        chosen.append(best)
    return (*chosen, *dict.fromkeys(surface_form(query, term, text) for term in sorted(missing)))


def surface_form(query: Query, term: str, text: str) -> str:
    """Return the first occurrence of a term as the text spells it, or the term itself if the text has changed."""
    is_prefix = term == query.prefix
    spans = TermSpans(frozenset(query.partial_terms), term) if is_prefix else TermSpans(query.spellings(term))
    start, end = min(spans(text), default=(0, 0))
    return text[start:end] or term


def _terms_in(query: Query, passage: str) -> set[str]:
    """Return the terms of a passage, plus the query's prefix if a word of the passage completes it."""
    found = list(tokens(passage))
    terms = {token.term for token in found}
    terms.update(term for term, others in query.variants if not terms.isdisjoint(others))
    partial = set(query.terms) - set(query.complete_terms)
    if query.prefix and (terms & partial or any(token.exact.startswith(query.prefix) for token in found)):
        terms.add(query.prefix)
    return terms
