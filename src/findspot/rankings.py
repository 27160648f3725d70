"""What is looked for in a project's documents, and the order of what was found: kept for whoever reads on."""

import asyncio
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from findspot.engines.protocol import EVERYTHING, Within
from findspot.gate import TIMEOUT_S
from findspot.models import documents_namespace
from findspot.ranking.workspace import Scored, Shown

if TYPE_CHECKING:
    from findspot.words import Query

PAGE = 50
MOST_CANDIDATES = 10_000


class Strategy(StrEnum):
    """By which legs documents are searched."""

    FTS = "fts"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for in a project's documents: in all of them, or in some."""

    project_id: int
    query: str
    strategy: Strategy = Strategy.HYBRID
    document_ids: frozenset[int] | None = None
    low_scores: bool = False
    typing: bool = False
    timeout_s: float = TIMEOUT_S

    @property
    def namespace(self) -> str:
        return documents_namespace(self.project_id)

    @property
    def within(self) -> Within:
        return EVERYTHING if self.document_ids is None else Within(document_ids=self.document_ids)

    @property
    def hides(self) -> bool:
        """Whether what scores too low is left out."""
        return self.strategy is Strategy.HYBRID and not self.low_scores

    def parsed(self) -> "Query":
        from findspot.words import parse

        return parse(self.query, typing=self.typing)


@dataclass(slots=True)
class Ranking:
    """Hits in their order, kept for whoever reads on. Whatever is added comes behind what was shown."""

    question: Question
    query: "Query"
    now: datetime
    ids: "array[int]" = field(default_factory=lambda: array("q"))
    scores: "array[float]" = field(default_factory=lambda: array("d"))  # keyword, vector and recency of each
    first: int = PAGE  # hits on the first page: what 200 candidates of each leg give, also if that does not fill it
    shown: int = 0  # hits that keep their places, because someone has seen them there
    candidates: int = 0  # how many of each leg were recalled
    complete: bool = False  # nothing more is to come
    total: int = 0
    total_is_least: bool = False
    code: str | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, hits: Sequence[Scored[int]]) -> None:
        """Rank what was found now behind what was shown, up to as many as are kept. What was found before, and is not
        any more, stays: only its last place is sure."""
        before, scores = self.ids[self.shown :], self.scores[3 * self.shown :]
        del self.ids[self.shown :], self.scores[3 * self.shown :]
        known = set(self.ids)
        for hit in hits:
            if hit.id not in known:
                self.ids.append(hit.id)
                self.scores.extend(hit.score[:3])
        known.update(self.ids)
        for place, id in enumerate(before):
            if id not in known:
                self.ids.append(id)
                self.scores.extend(scores[3 * place : 3 * place + 3])
        del self.ids[MOST_CANDIDATES:], self.scores[3 * MOST_CANDIDATES :]

    def end(self, number: int) -> int:
        """Where a page ends."""
        return self.first + (number - 1) * PAGE if number > 0 else 0

    def page(self, number: int) -> list[tuple[int, Shown]]:
        """The hits of a page, which stand from now on where they do."""
        places = range(self.end(number - 1), min(self.end(number), len(self)))
        self.shown = max(self.shown, places.stop)
        return [(self.ids[place], self._score(place)) for place in places]

    def _score(self, place: int) -> Shown:
        return Shown.of(*self.scores[3 * place : 3 * place + 3])
