"""How much of a query stands in a text, as people count: words, and characters where words are not parted by blanks."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from findspot.words import writing
from findspot.words.analyser import tokens
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


def told(typed: str, query: Query, found: Set[str], text: str) -> Told:
    """What a text has of a query as it was typed, given which of its terms were found."""
    scored = frozenset(query.scored)
    words, characters = set[tuple[int, bool]](), set[tuple[int, bool]]()
    for token in tokens(typed):
        if token.term in scored:
            is_run = writing.RUN.fullmatch(token.term) is not None
            for place in range(token.position, token.position + (2 if token.kind == "pair" else 1)):
                (characters if is_run else words).add((place, token.term in found))
    return Told(_share(words), _share(characters), _stretches(query, found, text))


def _share(places: Set[tuple[int, bool]]) -> Share:
    return Share(sum(is_found for _, is_found in places), len({place for place, _ in places}))


def _stretches(query: Query, found: Set[str], text: str) -> tuple[str, ...]:
    """The fewest stretches that hold all terms that were found: 古老的灯塔, not its pairs."""
    spans = {text[start:end]: None for start, end in Highlights(query)(text)}
    held = {each: {token.term for token in tokens(each)} & found for each in spans}
    missing, chosen = set(found), list[str]()
    while held and (best := max(held, key=lambda each: len(held[each] & missing))) and held[best] & missing:
        missing -= held.pop(best)
        chosen.append(best)
    return tuple(chosen)
