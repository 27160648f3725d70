"""Searches a snapshot of the keyword index with BM25."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import tantivy
from tantivy import Occur, Query

from findspot.engines.embedded import location_tokens
from findspot.engines.protocol import HEADINGS_WEIGHT, NAME_WEIGHT, TITLE_WEIGHT, Within, Words

NAME = "name"
CONTEXT_WEIGHTS = {"title": TITLE_WEIGHT, "headings": HEADINGS_WEIGHT}
CONTEXT_FIELDS = (*CONTEXT_WEIGHTS, NAME)  # in the order of ContextTerms
_MAX_COMPLETIONS = 50  # terms of a prefix: the most frequent ones
_MAX_FREQUENCIES = 100_000  # that one snapshot remembers
_MAX_QUERIES = 16  # that one snapshot remembers
_MAX_SCORED_AGAIN = 1000  # for more chunks, one query that scores every match is faster than a second one by id


class Best(NamedTuple):
    """The best chunks with their scores, which of them are full matches and, if counted, how many chunks match."""

    scores: dict[int, float]
    full: set[int]
    matches: int | None = None


class _Queries(NamedTuple):
    """The queries for some words: for texts, for names, and for all that counts for the score. None matches nothing."""

    text: Query | None
    named: Query | None
    whole: Query | None

    @property
    def is_text_alone(self) -> bool:
        return self.whole is self.text

    def parts(self) -> list[Query]:
        return [each for each in (self.text, self.named) if each]


class _Asked(NamedTuple):
    """The queries for all chunks that match some words, and for full matches alone."""

    every: _Queries
    full: _Queries


@dataclass(frozen=True, slots=True)
class KeywordSearcher:
    """A read-only snapshot of the keyword index. Later writes do not change it."""

    schema: tantivy.Schema
    searcher: tantivy.Searcher
    shortest: int  # no source is shorter, in characters
    has_contexts: bool = True
    # Of terms by field, as far as asked for: a query of four words takes 0.04 ms less when they are known.
    frequency_of: dict[tuple[str, str], int] = dataclasses.field(default_factory=dict)
    queries_of: dict[Words, _Asked] = dataclasses.field(default_factory=dict)  # the last ones

    def best(self, words: Words, limit: int, within: Within, *, count_to: int = 0) -> Best:
        """Return the `limit` best chunks. Full matches come before all others, whatever their scores.

        Texts and names are searched first. Then contexts are scored for these chunks alone, not for every match.
        """
        every, full_ones = self._queries(words)
        if every.whole is None:
            return Best({}, set(), 0)
        filters = [*self._filters(within)]
        is_scored = every.is_text_alone or limit > _MAX_SCORED_AGAIN
        searched, for_full = ([each.whole] if is_scored and each.whole else each.parts() for each in (every, full_ones))
        full = self._tops(for_full, filters, limit)
        found, matches = full, None
        if len(full) < limit and count_to and len(searched) == 1:
            top, matches = self._counted_top(_filtered(searched[0], filters), limit)
            found = top | full
        elif len(full) < limit:
            found = self._tops(searched, filters, limit) | full
        scores = found if is_scored else self.scores(words, [*found]) | self.full_scores(words, [*full])
        best = _best(scores, full, limit)
        if count_to and matches is None:
            matches = len(best) if len(best) < limit else self.count(words, within, count_to)
        return Best(best, best.keys() & full.keys(), matches)

    def count(self, words: Words, within: Within, most: int | None = None) -> int:
        """Return how many chunks match: exactly up to `most`, and above it perhaps too few.

        To count the chunks with one frequent term instead takes 0.3 ms where all terms take up to 3.5.
        """
        filters = [*self._filters(within)]
        if most is not None and not filters and not words.all_of:
            found = self._count_with_one_term(words, above=most)
            if found > most:
                return found
        query = Query.boolean_query([(Occur.Should, each) for each in self._queries(words).every.parts()])
        return self._count(_filtered(query, filters))

    def _count_with_one_term(self, words: Words, *, above: int) -> int:
        """Return how many chunks match by the rarest term of `any_of` that is in more than this many chunks, or 0."""
        frequent = {term: count for term in words.any_of if (count := self._frequency("terms", term)) > above}
        if not frequent:
            return 0
        one = self._term(min(frequent, key=frequent.__getitem__))
        excluded = [(Occur.MustNot, self._term(each)) for each in words.none_of]
        return self._count(Query.boolean_query([(Occur.Must, one), *excluded]))

    def _count(self, query: Query) -> int:
        return int(self.searcher.search(query, 1, count=True).count)  # type: ignore[attr-defined]

    def frequencies(self, terms: Sequence[str], prefix: str | None) -> dict[str, int]:
        """Return in how many chunks each of these terms, and each with this prefix, occurs in text or context."""
        found: dict[str, int] = {}
        for field in ("terms", *(CONTEXT_WEIGHTS if self.has_contexts else ())):
            counts = [(term, self._frequency(field, term)) for term in terms]
            counts += self.searcher.terms_with_prefix(field, prefix) if prefix else ()
            found |= {term: max(count, found.get(term, 0)) for term, count in counts if count}
        return found

    def scores(self, words: Words, ids: Sequence[int]) -> dict[int, float]:
        """Return the scores of those of these chunks that match, best first."""
        return self._scores(self._queries(words).every.whole, ids)

    def full_scores(self, words: Words, ids: Sequence[int]) -> dict[int, float]:
        """Return the scores of those of these chunks that are full matches, best first.

        `scores` adds the same numbers in another order, so its last digit may differ.
        """
        return self._scores(self._queries(words).full.whole, ids)

    def _scores(self, query: Query | None, ids: Sequence[int]) -> dict[int, float]:
        if query is None or not ids:
            return {}
        # This is the fastest way: a disjunction_max_query takes 1.6 times as long, and a term_set_query three times.
        these = [(Occur.Should, Query.term_query(self.schema, "id", id, "basic")) for id in ids]
        return self._top(_filtered(query, [Query.boolean_query(these)]), len(ids))

    def _tops(self, queries: Sequence[Query], filters: Sequence[Query], limit: int) -> dict[int, float]:
        found: dict[int, float] = {}
        for query in queries:
            found |= self._top(_filtered(query, filters), limit)
        return found

    def _top(self, query: Query, limit: int) -> dict[int, float]:
        return self._scored(self.searcher.search(query, self._most(limit), count=False))

    def _counted_top(self, query: Query, limit: int) -> tuple[dict[int, float], int]:
        """Return the best chunks, and how many match. It takes 0.04 ms more than `_top`, a count of its own 0.4 ms."""
        found = self.searcher.search(query, self._most(limit), count=True)
        return self._scored(found), int(found.count)  # type: ignore[attr-defined]

    def _most(self, limit: int) -> int:
        return min(limit, max(self.searcher.num_docs, 1))  # tantivy allocates memory for this many hits

    def _scored(self, found: tantivy.SearchResult) -> dict[int, float]:
        hits = found.hits
        ids = self.searcher.fast_field_values("id", [address for _, address in hits])
        return _sorted({int(id or 0): score for (score, _), id in zip(hits, ids, strict=True)})

    def _queries(self, words: Words) -> _Asked:
        """Return the queries for some words. A recall needs them up to four times; to make them takes 0.02 ms."""
        known = self.queries_of.get(words)
        if known is None:
            if len(self.queries_of) >= _MAX_QUERIES:
                self.queries_of.clear()
            known = self.queries_of[words] = self._made(words)
        return known

    def _made(self, words: Words) -> _Asked:
        """Return the queries for some words.

        A full match has most terms in its text, where the query requires them. A filter beside the query for any of
        them would be slower by far: it scores every chunk with one term (2.0 ms instead of 0.5 for eight words).
        """
        text, named, context = self._text(words), self._named(words), self._context(words)
        every = _Queries(text, named, _whole(text, named, context))
        if not words.full_match:
            return _Asked(every, _Queries(None, None, None))
        required = frozenset() if named else self._only_in_texts(words)
        filters = self._full_match(words, required)
        text = self._text(words, required) if required else text
        whole = _whole(text, named, context) if required else every.whole
        return _Asked(
            every, _Queries(*(None if each is None else _filtered(each, filters) for each in (text, named, whole)))
        )

    def _only_in_texts(self, words: Words) -> frozenset[str]:
        """Return the terms of a full match that no name has, nor any variant of them."""
        variants = dict(words.variants)
        return frozenset(
            term
            for term in {*words.full_match} & {*words.any_of}
            if not (self.has_contexts and any(self._frequency(NAME, each) for each in (term, *variants.get(term, ()))))
        )

    def _text(self, words: Words, required: Set[str] = frozenset()) -> Query | None:
        """Return the query for the terms, each of which counts once for the score; None if nothing can match.

        A chunk needs one of `any_of`, and all that are `required`.
        """
        all_of = dict.fromkeys(words.all_of)
        any_of = dict.fromkeys(term for term in words.any_of if term not in all_of)
        variants = dict(words.variants)
        clauses = [(Occur.Must, self._spelt(term, variants)) for term in all_of]
        clauses += [(Occur.Must if term in required else Occur.Should, self._spelt(term, variants)) for term in any_of]
        if words.prefix:
            clauses += [(Occur.Should, query) for query in self._completions(words.prefix, words.stems)]
        if not clauses:
            return None
        clauses += [(Occur.MustNot, self._term(term)) for term in words.none_of]
        return Query.boolean_query(clauses)

    def _named(self, words: Words) -> Query | None:
        """Return the query for chunks whose name has every word; None if there can be none."""
        if words.all_of or not self.has_contexts or not (words.named or words.prefix):
            return None
        if not all(self._frequency(NAME, term) for term in words.named):
            return None
        clauses = [(Occur.Must, self._name(self._term(term, NAME), [term])) for term in words.named]
        if words.prefix:
            completions = [term for term, _ in self._completing(words.prefix, words.stems, NAME)]
            if not completions:
                return None
            any_of = Query.disjunction_max_query([self._term(term, NAME) for term in completions])
            clauses.append((Occur.Must, self._name(any_of, completions)))
        clauses += [(Occur.MustNot, self._term(term)) for term in words.none_of]
        return Query.boolean_query(clauses)

    def _name(self, query: Query, terms: Sequence[str]) -> Query:
        """Return a query for a word in a name, with a fixed score. BM25 would compare lengths, and most chunks have no
        name."""
        weight = self._weight(sum(self._frequency("terms", term) for term in terms))
        return Query.const_score_query(query, NAME_WEIGHT * weight)

    def _context(self, words: Words) -> list[tuple[Occur, Query]]:
        """Return what adds the scores of title and headings. They match nothing on their own."""
        if not self.has_contexts:
            return []
        return [
            (Occur.Should, Query.boost_query(self._term(term, field), weight))
            for term in dict.fromkeys((*words.any_of, *words.all_of))
            for field, weight in CONTEXT_WEIGHTS.items()
            if weight and self._frequency(field, term)
        ]

    def _full_match(self, words: Words, required: Set[str]) -> list[Query]:
        """Return the filters that a full match passes, apart from the terms that its text is required to have."""
        variants = dict(words.variants)
        filters = [self._spelt(term, variants, self._anywhere) for term in words.full_match if term not in required]
        if words.prefix:
            typed = [self._term(term) for term in words.typed]
            typed += self._completions(words.prefix, words.stems)
            if self.has_contexts:
                typed += [self._term(term, NAME) for term, _ in self._completing(words.prefix, words.stems, NAME)]
            filters.append(Query.disjunction_max_query(typed) if typed else Query.empty_query())
        return filters

    def _spelt(
        self, term: str, variants: Mapping[str, Sequence[str]], query: Callable[[str], Query] | None = None
    ) -> Query:
        """Return the query for a term or, with its best score, any of its variants."""
        queries = [(query or self._term)(each) for each in (term, *variants.get(term, ()))]
        return Query.disjunction_max_query(queries) if len(queries) > 1 else queries[0]

    def _anywhere(self, term: str) -> Query:
        """Return the query for a term in the text or in the name."""
        if not self.has_contexts or not self._frequency(NAME, term):
            return self._term(term)
        return Query.disjunction_max_query([self._term(term), self._term(term, NAME)])

    def _term(self, term: str, field: str = "terms") -> Query:
        return Query.term_query(self.schema, field, term, "basic" if field == NAME else "freq")

    def _completions(self, prefix: str, stems: Sequence[str]) -> list[Query]:
        """Return a query that scores the terms with this prefix, and the stems, as if they were one term: with their
        combined weight, and in each chunk with the term that scores best."""
        found = self._completing(prefix, stems, "terms")
        if not found:
            return []
        combined = self._weight(sum(count for _, count in found))
        weighted = [Query.boost_query(self._term(term), combined / self._weight(count)) for term, count in found]
        return [Query.disjunction_max_query(weighted)]

    def _completing(self, prefix: str, stems: Sequence[str], field: str) -> list[tuple[str, int]]:
        """Return the terms of a field that complete a prefix, with the number of chunks that have them."""
        found = list(self.searcher.terms_with_prefix(field, prefix, limit=_MAX_COMPLETIONS))
        return found + [(stem, count) for stem in stems if (count := self._frequency(field, stem))]

    def _frequency(self, field: str, term: str) -> int:
        """Return how many chunks have a term in a field."""
        known = self.frequency_of.get((field, term))
        if known is None:
            if len(self.frequency_of) >= _MAX_FREQUENCIES:
                self.frequency_of.clear()
            known = self.frequency_of[field, term] = self.searcher.doc_freq(field, term)
        return known

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


def _whole(text: Query | None, named: Query | None, context: Sequence[tuple[Occur, Query]]) -> Query | None:
    """Return the query that scores text, name and context; None if nothing can match."""
    matches = [(Occur.Should, each) for each in (text, named) if each]
    if not matches or not (named or context):
        return text
    return Query.boolean_query([(Occur.Must, Query.boolean_query(matches)), *context])


def _filtered(query: Query, filters: Sequence[Query]) -> Query:
    """Add filters that must match and do not change the score."""
    if not filters:
        return query
    unscored = [(Occur.Must, Query.const_score_query(each, 0.0)) for each in filters]
    return Query.boolean_query([(Occur.Must, query), *unscored])


def _best(scores: dict[int, float], full: Mapping[int, float], limit: int) -> dict[int, float]:
    """Return the best chunks, full matches first. Without full matches, `scores` has the best first."""
    if full:
        scores = _sorted(scores)
        scores = {id: scores[id] for id in scores if id in full} | scores
    return scores if len(scores) <= limit else dict(islice(scores.items(), limit))


def _sorted(scores: dict[int, float]) -> dict[int, float]:
    """Return scores with the best first, and equal ones by id."""
    return {id: -negative for negative, id in sorted([(-score, id) for id, score in scores.items()])}
