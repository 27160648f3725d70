"""Two legs, one order: by rank (RRF), or by score (convex)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from findspot.ranking.normal import bm25_norm
from findspot.ranking.scores import Leg, Part, Ranked, ranked

Id = TypeVar("Id", bound=int | str)

RRF_K = 60
SEGMENTED_HITS = 12  # so many of the best hits are looked at closer, in stretches of so many characters
SEGMENT_LENGTH = 150
_LAST = 1 << 62


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each leg counts. Only their proportion matters: they are scaled to add up to 1."""

    keyword: float
    vector: float

    def scaled(self) -> "Weights":
        total = self.keyword + self.vector
        if total <= 0:
            raise ValueError("at least one leg must count for something")
        return Weights(self.keyword / total, self.vector / total)


def rrf(keyword: Leg[Id], vector: Leg[Id], weights: Weights, k: int = RRF_K) -> list[Ranked[Id]]:
    """Weighted reciprocal ranks, scaled so that first in every leg is 1.0."""
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
    """A weighted sum of both scores on their absolute scales; `closeness` puts a cosine on its own.

    Hits come one by one, the best first: of hundreds of candidates a search shows a few, and the rest are never more
    than numbers.
    """
    scaled = weights.scaled()
    keyword_ranks, vector_ranks = keyword.ranks(), vector.ranks()
    bm25, cosines = keyword.all(), vector.all()
    words = {id: bm25_norm(score) for id, score in bm25.items()}
    meanings = {id: closeness(cosine) for id, cosine in cosines.items()}

    def score(id: Id) -> float:
        return scaled.keyword * words.get(id, 0.0) + scaled.vector * meanings.get(id, 0.0)

    found = keyword.scores.keys() | vector.scores.keys()
    order = sorted((-score(id), keyword_ranks.get(id, _LAST), id) for id in found)
    for _, _, id in order:
        yield ranked(
            id,
            Part("keyword", bm25.get(id), keyword_ranks.get(id), words.get(id, 0.0), scaled.keyword),
            Part("vector", cosines.get(id), vector_ranks.get(id), meanings.get(id, 0.0), scaled.vector),
        )


def rescore(
    hits: Sequence[Ranked[Id]], best: Mapping[Id, float], closeness: Callable[[float], float]
) -> list[Ranked[Id]]:
    """The same hits, each with a cosine halfway between that of the whole and that of its best stretch.

    A stretch can only speak for a hit: no score falls, so whatever was not looked at stays behind these.
    """

    def closer(hit: Ranked[Id]) -> Ranked[Id]:
        whole, stretch = hit.part("vector").raw, best.get(hit.id)
        if whole is None or stretch is None:
            return hit
        raw = (whole + max(whole, stretch)) / 2
        parts = (part._replace(raw=raw, norm=closeness(raw)) if part.leg == "vector" else part for part in hit.parts)
        return ranked(hit.id, *parts)

    return _ordered(map(closer, hits))


def _ordered(hits: Iterable[Ranked[Id]]) -> list[Ranked[Id]]:
    """Best first. Of two with one score, the one that keywords (the first part) put first, then by id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.parts[0].rank or _LAST, hit.id))
