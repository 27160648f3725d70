"""Two legs, one order: by rank (RRF), by score (convex), and the workspace's fixed formula."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from findspot.ranking.normal import bm25_norm, recency
from findspot.ranking.scores import Leg, LegName, Part, Ranked, ranked

Id = TypeVar("Id", bound=int | str)

RRF_K = 60
CLOSER_LOOK = 12  # so many of the best hits are looked at closer, in stretches of so many characters
STRETCH = 150
_LAST = 1 << 62

# Fixed by the product's owner; a request cannot change them.
WORKSPACE_WEIGHTS: Mapping[LegName, float] = {"keyword": 0.55, "vector": 0.35, "recency": 0.10}
WORKSPACE_HIDES_BELOW = 0.25


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
    bm25, cosines = {**keyword.also, **keyword.scores}, {**vector.also, **vector.scores}
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


def look_closer(
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


def workspace(
    keyword: Leg[Id] | None,
    vector: Leg[Id] | None,
    similarity: Callable[[float], float],
    updated_at: Mapping[Id, datetime],
    now: datetime,
    full_matches: Set[Id] = frozenset(),
) -> list[Ranked[Id]]:
    """0.55·bm25Norm + 0.35·semantic + 0.10·recency. A leg that is down (None) leaves its weight to the others."""
    up = {"keyword": keyword is not None, "vector": vector is not None, "recency": True}
    total = sum(weight for leg, weight in WORKSPACE_WEIGHTS.items() if up[leg])
    weights = {leg: weight / total if up[leg] else 0.0 for leg, weight in WORKSPACE_WEIGHTS.items()}
    keyword_ranks = keyword.ranks() if keyword else {}
    vector_ranks = vector.ranks() if vector else {}

    def parts(id: Id) -> list[Part]:
        raw = keyword.raw(id) if keyword else None
        cosine = vector.raw(id) if vector else None
        words = bm25_norm(raw or 0.0, full_match=id in full_matches)
        meaning = 0.0 if cosine is None else similarity(cosine)
        return [
            Part("keyword", raw, keyword_ranks.get(id), words, weights["keyword"]),
            Part("vector", cosine, vector_ranks.get(id), meaning, weights["vector"]),
            Part("recency", None, None, recency(updated_at[id], now), weights["recency"]),
        ]

    found = [ranked(id, *parts(id)) for id in keyword_ranks.keys() | vector_ranks.keys()]
    return sorted(found, key=lambda hit: (-hit.score, -updated_at[hit.id].timestamp(), hit.id))


def _ordered(hits: Iterable[Ranked[Id]]) -> list[Ranked[Id]]:
    """Best first. Of two with one score, the one that keywords (the first part) put first, then by id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.parts[0].rank or _LAST, hit.id))
