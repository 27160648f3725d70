"""How related a passage is to a query, on the calibrated scale: 0.7 or more means "related".

Words support meaning: 1 − (1 − semantic)·(1 − words). A passage is unrelated only if both say so.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Generic, NamedTuple, TypeVar

from findspot.ranking.scores import Leg, Look
from findspot.ranking.workspace import DIGITS, closer_cosine

Id = TypeVar("Id", bound=int | str)

WORDS_HALF = 10.0  # the BM25 score that becomes 0.5, so that 24 alone means "related": docs/retrieval.md
RELATED = 0.7  # a passage with every word of the query has at least this


class Related(NamedTuple, Generic[Id]):
    """A passage with its score and the two parts of it. `meaning` is None if vectors were not asked."""

    id: Id
    score: float
    meaning: float | None
    words: float


def by_words(bm25: float, *, full_match: bool = False) -> float:
    """Scale BM25 to 0…1 so that 0.7 means "related"."""
    if bm25 <= 0:
        return 0.0
    share = bm25 / (bm25 + WORDS_HALF)
    return max(share, RELATED + (1 - RELATED) * share) if full_match else share


def relatedness(
    id: Id,
    keyword: Leg[Id],
    vector: Leg[Id] | None,
    similarity: Callable[[float], float],
    *,
    look: Look | None = None,
    full_match: bool = False,
) -> Related[Id]:
    """Return how related a passage is. With a closer look at it, its cosine is the closer one."""
    words = by_words(keyword.raw(id) or 0.0, full_match=full_match)
    meaning = None
    if vector is not None:
        cosine = vector.raw(id)
        closer = closer_cosine(cosine, look) if cosine is not None and look else cosine
        meaning = 0.0 if closer is None else similarity(closer)
    return Related(id, round(1 - (1 - (meaning or 0.0)) * (1 - words), DIGITS), meaning, words)


def related(
    order: Sequence[Id],
    keyword: Leg[Id],
    vector: Leg[Id] | None,
    similarity: Callable[[float], float],
    least: float,
    *,
    looks: Mapping[Id, Look] | None = None,
    full_matches: Set[Id] = frozenset(),
) -> list[Related[Id]]:
    """Return those of the ranked passages that reach the least score, in the given order.

    The second stage of search tools ranks better than this score, but is not on the calibrated scale. So a passage
    keeps its place, and has at least the score of every passage behind it: scores never rise down the list.
    """
    found = [
        relatedness(id, keyword, vector, similarity, look=(looks or {}).get(id), full_match=id in full_matches)
        for id in order
    ]
    kept: list[Related[Id]] = []
    behind = 0.0
    for each in reversed([each for each in found if each.score >= least]):
        behind = max(behind, each.score)
        kept.append(each._replace(score=behind))
    return kept[::-1]
