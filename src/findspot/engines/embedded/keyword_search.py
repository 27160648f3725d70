"""Searches a snapshot of the keyword index with BM25."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import tantivy
from tantivy import Occur, Query

from findspot.engines.embedded import location_tokens
from findspot.engines.protocol import Within, Words

_MAX_COMPLETIONS = 50  # terms of a prefix: the most frequent ones


@dataclass(frozen=True, slots=True)
class KeywordSearcher:
    """A read-only snapshot of the keyword index. Later writes do not change it."""

    schema: tantivy.Schema
    searcher: tantivy.Searcher
    shortest: int  # no source is shorter, in characters

    def best(self, words: Words, limit: int, within: Within) -> tuple[dict[int, float], set[int]]:
        """Return the `limit` best chunks with their scores, and which of them are full matches. Full matches come
        before all others, whatever their scores."""
        query = self._keyword_query(words)
        if query is None:
            return {}, set()
        filters = [*self._filters(within)]
        full = self._top(_filtered(query, [*filters, *self._full_match(words)]), limit) if words.full_match else {}
        if len(full) == limit:
            return full, set(full)
        found = self._top(_filtered(query, filters), limit)
        return dict(islice((full | found).items(), limit)), set(full)

    def full_matches(self, words: Words, ids: Sequence[int]) -> set[int]:
        """Return which of these chunks are full matches."""
        return set(self.scores(words, ids, self._full_match(words)))

    def count(self, words: Words, within: Within) -> int:
        """Return how many chunks match."""
        query = self._keyword_query(words)
        if query is None:
            return 0
        found = self.searcher.search(_filtered(query, [*self._filters(within)]), 1, count=True)
        return int(found.count)  # type: ignore[attr-defined]

    def scores(self, words: Words, ids: Sequence[int], filters: Sequence[Query] = ()) -> dict[int, float]:
        """Return the scores of those of these chunks that match."""
        query = self._keyword_query(words)
        if query is None or not ids:
            return {}
        these = [Query.term_query(self.schema, "id", id, "basic") for id in ids]  # a term set query takes twice as long
        return self._top(_filtered(query, [Query.disjunction_max_query(these), *filters]), len(ids))

    def _top(self, query: Query, limit: int) -> dict[int, float]:
        most = min(limit, max(self.searcher.num_docs, 1))  # tantivy allocates memory for this many hits
        hits = self.searcher.search(query, most, count=False).hits
        ids = self.searcher.fast_field_values("id", [address for _, address in hits])
        pairs = [(-score, int(id or 0)) for (score, _), id in zip(hits, ids, strict=True)]
        return {id: -score for score, id in sorted(pairs)}

    def _keyword_query(self, words: Words) -> Query | None:
        """Return the query for the terms, each of which counts once for the score; None if nothing can match."""
        all_of = dict.fromkeys(words.all_of)
        any_of = dict.fromkeys(term for term in words.any_of if term not in all_of)
        clauses = [(Occur.Must, self._term(term)) for term in all_of]
        clauses += [(Occur.Should, self._term(term)) for term in any_of]
        if words.prefix:
            clauses += [(Occur.Should, query) for query in self._completions(words.prefix, words.stems)]
        if not clauses:
            return None
        clauses += [(Occur.MustNot, self._term(term)) for term in words.none_of]
        return Query.boolean_query(clauses)

    def _full_match(self, words: Words) -> list[Query]:
        """Return the filters that a full match passes."""
        filters = [self._term(term) for term in words.full_match]
        if words.prefix:
            typed = [self._term(term) for term in words.any_of if term not in words.full_match]
            typed += self._completions(words.prefix, words.stems)
            filters.append(Query.disjunction_max_query(typed) if typed else Query.empty_query())
        return filters

    def _term(self, term: str) -> Query:
        return Query.term_query(self.schema, "terms", term, "freq")

    def _completions(self, prefix: str, stems: Sequence[str]) -> list[Query]:
        """Return a query that scores the terms with this prefix, and the stems, as if they were one term: with their
        combined weight, and in each chunk with the term that scores best."""
        found = list(self.searcher.terms_with_prefix("terms", prefix, limit=_MAX_COMPLETIONS))
        found += [(stem, count) for stem in stems if (count := self.searcher.doc_freq("terms", stem))]
        if not found:
            return []
        combined = self._weight(sum(count for _, count in found))
        weighted = [Query.boost_query(self._term(term), combined / self._weight(count)) for term, count in found]
        return [Query.disjunction_max_query(weighted)]

    def _weight(self, count: int) -> float:
        """Return the BM25 weight of a term in `count` chunks. A count includes deleted chunks until a merge."""
        everything = max(self.searcher.num_docs, count)
        return math.log(1 + (everything - count + 0.5) / (count + 0.5))

    def _filters(self, within: Within) -> Iterator[Query]:
        if within.pointer:
            yield Query.term_query(self.schema, "place", location_tokens.of_pointer(within.pointer), "basic")
        if within.cut is not None:
            yield Query.term_query(self.schema, "place", location_tokens.of_cut(*within.cut), "basic")
        if within.document_ids is not None:
            tokens = [location_tokens.of_document(document_id) for document_id in sorted(within.document_ids)]
            yield Query.term_set_query(self.schema, "place", tokens) if tokens else Query.empty_query()
        if within.least_length > self.shortest:
            kind = tantivy.FieldType.Integer
            yield Query.range_query(self.schema, "length", kind, lower_bound=within.least_length)


def _filtered(query: Query, filters: Sequence[Query]) -> Query:
    """Add filters that must match and do not change the score."""
    if not filters:
        return query
    unscored = [(Occur.Must, Query.const_score_query(each, 0.0)) for each in filters]
    return Query.boolean_query([(Occur.Must, query), *unscored])
