"""The input and output of ranking: the scores of each leg, and hits whose score is the sum of its parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple, TypeVar

Id = TypeVar("Id", bound=int | str)

LegName = Literal["keyword", "vector", "recency", "word_similarity", "document"]

# The closer look at a chunk: the cosine of its best segment, and its word similarity from 0 to 1 (docs/ranking.md).
Look = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Leg(Generic[Id]):
    """The raw scores of one leg by id: BM25 scores or cosines.

    `also` has the scores of hits that only the other leg recalled. They count, but have no rank here.
    """

    name: LegName
    scores: Mapping[Id, float]
    also: Mapping[Id, float] = field(default_factory=dict)

    def raw(self, id: Id) -> float | None:
        return self.scores.get(id, self.also.get(id))

    def all(self) -> dict[Id, float]:
        """Return every known score, of recalled hits and others."""
        return {**self.also, **self.scores}

    def ranks(self) -> dict[Id, int]:
        """Return the ranks from 1 for the best. Equal scores are ordered by id, so the order is always the same."""
        ordered = sorted([(-score, id) for id, score in self.scores.items()])
        return {id: rank for rank, (_, id) in enumerate(ordered, start=1)}


def keyword_leg(scores: Mapping[Id, float], also: Mapping[Id, float] | None = None) -> Leg[Id]:
    """Return the leg without hits that score zero: nothing matched there."""
    return Leg("keyword", {id: score for id, score in scores.items() if score > 0}, dict(also or {}))


def vector_leg(cosines: Mapping[Id, float], also: Mapping[Id, float] | None = None) -> Leg[Id]:
    return Leg("vector", dict(cosines), dict(also or {}))


class Part(NamedTuple):
    """The part of a score that one leg contributes: its raw score, its rank, that score on 0…1, and its weight."""

    leg: LegName
    raw: float | None
    rank: int | None
    norm: float
    weight: float

    @property
    def share(self) -> float:
        return self.weight * self.norm


class Ranked(NamedTuple, Generic[Id]):
    """A hit with its score, which is the sum of the shares of its parts."""

    id: Id
    score: float
    parts: tuple[Part, ...]

    def part(self, leg: LegName) -> Part:
        return next(part for part in self.parts if part.leg == leg)


def halfway(cosine: float, segment: float) -> float:
    """Return the cosine halfway between that of a whole chunk and that of its best segment, if that is better."""
    return (cosine + max(cosine, segment)) / 2


def ranked(id: Id, *parts: Part) -> Ranked[Id]:
    return Ranked(id, sum([part.weight * part.norm for part in parts]), parts)
