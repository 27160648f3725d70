"""Which chunks hold these words, and how well? BM25 over an index as it is at one moment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import tantivy
from tantivy import Occur, Query

from findspot.engines.embedded import places
from findspot.engines.protocol import Within, Words

_MOST_COMPLETIONS = 50  # terms that a prefix stands for: those in most chunks


@dataclass(frozen=True, slots=True)
class Lookup:
    """The words of an index, for reading. It never changes, whatever is written."""

    schema: tantivy.Schema
    searcher: tantivy.Searcher
    shortest: int  # no source is shorter

    def best(self, words: Words, limit: int, within: Within) -> tuple[dict[int, float], set[int]]:
        """The `limit` best chunks with their scores, and which of them have all that is looked for together: these are
        the best, whatever their scores."""
        query = self._wording(words)
        if query is None:
            return {}, set()
        limits = [*self._limits(within)]
        full = self._found(_filtered(query, [*limits, *self._together(words)]), limit) if words.together else {}
        if len(full) == limit:
            return full, set(full)
        found = self._found(_filtered(query, limits), limit)
        return dict(islice((full | found).items(), limit)), set(full)

    def full(self, words: Words, ids: Sequence[int]) -> set[int]:
        """Which of these chunks have all that is looked for together."""
        return set(self.scores(words, ids, self._together(words)))

    def count(self, words: Words, within: Within) -> int:
        """How many chunks match."""
        query = self._wording(words)
        if query is None:
            return 0
        found = self.searcher.search(_filtered(query, [*self._limits(within)]), 1, count=True)
        return int(found.count)  # type: ignore[attr-defined]

    def scores(self, words: Words, ids: Sequence[int], limits: Sequence[Query] = ()) -> dict[int, float]:
        """The scores of those of these chunks that match."""
        query = self._wording(words)
        if query is None or not ids:
            return {}
        these = [Query.term_query(self.schema, "id", id, "basic") for id in ids]  # a set of terms takes twice as long
        return self._found(_filtered(query, [Query.disjunction_max_query(these), *limits]), len(ids))

    def _found(self, query: Query, limit: int) -> dict[int, float]:
        room = min(limit, max(self.searcher.num_docs, 1))  # tantivy sets aside as much memory as it is asked for
        hits = self.searcher.search(query, room, count=False).hits
        ids = self.searcher.fast_field_values("id", [address for _, address in hits])
        pairs = [(-score, int(id or 0)) for (score, _), id in zip(hits, ids, strict=True)]
        return {id: -score for score, id in sorted(pairs)}

    def _wording(self, words: Words) -> Query | None:
        """Every term counts once for the score, also one that must be there; None if nothing can be found."""
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

    def _together(self, words: Words) -> list[Query]:
        limits = [self._term(term) for term in words.together]
        if words.prefix:
            typed = [self._term(term) for term in words.any_of if term not in words.together]
            typed += self._completions(words.prefix, words.stems)
            limits.append(Query.disjunction_max_query(typed) if typed else Query.empty_query())
        return limits

    def _term(self, term: str) -> Query:
        return Query.term_query(self.schema, "terms", term, "freq")

    def _completions(self, prefix: str, stems: Sequence[str]) -> list[Query]:
        """The best of the terms that begin so, all of them as telling as they are together: as if they were one."""
        found = list(self.searcher.terms_with_prefix("terms", prefix, limit=_MOST_COMPLETIONS))
        found += [(stem, count) for stem in stems if (count := self.searcher.doc_freq("terms", stem))]
        if not found:
            return []
        together = self._telling(sum(count for _, count in found))
        weighted = [Query.boost_query(self._term(term), together / self._telling(count)) for term, count in found]
        return [Query.disjunction_max_query(weighted)]

    def _telling(self, count: int) -> float:
        """BM25's weight of a term that `count` chunks hold. Counts also know chunks deleted of late."""
        everything = max(self.searcher.num_docs, count)
        return math.log(1 + (everything - count + 0.5) / (count + 0.5))

    def _limits(self, within: Within) -> Iterator[Query]:
        if within.pointer:
            yield Query.term_query(self.schema, "place", places.of_pointer(within.pointer), "basic")
        if within.cut is not None:
            yield Query.term_query(self.schema, "place", places.of_cut(*within.cut), "basic")
        if within.document_ids is not None:
            tokens = [places.of_document(document_id) for document_id in sorted(within.document_ids)]
            yield Query.term_set_query(self.schema, "place", tokens) if tokens else Query.empty_query()
        if within.least_length > self.shortest:
            kind = tantivy.FieldType.Integer
            yield Query.range_query(self.schema, "length", kind, lower_bound=within.least_length)


def _filtered(query: Query, limits: Sequence[Query]) -> Query:
    """A limit decides and adds nothing to a score."""
    if not limits:
        return query
    unscored = [(Occur.Must, Query.const_score_query(limit, 0.0)) for limit in limits]
    return Query.boolean_query([(Occur.Must, query), *unscored])
