"""Two legs, one order: by rank (RRF), by score (convex), and the workspace's fixed formula."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from findspot.ranking.normal import bm25_norm, recency
from findspot.ranking.scores import Leg, LegName, Origin, Part, Ranked, ranked, shown

Id = TypeVar("Id", bound=int | str)

RRF_K = 60
CLOSER_LOOK = 12  # so many of the best hits are looked at closer, in stretches of so many characters
STRETCH = 150
_LAST = 1 << 62

# Fixed by the product's owner; a request cannot change them.
WORKSPACE_WEIGHTS: Mapping[LegName, float] = {"keyword": 0.55, "vector": 0.35, "recency": 0.10}
WORKSPACE_HIDES_BELOW = 0.25
BY_WORDS: Mapping[LegName, float] = {"keyword": 1.0, "vector": 0.0, "recency": 0.0}
BY_MEANING: Mapping[LegName, float] = {"keyword": 0.0, "vector": 1.0, "recency": 0.0}


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
) -> list[Ranked[Id]]:
    """A weighted sum of both scores on their absolute scales; `closeness` puts a cosine on its own."""
    scaled = weights.scaled()
    keyword_ranks, vector_ranks = keyword.ranks(), vector.ranks()

    def hit(id: Id) -> Ranked[Id]:
        bm25, cosine = keyword.raw(id), vector.raw(id)
        return ranked(
            id,
            Part("keyword", bm25, keyword_ranks.get(id), bm25_norm(bm25 or 0.0), scaled.keyword),
            Part("vector", cosine, vector_ranks.get(id), 0.0 if cosine is None else closeness(cosine), scaled.vector),
        )

    return _ordered(map(hit, keyword.scores.keys() | vector.scores.keys()))


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
    origins: Mapping[Id, Origin],
    now: datetime,
    full_matches: Set[Id] = frozenset(),
    weights: Mapping[LegName, float] = WORKSPACE_WEIGHTS,
) -> list[Ranked[Id]]:
    """0.55·bm25Norm + 0.35·semantic + 0.10·recency, or one leg alone. Equal as they are shown, the newer comes first,
    then the smaller ids."""
    scaled = scaled_up(weights, keyword=keyword is not None, vector=vector is not None)
    keyword_ranks = keyword.ranks() if keyword else {}
    vector_ranks = vector.ranks() if vector else {}
    fresh = {moment: recency(moment, now) for moment in {origin.updated_at for origin in origins.values()}}

    def hit(id: Id) -> Ranked[Id]:
        raw = keyword.raw(id) if keyword else None
        cosine = vector.raw(id) if vector else None
        return ranked(
            id,
            _words_part(raw, keyword_ranks.get(id), scaled, full_match=id in full_matches),
            _meaning_part(cosine, vector_ranks.get(id), scaled, similarity),
            Part("recency", None, None, fresh[origins[id].updated_at], scaled["recency"]),
        )

    def place(hit: Ranked[Id]) -> tuple[float, float, int, Id]:
        origin = origins[hit.id]
        return -shown(hit).total, -origin.updated_at.timestamp(), origin.document_id, hit.id

    return sorted(map(hit, keyword_ranks.keys() | vector_ranks.keys()), key=place)


def workspace_alone(
    id: Id,
    keyword: Leg[Id],
    vector: Leg[Id] | None,
    similarity: Callable[[float], float],
    fresh: float,
    *,
    full_match: bool,
) -> Ranked[Id]:
    """What the workspace formula gives one hit, be it among those of a leg or not. `fresh` is its recency."""
    scaled = scaled_up(WORKSPACE_WEIGHTS, keyword=True, vector=vector is not None)
    cosine, rank = (vector.raw(id), vector.ranks().get(id)) if vector else (None, None)
    return ranked(
        id,
        _words_part(keyword.raw(id), keyword.ranks().get(id), scaled, full_match=full_match),
        _meaning_part(cosine, rank, scaled, similarity),
        Part("recency", None, None, fresh, scaled["recency"]),
    )


def _words_part(raw: float | None, rank: int | None, weights: Mapping[LegName, float], *, full_match: bool) -> Part:
    return Part("keyword", raw, rank, bm25_norm(raw or 0.0, full_match=full_match), weights["keyword"])


def _meaning_part(
    cosine: float | None, rank: int | None, weights: Mapping[LegName, float], similarity: Callable[[float], float]
) -> Part:
    return Part("vector", cosine, rank, 0.0 if cosine is None else similarity(cosine), weights["vector"])


def scaled_up(weights: Mapping[LegName, float], *, keyword: bool, vector: bool) -> dict[LegName, float]:
    """The weights when only these legs are up: one that is down leaves its weight to the others."""
    up: dict[LegName, bool] = {"keyword": keyword, "vector": vector, "recency": True}
    total = sum(weight for leg, weight in weights.items() if up[leg])
    return {leg: weight / total if up[leg] and total else 0.0 for leg, weight in weights.items()}


def _ordered(hits: Iterable[Ranked[Id]]) -> list[Ranked[Id]]:
    """Best first. Of two with one score, the one that keywords (the first part) put first, then by id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.parts[0].rank or _LAST, hit.id))
