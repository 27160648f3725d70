"""Parses a query as people type it.

A query has words, `"a phrase"`, `-exclusions`, and while typing the prefix of a word. Chinese quotes work like straight
ones. Invalid syntax is read as plain words, so every text is a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from findspot.words.analyser import Token, tokens
from findspot.words.scripts import RUN
from findspot.words.stemming import stem
from findspot.words.stopwords import STOP_WORDS

LONGEST = 10_000  # characters that are read; a longer text is not a query
MAX_PHRASES = 50  # quoted or excluded; a query with more was pasted, so its quotes and dashes are read as plain text
MIN_PREFIX = 2  # a single letter begins too many words

_SHORTEST_BASE = 3  # letters of a word without its ending
_ENDINGS = (
    *("ing", "ed", "ies", "ly", "ness", "ful", "ment", "ation", "ization", "tional", "able", "ible", "ance", "ence"),
    *("ive", "ous", "ity", "ate", "ize", "er", "al", "ism", "ant", "ent"),
)
_MINUS = "－−-"
# A straight quote after a letter or digit is an inch sign or a typing error. Chinese quotes may follow anything.
# A quote without a partner is matched as a word of its own, which has no terms.
_ITEM = re.compile(
    rf"""
    (?P<minus>(?<!\S)[{_MINUS}](?=[^\s{_MINUS}]))?
    (?:
        (?<![^\W_])"(?P<straight>[^"]*)" | “(?P<curly>[^”]*)” | 「(?P<corner>[^」]*)」 | 『(?P<double>[^』]*)』
        | (?P<word>[^\s"“「『]+ | ["“「『])
    )
    """,
    re.VERBOSE,
)

_SYNTAX = re.compile(rf"[\"“”「」『』{_MINUS}]")


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in a fixed order.

    Every text that contains the phrase has all of `terms`, so an index can recall candidates by them. `units` are the
    exact words, for checking their order. A single word without quotes is not `exact`: any form of it matches.
    """

    units: tuple[str, ...]
    terms: tuple[str, ...]
    exact: bool = True

    @property
    def term(self) -> str | None:
        """The term that exactly the texts with this phrase have, or None.

        Only one or two Chinese characters have such a term: `runs` shares the term of `running`, and `JavaScript` has
        the term of `script`.
        """
        whole = "".join(self.units)
        return whole if self.terms == (whole,) and RUN.fullmatch(whole) else None


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: any of `terms`, all of `phrases`, none of `excluded`.

    `prefix` is the word that is still being typed. `stems` are terms that its completions may have although they do not
    begin with it: `swimm` may become `swimming`, which has the term `swim`. `complete_terms` are the terms of all other
    words. `positive_text` is the query as typed, without exclusions.
    """

    terms: tuple[str, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    excluded: tuple[Phrase, ...] = ()
    prefix: str | None = None
    stems: tuple[str, ...] = ()
    complete_terms: tuple[str, ...] = ()
    positive_text: str = ""

    @property
    def required_terms(self) -> tuple[str, ...]:
        """The terms of a text that contains every word, except for the word that is being typed."""
        return _unique([*self.complete_terms, *(term for phrase in self.phrases for term in phrase.terms)])

    @property
    def partial_terms(self) -> tuple[str, ...]:
        """The terms of the word that is being typed, taken as a whole word."""
        required = self.required_terms
        return tuple(term for term in self.scored_terms if term not in required)

    @property
    def scored_terms(self) -> tuple[str, ...]:
        """All terms that count for the score, each once."""
        return _unique([*self.terms, *(term for phrase in self.phrases for term in phrase.terms)])

    @property
    def needs_text_check(self) -> bool:
        """Whether terms alone cannot decide if a text matches, so that its text must be checked."""
        return bool(self.excluded) or any(phrase.term is None for phrase in self.phrases)

    @property
    def is_empty(self) -> bool:
        """Whether the query can match nothing."""
        return not (self.terms or self.phrases or self.prefix)


@dataclass(slots=True)
class _Items:
    """The items of a query, sorted by kind. `positive` has all but the excluded ones, as typed."""

    words: list[str] = field(default_factory=list)
    positive: list[str] = field(default_factory=list)
    phrases: list[Phrase] = field(default_factory=list)
    excluded: list[Phrase] = field(default_factory=list)
    ends_with_word: bool = False


def parse(text: str, *, typing: bool = False) -> Query:
    """Parse a query. With `typing`, its last word may be the prefix of one."""
    if len(text) > LONGEST:
        text = text[: LONGEST + 1].rpartition(" ")[0] or text[:LONGEST]  # do not cut inside a word
    items = _items(text)
    phrases, excluded = tuple(items.phrases), tuple(items.excluded)
    if len(phrases) + len(excluded) > MAX_PHRASES:
        return parse(_SYNTAX.sub(" ", text), typing=typing)
    terms = query_terms(" ".join(items.words))
    if excluded and not phrases and not terms:
        return parse(re.sub(rf"[{_MINUS}]", " ", text), typing=typing)  # exclusions alone match nothing: plain dashes
    prefix, complete = None, terms
    if typing and items.ends_with_word and not text[-1:].isspace() and (last := _last_unit(items.words[-1])):
        prefix = last.exact
        complete = query_terms(" ".join([*items.words[:-1], items.words[-1][: last.start]]))
        complete = tuple(term for term in complete if term in terms)  # without stop words next to the prefix
    if phrases:  # a stop word beside a phrase adds nothing
        terms, complete = (tuple(term for term in each if term not in STOP_WORDS) for each in (terms, complete))
    stems = _stems(prefix) if prefix else ()
    return Query(terms, phrases, excluded, prefix, stems, complete, " ".join(items.positive) if excluded else text)


def _items(text: str) -> _Items:
    items = _Items()
    for item in _ITEM.finditer(text):
        word = item["word"]
        items.ends_with_word = word is not None and not item["minus"]
        if item["minus"]:
            items.excluded += _phrase(item[item.lastgroup or 0], quoted=word is None)
            continue
        items.positive.append(item[0])
        if word is None:
            items.phrases += _phrase(item[item.lastgroup or 0], quoted=True)
        else:
            items.words.append(word)
    return items


def query_terms(text: str) -> tuple[str, ...]:
    """Return the terms of a query without syntax, each once.

    Chinese words count by their bigrams, and isolated Chinese characters by themselves. Stop words count only if there
    are no other words.
    """
    found = list(tokens(text))
    in_bigrams = _positions_in_bigrams(found)
    kept = [token for token in found if token.kind != "unit" or token.position not in in_bigrams]
    significant = [token.term for token in kept if token.exact not in STOP_WORDS]
    return _unique(significant or [token.term for token in kept])


def _phrase(text: str, *, quoted: bool) -> list[Phrase]:
    """Return the phrase in a text as a list of one, or an empty list if the text has no words."""
    found = list(tokens(text))
    units = tuple(token.exact for token in found if token.kind == "unit")
    if not units:
        return []
    return [Phrase(units, _phrase_terms(found), exact=quoted or len(units) > 1)]


def _phrase_terms(found: list[Token]) -> tuple[str, ...]:
    """Return terms of every text with this phrase. Wholes are left out: `"a b"` has none, but it matches `a-b`."""
    in_bigrams = _positions_in_bigrams(found)
    return _unique(
        token.term
        for token in found
        if token.kind == "bigram" or (token.kind == "unit" and token.position not in in_bigrams)
    )


def _positions_in_bigrams(found: list[Token]) -> set[int]:
    first = {token.position for token in found if token.kind == "bigram"}
    return first | {position + 1 for position in first}


def _last_unit(word: str) -> Token | None:
    """Return the last unit of a word if it ends the word and is long enough to be a prefix."""
    last: Token | None = None
    for token in tokens(word):
        if token.kind == "unit":
            last = token
    return last if last and last.end == len(word) and len(last.exact) >= MIN_PREFIX else None


def _stems(prefix: str) -> tuple[str, ...]:
    """Return the stems of words that complete a prefix with a common ending, of which a part may be typed already."""
    found = []
    for ending in _ENDINGS:
        for typed in range(len(ending)):
            base = prefix[: len(prefix) - typed]
            if len(base) >= _SHORTEST_BASE and prefix.endswith(ending[:typed]):
                found.append(stem(base + ending))
    return _unique(each for each in found if not each.startswith(prefix))


def _unique(terms: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(terms))
