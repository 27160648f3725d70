"""How much of a query stands in a text, as people count: words, and characters where words are not parted by blanks."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from findspot.words import writing
from findspot.words.analyser import Places, tokens
from findspot.words.matching import Highlights
from findspot.words.query import Query


class Share(NamedTuple):
    """So many of so many."""

    found: int
    asked: int


class Told(NamedTuple):
    """What a text has of a query. `stretches` are as they stand in the text, and show all that was found."""

    words: Share
    characters: Share
    stretches: tuple[str, ...]


def told(query: Query, found: Set[str], text: str) -> Told:
    """What a text has of a query, given which of its terms were found. The word that is being typed goes by its
    beginning."""
    scored, needed = frozenset(query.scored), frozenset(query.needed)
    words, characters = dict[int, bool](), dict[int, bool]()
    for token in tokens(query.wanted):
        if token.term in scored and token.kind != "hump":  # a part of a word is not the word
            is_found = (token.term if token.term in needed else query.prefix or token.term) in found
            asked = words if writing.RUN.fullmatch(token.term) is None else characters
            for place in range(token.position, token.position + (2 if token.kind == "pair" else 1)):
                asked[place] = asked.get(place, False) or is_found
    return Told(_share(words), _share(characters), _stretches(query, found, text))


def _share(asked: Mapping[int, bool]) -> Share:
    return Share(sum(asked.values()), len(asked))


def _stretches(query: Query, found: Set[str], text: str) -> tuple[str, ...]:
    """The fewest stretches that hold all terms that were found: 古老的灯塔, not its pairs."""
    held = {text[start:end]: _held(query, text[start:end]) for start, end in Highlights(query)(text)}
    missing, chosen = set(found), list[str]()
    while best := max(held, key=lambda each: len(held[each] & missing), default=""):
        if not held[best] & missing:
            break
        missing -= held.pop(best)
        chosen.append(best)
    return (*chosen, *dict.fromkeys(as_written(query, term, text) for term in sorted(missing)))


def as_written(query: Query, term: str, text: str) -> str:
    """A term as it first stands in a text; the term itself if the text has moved on."""
    places = Places(frozenset(query.begun), term) if term == query.prefix else Places(frozenset({term}))
    start, end = min(places(text), default=(0, 0))
    return text[start:end] or term


def _held(query: Query, stretch: str) -> set[str]:
    """The terms of a stretch, and the beginning that was typed of one of them."""
    here = list(tokens(stretch))
    held = {token.term for token in here}
    begun = set(query.terms) - set(query.ended)
    if query.prefix and (held & begun or any(token.exact.startswith(query.prefix) for token in here)):
        held.add(query.prefix)
    return held
