"""Words and filters → the queries of one request. docs/turbopuffer.md explains which query is for what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Any, TypeAlias

from findspot.engines.protocol import HEADINGS_WEIGHT, NAME_WEIGHT, TITLE_WEIGHT, Vector, Within, Words
from findspot.engines.turbopuffer import schema
from findspot.engines.turbopuffer.schema import HEADINGS, NAME, TERMS, TITLE, token

MAX_LIMIT = 10_000  # rows of a query
MAX_QUERY = 8000  # characters of the terms of a query; the service takes 8,192
MAX_IDS = 20_000  # documents that one request names; docs/turbopuffer.md has the arithmetic
LEAST_RANGE = 12  # consecutive ids; fewer are shorter as a list
# What a completion of the word that is being typed counts. BM25 would need the number of its completions.
PREFIX_WEIGHT = 2.0
AGGREGATION = 4  # what a query counts among the 16 that may run at once; any other that is used here counts 1

Expression: TypeAlias = list[Any]
Query: TypeAlias = dict[str, Any]

_ATTRIBUTES = ["chunk_id", "document_id", "embedded"]
_EMBEDDED: Expression = ["embedded", "Eq", True]


class Keywords:
    """The expressions of a keyword query: what matches, and what it scores."""

    def __init__(self, words: Words) -> None:
        words = replace(words, named=tuple(_short(words.named)), none_of=tuple(_short(words.none_of)))
        self._variants = dict(words.variants)
        all_of = tuple(dict.fromkeys(words.all_of))
        any_of = tuple(_short(dict.fromkeys((*words.any_of, *all_of))))
        self._words = words
        self._terms = any_of
        named = self._named(words)
        text = self._text(words, all_of)
        matches = [each for each in (text, named) if each]
        excluded: list[Expression] = [["Not", _any(TERMS, words.none_of)]] if words.none_of else []
        self.can_match = bool(matches)
        self.match = _and([_or(matches), *excluded]) if matches else []
        self.named = _and([named, *excluded]) if named else None
        self.full = self._full(words) if words.full_match else None
        self.score: Expression = ["Sum", self._scores(words)] if self.can_match else []
        self.name_score: Expression | None = self._name_score(words) if named else None

    def computed(self) -> dict[str, Expression]:
        """Return what every row says of its keywords."""
        found = {"score": self.score}
        if self.named is not None and self.name_score is not None:
            found |= {"is_named": self.named, "name_score": self.name_score}
        return found | ({"is_full": self.full} if self.full else {})

    def queries(self, limit: int, within: Sequence[Expression], computed: dict[str, Any]) -> list[Query]:
        """Return the queries of the keyword leg: texts, names and full matches."""
        asked = [(self.score, self.match)]
        if self.named is not None:
            asked.append((["Sum", [self.score, self.name_score]], self.named))
        if self.full is not None:
            asked.append((self.score, _and([self.match, self.full])))
        return [ranked(rank, [*within, filter], limit, computed) for rank, filter in asked]

    def _spelt(self, term: str) -> list[str]:
        return [term, *self._variants.get(term, ())]

    def _text(self, words: Words, all_of: Sequence[str]) -> Expression | None:
        """Return the filter for texts that match."""
        if all_of:
            return _and([_any(TERMS, self._spelt(term)) for term in all_of])
        spelt = [each for term in self._terms for each in self._spelt(term)]
        if not spelt and not words.prefix:
            return None
        return _any(TERMS, [*spelt, *words.stems] if words.prefix else spelt, words.prefix)

    def _named(self, words: Words) -> Expression | None:
        """Return the filter for chunks whose name has every word."""
        if words.all_of or not (words.named or words.prefix):
            return None
        clauses: list[Expression] = [_tokens(NAME, "ContainsAllTokens", words.named)] if words.named else []
        return _and([*clauses, *([_any(NAME, words.stems, words.prefix)] if words.prefix else [])])

    def _full(self, words: Words) -> Expression:
        clauses = [
            _or([_any(TERMS, self._spelt(term)), _any(NAME, self._spelt(term))])
            for term in dict.fromkeys(words.full_match)
        ]
        if words.prefix:
            typed = [*words.typed, *words.stems]
            clauses.append(_or([_any(TERMS, typed, words.prefix), _any(NAME, typed, words.prefix)]))
        return _and(clauses)

    def _scores(self, words: Words) -> list[Expression]:
        """Return the parts of the score of a chunk, without what its name adds."""
        plain = [term for term in self._terms if term not in self._variants]
        spelt = [term for term in self._terms if term in self._variants]
        parts = [_bm25(TERMS, plain)] if plain else []
        parts += [["Max", [_bm25(TERMS, [each]) for each in self._spelt(term)]] for term in spelt]
        if words.prefix:
            parts.append(["Product", PREFIX_WEIGHT, _any(TERMS, words.stems, words.prefix)])
        if self._terms:
            parts.append(["Product", TITLE_WEIGHT, _bm25(TITLE, self._terms)])
            parts.append(["Product", HEADINGS_WEIGHT, _bm25(HEADINGS, self._terms)])
        return parts or [["Product", 0.0, _any(TERMS, words.named)]]  # a query for names alone

    def _name_score(self, words: Words) -> Expression:
        parts = [["Product", NAME_WEIGHT, _bm25(NAME, words.named)]] if words.named else []
        if words.prefix:
            parts.append(["Product", NAME_WEIGHT * PREFIX_WEIGHT, _any(NAME, words.stems, words.prefix)])
        return ["Sum", parts]


def near(vector: Vector, limit: int, within: Sequence[Expression], computed: dict[str, Any]) -> Query:
    """Return the query of the vector leg."""
    return ranked([schema.VECTOR, "ANN", vector.tolist()], [*within, _EMBEDDED], limit, computed)


def distance(vector: Vector) -> Expression:
    return [schema.VECTOR, "VectorDist", vector.tolist()]


def these(ids: Sequence[int], computed: dict[str, Any]) -> Query:
    """Return the query for some chunks, whatever they score."""
    return ranked(["chunk_id", "asc"], [["chunk_id", "In", list(ids)]], len(ids), computed)


def page(after: int) -> Query:
    """Return the query for the next ids of a namespace, in order."""
    query = ranked(["chunk_id", "asc"], [["chunk_id", "Gt", after]] if after >= 0 else [], MAX_LIMIT, {})
    return {**query, "include_attributes": ["chunk_id"]}


def count(keywords: Keywords | None, within: Sequence[Expression]) -> Query:
    """Return the query that counts the chunks that match; without keywords, those that have a vector."""
    return {"aggregate_by": {"count": ["Count"]}, "filters": _and([*within, keywords.match if keywords else _EMBEDDED])}


EVERY_ROW: Query = {"aggregate_by": {"count": ["Count"]}}


def filters(within: Within) -> list[list[Expression]]:
    """Return the filters of a query in parts: every chunk that the query may find passes exactly one of them.

    There is one part, unless the query may find chunks of very many documents, and none if it may find nothing.
    """
    found: list[Expression] = []
    if within.pointer:  # "0" is the character after "/"
        below = _and([["pointer", "Gte", within.pointer + "/"], ["pointer", "Lt", within.pointer + "0"]])
        found.append(_or([["pointer", "Eq", within.pointer], below]))
    if within.cut is not None:
        found.append(["cut", "Eq", schema.cut(*within.cut)])
    if within.least_length > 0:
        found.append(["length", "Gte", within.least_length])
    if within.document_ids is None:
        return [found]
    return [[*found, documents] for documents in _documents(within.document_ids)]


def _documents(ids: Set[int]) -> Iterator[Expression]:
    """Yield the filters for these documents: ranges of consecutive ids, and lists of the others."""
    ranges: list[Expression] = []
    single: list[int] = []
    for first, last in _runs(sorted(ids)):
        if last - first + 1 < LEAST_RANGE:
            single.extend(range(first, last + 1))
        else:
            ranges.append(_and([["document_id", "Gte", first], ["document_id", "Lte", last]]))
        if len(single) + len(ranges) * LEAST_RANGE >= MAX_IDS:
            yield _any_of(ranges, single)
            ranges, single = [], []
    if ranges or single:
        yield _any_of(ranges, single)


def _any_of(ranges: list[Expression], single: list[int]) -> Expression:
    return _or([*ranges, *([["document_id", "In", single]] if single else [])])


def _runs(ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of consecutive numbers."""
    start = 0
    for position in range(1, len(ids) + 1):
        if position == len(ids) or ids[position] != ids[position - 1] + 1:
            yield ids[start], ids[position - 1]
            start = position


def ranked(rank: Expression, filters: Sequence[Expression], limit: int, computed: dict[str, Any]) -> Query:
    query = {"rank_by": rank, "limit": min(limit, MAX_LIMIT), "include_attributes": _ATTRIBUTES}
    query |= {"filters": _and(filters)} if filters else {}
    return query | ({"compute_attributes": computed} if computed else {})


def _bm25(field: str, terms: Iterable[str]) -> Expression:
    return [field, "BM25", [token(term) for term in terms]]


def _any(field: str, terms: Iterable[str], prefix: str | None = None) -> Expression:
    """Return the filter for any of these tokens, or one that begins with `prefix`."""
    return _tokens(field, "ContainsAnyToken", terms, prefix)


def _tokens(field: str, operator: str, terms: Iterable[str], prefix: str | None = None) -> Expression:
    found = [token(term) for term in dict.fromkeys(terms)]
    return [field, operator, [*found, prefix], {"last_as_prefix": True}] if prefix else [field, operator, found]


def _and(clauses: Sequence[Expression]) -> Expression:
    return clauses[0] if len(clauses) == 1 else ["And", list(clauses)]


def _or(clauses: Sequence[Expression]) -> Expression:
    return clauses[0] if len(clauses) == 1 else ["Or", list(clauses)]


def _short(terms: Iterable[str]) -> Iterable[str]:
    """Yield the first terms, as many as the service takes. Only a query that is a text has more."""
    size = 0
    for term in terms:
        size += len(term)
        if size > MAX_QUERY:
            return
        yield term
