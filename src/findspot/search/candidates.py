"""The candidates of a workspace search: what the legs recalled, with the documents that it belongs to."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from findspot.engines.protocol import Recall, Words
from findspot.ranking.workspace import Origin
from findspot.runtime.limits import Deadline
from findspot.search.recall import Degradation, words_of

if TYPE_CHECKING:
    from findspot.words import Query

MAX_CANDIDATES = 10_000  # per leg
MAX_FULL_MATCH_WORDS = 32  # a query of more words is a text, and no one expects a passage with all of them
TEXTS_PER_CHECK = 64  # texts that are checked before the deadline is checked again


@dataclass(frozen=True, slots=True)
class Candidates:
    """Up to `limit` candidates per leg."""

    limit: int
    recall: Recall
    full: Set[int]  # candidates with every word of the query
    more_full: bool  # chunks that are no candidates may have every word too
    by_keyword: bool
    by_vector: bool
    degraded: Degradation | None
    origins: Mapping[int, Origin] = field(default_factory=dict)  # of the candidates that may be hits
    rejected: Set[int] = frozenset()  # candidates without a phrase of the query, or with what it excludes
    matches: int = 0  # how many could be recalled by keyword; for a semantic search, by vector
    capped: bool = False  # that is more than MAX_CANDIDATES

    @property
    def keywords_exhausted(self) -> bool:
        """Whether vectors failed and keywords have no further candidates."""
        return self.degraded is not None and len(self.recall.keyword) < self.limit


def words_with_full_matches(query: "Query") -> Words:
    """Return the words of a query, with chunks that have every word recalled first."""
    is_full_match_asked = not _is_one_word(query) and _word_count(query) <= MAX_FULL_MATCH_WORDS
    return replace(words_of(query), full_match=query.required_terms if is_full_match_asked else ())


def full_matches(query: "Query", recall: Recall) -> tuple[Set[int], bool]:
    """Return the candidates that have every word of the query, and whether other chunks may have them too."""
    if not _is_one_word(query):
        return recall.full_matches, recall.more_full_matches
    return recall.keyword.keys() | recall.keyword_also.keys(), True


def is_full_match(query: "Query", matched_words: int) -> bool:
    return 0 < matched_words == _word_count(query) <= MAX_FULL_MATCH_WORDS


def best_with_phrase(recall: Recall, limit: int, *, by_vector: bool) -> Recall:
    """Return the best of the chunks that keywords recalled for a phrase: by cosine, or by BM25 without vectors.

    A semantic search for a phrase uses this: the nearest vectors of all would rarely contain the phrase.
    """
    if not by_vector:
        return replace(recall, keyword=dict(islice(recall.keyword.items(), limit)))
    cosines = {**recall.vector_also, **recall.vector}
    nearest = sorted((-cosines[id], id) for id in recall.keyword if id in cosines)[:limit]
    documents = {id: recall.documents[id] for _, id in nearest if id in recall.documents}
    return Recall(vector={id: -cosine for cosine, id in nearest}, documents=documents)


def rejected(query: "Query", ids: Sequence[int], texts: Mapping[int, str], deadline: Deadline) -> Set[int]:
    """Return the candidates that are gone, lack a phrase, or contain what the query excludes."""
    from findspot.words import Acceptance

    accepts, found = Acceptance(query), set(ids) - texts.keys()
    unchecked = list(texts.items())
    for start in range(0, len(unchecked), TEXTS_PER_CHECK):
        deadline.check()
        found.update(id for id, text in unchecked[start : start + TEXTS_PER_CHECK] if not accepts(text))
    return found


def _is_one_word(query: "Query") -> bool:
    """Return whether a chunk that matches by keyword has every word: the query has one, and no term beside it."""
    return _word_count(query) <= 1 and set(query.scored_terms) <= {*query.required_terms, *query.partial_terms}


def _word_count(query: "Query") -> int:
    """Return how many words a full match has. The word that is being typed counts as one."""
    return len(query.required_terms) + (query.prefix is not None)
