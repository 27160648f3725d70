"""What goes in and what comes out: the hits of each leg, and one ranked list whose scores add up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple, TypeVar

Id = TypeVar("Id", bound=int | str)

LegName = Literal["keyword", "vector", "recency"]


@dataclass(frozen=True, slots=True)
class Leg(Generic[Id]):
    """What one leg recalled: raw scores by id, in any order. Keyword hits are BM25 scores, vector hits cosines.

    `also` are its scores of what only the other leg recalled: they count, but have no rank here.
    """

    name: LegName
    scores: Mapping[Id, float]
    also: Mapping[Id, float] = field(default_factory=dict)

    def raw(self, id: Id) -> float | None:
        return self.scores.get(id, self.also.get(id))

    def all(self) -> dict[Id, float]:
        """Every score that is known."""
        return {**self.also, **self.scores}

    def ranks(self) -> dict[Id, int]:
        """1 for the best. Equal scores are told apart by their ids, so that the order is always the same."""
        ordered = sorted(self.scores, key=lambda id: (-self.scores[id], id))
        return {id: rank for rank, id in enumerate(ordered, start=1)}


def keyword_leg(scores: Mapping[Id, float], also: Mapping[Id, float] | None = None) -> Leg[Id]:
    """A BM25 score of zero says that nothing matched: such a hit would only stand in others' way."""
    return Leg("keyword", {id: score for id, score in scores.items() if score > 0}, dict(also or {}))


def vector_leg(cosines: Mapping[Id, float], also: Mapping[Id, float] | None = None) -> Leg[Id]:
    return Leg("vector", dict(cosines), dict(also or {}))


class Part(NamedTuple):
    """One leg's share in a score: what it said, where that stands among its hits, and what it counts for."""

    leg: LegName
    raw: float | None
    rank: int | None
    norm: float
    weight: float

    @property
    def share(self) -> float:
        return self.weight * self.norm


class Ranked(NamedTuple, Generic[Id]):
    """A hit in its place. The shares of its parts add up to its score."""

    id: Id
    score: float
    parts: tuple[Part, ...]

    def part(self, leg: LegName) -> Part:
        return next(part for part in self.parts if part.leg == leg)


def ranked(id: Id, *parts: Part) -> Ranked[Id]:
    return Ranked(id, sum([part.weight * part.norm for part in parts]), parts)
