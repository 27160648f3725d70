"""Fuse the keyword leg and the vector leg into one order: by rank (RRF), or by score (convex)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from findspot.ranking.normal import bm25_norm
from findspot.ranking.scores import Leg, Part, Ranked, ranked

Id = TypeVar("Id", bound=int | str)

RRF_K = 60
SEGMENTED_HITS = 12  # how many of the best hits are compared with the query segment by segment
SEGMENT_LENGTH = 150  # characters
_LAST = 1 << 62  # the rank of a hit that a leg did not recall


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each leg counts. Only their proportion matters: `scaled` makes them add up to 1."""

    keyword: float
    vector: float

    def scaled(self) -> "Weights":
        total = self.keyword + self.vector
        if total <= 0:
            raise ValueError("at least one weight must be above zero")
        return Weights(self.keyword / total, self.vector / total)


def rrf(keyword: Leg[Id], vector: Leg[Id], weights: Weights, k: int = RRF_K) -> list[Ranked[Id]]:
    """Rank by weighted reciprocal ranks, scaled so that the first of both legs scores 1.0."""
    scaled = weights.scaled()
    legs = ((keyword, scaled.keyword, keyword.ranks()), (vector, scaled.vector, vector.ranks()))

    def parts(id: Id) -> list[Part]:
        return [
            Part(leg.name, leg.raw(id), ranks.get(id), (k + 1) / (k + ranks[id]) if id in ranks else 0.0, weight)
            for leg, weight, ranks in legs
        ]

    return _ordered(ranked(id, *parts(id)) for id in keyword.scores.keys() | vector.scores.keys())


def convex(
    keyword: Leg[Id], vector: Leg[Id], weights: Weights, closeness: Callable[[float], float]
) -> Iterator[Ranked[Id]]:
    """Rank by a weighted sum of both scores on absolute scales. `closeness` scales a cosine to 0…1.

    This is an iterator, best hit first: a search returns a few of hundreds of candidates, and only those need objects.
    """
    scaled = weights.scaled()
    keyword_ranks, vector_ranks = keyword.ranks(), vector.ranks()
    bm25, cosines = keyword.all(), vector.all()
    by_keyword = {id: bm25_norm(score) for id, score in bm25.items()}
    by_vector = {id: closeness(cosine) for id, cosine in cosines.items()}

    def score(id: Id) -> float:
        return scaled.keyword * by_keyword.get(id, 0.0) + scaled.vector * by_vector.get(id, 0.0)

    found = keyword.scores.keys() | vector.scores.keys()
    order = sorted((-score(id), keyword_ranks.get(id, _LAST), id) for id in found)
    for _, _, id in order:
        yield ranked(
            id,
            Part("keyword", bm25.get(id), keyword_ranks.get(id), by_keyword.get(id, 0.0), scaled.keyword),
            Part("vector", cosines.get(id), vector_ranks.get(id), by_vector.get(id, 0.0), scaled.vector),
        )


def rescore(
    hits: Sequence[Ranked[Id]], best: Mapping[Id, float], closeness: Callable[[float], float]
) -> list[Ranked[Id]]:
    """Return the hits with cosines halfway between that of the whole chunk and that of its best segment.

    No score falls, so hits that were not rescored stay behind these.
    """

    def rescored(hit: Ranked[Id]) -> Ranked[Id]:
        whole, segment = hit.part("vector").raw, best.get(hit.id)
        if whole is None or segment is None:
            return hit
        raw = (whole + max(whole, segment)) / 2
        parts = (part._replace(raw=raw, norm=closeness(raw)) if part.leg == "vector" else part for part in hit.parts)
        return ranked(hit.id, *parts)

    return _ordered(map(rescored, hits))


def _ordered(hits: Iterable[Ranked[Id]]) -> list[Ranked[Id]]:
    """Sort best first. Equal scores are ordered by keyword rank (the first part), then by id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.parts[0].rank or _LAST, hit.id))
