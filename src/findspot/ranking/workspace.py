"""The workspace's formula: 0.55·bm25Norm + 0.35·semantic + 0.10·recency. No request can change its weights."""

from collections.abc import Callable, Mapping, Set
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from findspot.ranking.normal import bm25_norm, recency
from findspot.ranking.scores import Leg, LegName, Part, Ranked, ranked

Id = TypeVar("Id", bound=int | str)

DIGITS = 6  # of a score as it is shown
HIDES_BELOW = 0.25  # in a hybrid search

HYBRID: Mapping[LegName, float] = {"keyword": 0.55, "vector": 0.35, "recency": 0.10}
BY_KEYWORD: Mapping[LegName, float] = {"keyword": 1.0, "vector": 0.0, "recency": 0.0}
BY_VECTOR: Mapping[LegName, float] = {"keyword": 0.0, "vector": 1.0, "recency": 0.0}


class Origin(NamedTuple):
    """The document that a chunk was cut from, and when that was changed last."""

    document_id: int
    updated_at: datetime


class Shown(NamedTuple):
    """A score as people see it: rounded shares, and a total that is their sum to the last digit."""

    keyword: float
    vector: float
    recency: float
    total: float

    @classmethod
    def of(cls, keyword: float, vector: float, recency: float) -> "Shown":
        return cls(keyword, vector, recency, round(keyword + vector + recency, DIGITS))


class Scored(NamedTuple, Generic[Id]):
    """A hit in its place, and whether a word of the query stands in it."""

    id: Id
    score: Shown
    has_words: bool


def rank(
    keyword: Leg[Id] | None,
    vector: Leg[Id] | None,
    similarity: Callable[[float], float],
    origins: Mapping[Id, Origin],
    now: datetime,
    full_matches: Set[Id] = frozenset(),
    weights: Mapping[LegName, float] = HYBRID,
) -> list[Scored[Id]]:
    """What the legs found, the best first. Of those whose scores are shown alike the newer comes first, then the one
    with the smaller ids. A leg that is down (None) leaves its weight to the others."""
    words, meaning, fresh = scaled_up(weights, keyword=keyword is not None, vector=vector is not None)
    moments = {moment for _, moment in origins.values()}
    shares = {moment: (round(fresh * recency(moment, now), DIGITS), -moment.timestamp()) for moment in moments}
    raw, cosines = (leg.all() if leg else {} for leg in (keyword, vector))
    ids = (keyword.scores.keys() if keyword else set()) | (vector.scores.keys() if vector else set())
    hits: list[tuple[float, float, int, Id, Shown]] = []
    for id in ids:
        score, cosine = raw.get(id), cosines.get(id)
        by_words = round(words * bm25_norm(score, full_match=id in full_matches), DIGITS) if score else 0.0
        by_meaning = 0.0 if cosine is None else round(meaning * similarity(cosine), DIGITS)
        document_id, moment = origins[id]
        by_age, age = shares[moment]
        total = round(by_words + by_meaning + by_age, DIGITS)
        hits.append((-total, age, document_id, id, Shown(by_words, by_meaning, by_age, total)))
    hits.sort()  # of equal hits in one document the id decides, which comes first in it
    return [Scored(id, shown, id in raw) for *_, id, shown in hits]


def explained(
    id: Id,
    keyword: Leg[Id],
    vector: Leg[Id] | None,
    similarity: Callable[[float], float],
    fresh: float,
    *,
    full_match: bool,
) -> Ranked[Id]:
    """The score of one hit in a hybrid search with all its parts, be it among those of a leg or not. `fresh` is its
    recency."""
    weights = scaled_up(HYBRID, keyword=True, vector=vector is not None)
    raw, cosine = keyword.raw(id), vector.raw(id) if vector else None
    rank = vector.ranks().get(id) if vector else None
    words = bm25_norm(raw or 0.0, full_match=full_match)
    return ranked(
        id,
        Part("keyword", raw, keyword.ranks().get(id), words, weights.keyword),
        Part("vector", cosine, rank, 0.0 if cosine is None else similarity(cosine), weights.vector),
        Part("recency", None, None, fresh, weights.recency),
    )


def shown(hit: Ranked[Id]) -> Shown:
    """How a hit with all three parts is shown."""
    return Shown.of(*(round(part.share, DIGITS) for part in hit.parts))


class Weighted(NamedTuple):
    """What each part counts for; together 1."""

    keyword: float
    vector: float
    recency: float


def scaled_up(weights: Mapping[LegName, float], *, keyword: bool, vector: bool) -> Weighted:
    """The weights when only these legs are up."""
    up = weights["keyword"] * keyword, weights["vector"] * vector, weights["recency"]
    return Weighted(*(weight / (sum(up) or 1.0) for weight in up))
