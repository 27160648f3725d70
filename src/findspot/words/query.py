"""Parses a query as people type it.

A query has words, `"a phrase"`, `-exclusions`, and while typing the prefix of a word. Chinese quotes work like straight
ones. Invalid syntax is read as plain words, so every text is a query. Chinese is recalled by pairs of characters; what
counts as a word of the query is decided by segmentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from findspot.words.analyser import Token, tokens
from findspot.words.folding import fold_run
from findspot.words.scripts import RUN
from findspot.words.segmentation import segment
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
    """A parsed query: any of `terms`, all of `phrases`, none of `excluded`. Texts with `preferred` phrases rank higher.

    `prefix` is the word that is still being typed. `stems` are terms that its completions may have although they do not
    begin with it: `swimm` may become `swimming`, which has the term `swim`. `positive_text` is the query as typed,
    without exclusions.

    `content_terms` are the terms of the words that count, without stop words: a full match has them, and they are
    highlighted. `terms` has more of them for Chinese: the pairs across two words, which help to recall and to rank.
    `complete_terms` are those of `content_terms` that do not belong to the word that is being typed. `variants` are
    other terms that count as one of them: other spellings of a word. `corrected_text` is the query that was read
    instead of the typed one, if a word was misspelt.
    """

    terms: tuple[str, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    excluded: tuple[Phrase, ...] = ()
    prefix: str | None = None
    stems: tuple[str, ...] = ()
    content_terms: tuple[str, ...] = ()
    complete_terms: tuple[str, ...] = ()
    preferred: tuple[Phrase, ...] = ()
    positive_text: str = ""
    corrected_text: str | None = None
    variants: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def required_terms(self) -> tuple[str, ...]:
        """The terms of a text that contains every word, except for the word that is being typed."""
        return _unique([*self.complete_terms, *(term for phrase in self.phrases for term in phrase.terms)])

    @property
    def partial_terms(self) -> tuple[str, ...]:
        """The terms of the word that is being typed, taken as a whole word."""
        required = self.required_terms
        return tuple(term for term in self.content_terms if term not in required)

    def spellings(self, term: str) -> frozenset[str]:
        """Return a term with all that counts as this term."""
        return frozenset((term, *(other for known, others in self.variants if known == term for other in others)))

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
    preferred: list[Phrase] = field(default_factory=list)
    excluded: list[Phrase] = field(default_factory=list)
    ends_with_word: bool = False


def parse(text: str, *, typing: bool = False, requires_phrases: bool = True, excludes: bool = True) -> Query:
    """Parse a query. With `typing`, its last word may be the prefix of one.

    Without `requires_phrases`, quoted pieces are words like others, and preferred as phrases. Without `excludes`, a
    dash before a word is text.
    """
    if len(text) > LONGEST:
        text = text[: LONGEST + 1].rpartition(" ")[0] or text[:LONGEST]  # do not cut inside a word
    items = _items(text, requires_phrases=requires_phrases, excludes=excludes)
    phrases, excluded = tuple(items.phrases), tuple(items.excluded)
    if len(phrases) + len(excluded) + len(items.preferred) > MAX_PHRASES:
        return parse(_SYNTAX.sub(" ", text), typing=typing)
    terms, content = _terms(" ".join(items.words))
    if excluded and not phrases and not terms:
        return parse(re.sub(rf"[{_MINUS}]", " ", text), typing=typing)  # exclusions alone match nothing: plain dashes
    prefix, complete = None, content
    if typing and items.ends_with_word and not text[-1:].isspace() and (last := _last_unit(items.words[-1])):
        prefix = last.exact
        _, complete = _terms(" ".join([*items.words[:-1], items.words[-1][: last.start]]))
        complete = tuple(term for term in complete if term in content)  # without stop words next to the prefix
    if phrases:  # a stop word beside a phrase adds nothing
        terms, content, complete = (
            tuple(term for term in each if term not in STOP_WORDS) for each in (terms, content, complete)
        )
    return Query(
        terms=terms,
        phrases=phrases,
        excluded=excluded,
        prefix=prefix,
        stems=_stems(prefix) if prefix else (),
        content_terms=content,
        complete_terms=complete,
        preferred=tuple(items.preferred),
        positive_text=" ".join(items.positive) if excluded else text,
    )


def _items(text: str, *, requires_phrases: bool, excludes: bool) -> _Items:
    items = _Items()
    for item in _ITEM.finditer(text):
        word, inside = item["word"], item[item.lastgroup or 0]
        minus = item["minus"] if excludes and (word is None or _is_excludable(word)) else None
        items.ends_with_word = word is not None and not minus
        if minus:
            items.excluded += _phrase(inside, quoted=word is None)
            continue
        items.positive.append(item[0])
        if word is not None:
            items.words.append(word)
        elif requires_phrases:
            items.phrases += _phrase(inside, quoted=True)
        else:
            items.words.append(inside)
            items.preferred += [phrase for phrase in _phrase(inside, quoted=True) if len(phrase.units) > 1]
    return items


def _is_excludable(word: str) -> bool:
    """Return whether a dash before this word excludes it. `-m` is an option of a command."""
    return sum(len(token.exact) for token in tokens(word) if token.kind == "unit") > 1


def _terms(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the terms of a query without syntax, and those of its content words. Each is there once."""
    terms = query_terms(text)
    in_words = [term for run in RUN.finditer(text) for term in _run_content(fold_run(run[0]))]
    content = _unique([*(term for term in terms if RUN.fullmatch(term) is None), *in_words])
    return terms, content or terms


def _run_content(run: str) -> Iterator[str]:
    """Yield the pairs of characters inside the words of a run, and the words of one character."""
    spans = segment(run) if len(run) > 1 else [(0, 1)] * (run not in STOP_WORDS)
    for start, end in spans:
        yield from (run[at : min(at + 2, end)] for at in range(start, max(end - 1, start + 1)))


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
