"""What does a person who types this look for?

Words, `"a phrase"`, `-without`, and while typing the beginning of a word. Chinese quotes are quotes. Whatever is no
sound syntax is plain words, so every text is a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from findspot.words.analyser import Token, tokens
from findspot.words.stemming import stem
from findspot.words.stopwords import STOP_WORDS
from findspot.words.writing import RUN

LONGEST = 10_000  # characters that are read; who sends more has a text and not a question
MOST_PHRASES = 50  # quoted or excluded; who sends more has pasted something, and it is plain words
MIN_PREFIX = 2  # one letter begins too many words to say anything

_SHORTEST_BASE = 3  # of a word, without its ending
_ENDINGS = (
    *("ing", "ed", "ies", "ly", "ness", "ful", "ment", "ation", "ization", "tional", "able", "ible", "ance", "ence"),
    *("ive", "ous", "ity", "ate", "ize", "er", "al", "ism", "ant", "ent"),
)
_MINUS = "－−-"
# A straight quote behind a letter or digit is an inch or a slip; Chinese quotes stand anywhere. A quote that no other
# closes is a word of its own, and no word at all.
_PIECE = re.compile(
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
    """Words that stand one after the other.

    `terms` are terms of every text that holds the phrase, so an index can find candidates; whether the words follow
    one another, `units` tells. A single word without quotes is not `exact`: any form of it will do.
    """

    units: tuple[str, ...]
    terms: tuple[str, ...]
    exact: bool = True

    @property
    def term(self) -> str | None:
        """The term of just those texts that hold the phrase, which one or two Chinese characters have; None if there is
        no such term: `runs` has that of `running`, and `JavaScript` that of `script`."""
        whole = "".join(self.units)
        return whole if self.terms == (whole,) and RUN.fullmatch(whole) else None


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for: any of `terms`, all of `phrases`, none of `excluded`. `prefix` begins a word still typed, and
    `stems` may be its term although they do not begin so: `swimm` will be `swimming`, which is found by `swim`. `ended`
    are the terms of the other words, and `wanted` is all that was typed but for what is excluded."""

    terms: tuple[str, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    excluded: tuple[Phrase, ...] = ()
    prefix: str | None = None
    stems: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    wanted: str = ""

    @property
    def needed(self) -> tuple[str, ...]:
        """The terms of a text that holds every word, but for the one that is being typed."""
        return _once([*self.ended, *(term for phrase in self.phrases for term in phrase.terms)])

    @property
    def begun(self) -> tuple[str, ...]:
        """The terms of the word that is being typed, as if it were whole."""
        needed = self.needed
        return tuple(term for term in self.scored if term not in needed)

    @property
    def scored(self) -> tuple[str, ...]:
        """All terms that count for the score, each once."""
        return _once([*self.terms, *(term for phrase in self.phrases for term in phrase.terms)])

    @property
    def looks_at_texts(self) -> bool:
        """Whether only a look at a text tells if it is wanted, though it has the terms of all phrases."""
        return bool(self.excluded) or any(phrase.term is None for phrase in self.phrases)

    @property
    def is_empty(self) -> bool:
        """Nothing can be found by it."""
        return not (self.terms or self.phrases or self.prefix)


def parse(text: str, *, typing: bool = False) -> Query:
    """Read a query as people type it; with `typing`, its last word may be the beginning of one."""
    if len(text) > LONGEST:
        text = text[: LONGEST + 1].rpartition(" ")[0] or text[:LONGEST]  # what is cut off is no word
    plain: list[str] = []
    wanted: list[str] = []
    phrases: list[Phrase] = []
    excluded: list[Phrase] = []
    last_is_plain = False
    for piece in _PIECE.finditer(text):
        word = piece["word"]
        phrase = _phrase(piece[piece.lastgroup or 0], quoted=word is None)
        last_is_plain = word is not None and not piece["minus"]
        if piece["minus"]:
            excluded += phrase
            continue
        wanted.append(piece[0])
        if word is None:
            phrases += phrase
        else:
            plain.append(word)
    if len(phrases) + len(excluded) > MOST_PHRASES:
        return parse(_SYNTAX.sub(" ", text), typing=typing)
    terms = query_terms(" ".join(plain))
    if excluded and not phrases and not terms:
        return parse(re.sub(rf"[{_MINUS}]", " ", text), typing=typing)  # only “without” finds nothing: they are dashes
    prefix, ended = None, terms
    if typing and last_is_plain and not text[-1:].isspace() and (last := _last(plain[-1])):
        prefix = last.exact
        ended = query_terms(" ".join([*plain[:-1], plain[-1][: last.start]]))
        ended = tuple(term for term in ended if term in terms)  # no stop words, beside the one that is typed
    if phrases:  # a stop word beside a phrase adds nothing
        terms, ended = (tuple(term for term in each if term not in STOP_WORDS) for each in (terms, ended))
    stems = _stems(prefix) if prefix else ()
    return Query(terms, tuple(phrases), tuple(excluded), prefix, stems, ended, " ".join(wanted) if excluded else text)


def query_terms(text: str) -> tuple[str, ...]:
    """The terms of a query without syntax, each once.

    A Chinese word counts by its pairs, and by single characters only where one stands alone. Stop words count only
    when there is nothing else.
    """
    found = list(tokens(text))
    paired = {place for token in found if token.kind == "pair" for place in (token.position, token.position + 1)}
    kept = [token for token in found if token.kind != "unit" or token.position not in paired]
    telling = [token.term for token in kept if token.exact not in STOP_WORDS]
    return _once(telling or [token.term for token in kept])


def _phrase(text: str, *, quoted: bool) -> list[Phrase]:
    """The phrase in a text; none if it holds no word."""
    found = list(tokens(text))
    units = tuple(token.exact for token in found if token.kind == "unit")
    if not units:
        return []
    return [Phrase(units, _sure_terms(found), exact=quoted or len(units) > 1)]


def _sure_terms(found: list[Token]) -> tuple[str, ...]:
    """Terms of every text with this phrase. Wholes are not: `"a b"` has none, though it stands in `a-b`."""
    paired = {token.position for token in found if token.kind == "pair"}
    paired |= {place + 1 for place in paired}
    sure = [token for token in found if token.kind == "pair" or (token.kind == "unit" and token.position not in paired)]
    return _once([token.term for token in sure])


def _last(word: str) -> Token | None:
    """The unit that may be the beginning of another: the last one, if nothing stands behind it."""
    last: Token | None = None
    for token in tokens(word):
        if token.kind == "unit":
            last = token
    return last if last and last.end == len(word) and len(last.exact) >= MIN_PREFIX else None


def _stems(prefix: str) -> tuple[str, ...]:
    """The stems of words that go on from here with an ending, part of which may be typed already."""
    found = []
    for ending in _ENDINGS:
        for typed in range(len(ending)):
            base = prefix[: len(prefix) - typed]
            if len(base) >= _SHORTEST_BASE and prefix.endswith(ending[:typed]):
                found.append(stem(base + ending))
    return _once(each for each in found if not each.startswith(prefix))


def _once(terms: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(terms))
