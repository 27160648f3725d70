"""What is looked for in a project's documents, and the order of what was found: kept for whoever reads on."""

import asyncio
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from findspot.engines.protocol import EVERYTHING, Within
from findspot.models import documents_namespace
from findspot.ranking.workspace import Scored, Shown
from findspot.runtime.limits import TIMEOUT_S

if TYPE_CHECKING:
    from findspot.words import Query

PAGE = 50
MOST_CANDIDATES = 10_000
MOST_READ = 10_001  # characters of a query; what is behind them is not kept, since no one reads it


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

    def __post_init__(self) -> None:
        if len(self.query) > MOST_READ:
            object.__setattr__(self, "query", self.query[:MOST_READ])

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
    ends: list[int] = field(default_factory=list)  # where each page ends that was shown: its hits keep their places
    refused: set[int] = field(default_factory=set)  # candidates whose texts are not what is looked for
    candidates: int = 0  # how many of each leg were recalled
    complete: bool = False  # nothing more is to come
    total: int = 0
    total_is_least: bool = False
    cut: bool = False  # there are more candidates than are looked at
    codes: dict[int, str] = field(default_factory=dict)  # why hits were found by words alone, by their ids
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def weight(self) -> int:
        """About how many numbers are kept."""
        asked = len(self.question.query) + len(self.question.document_ids or ())
        return 100 + asked + 4 * len(self.ids) + len(self.refused) + len(self.codes) + len(self.ends)

    @property
    def shown(self) -> int:
        """How many hits keep their places."""
        return self.ends[-1] if self.ends else 0

    def add(self, hits: Sequence[Scored[int]], code: str | None = None) -> None:
        """Rank what was found now behind what was shown, up to as many as are kept. What was found before, and is not
        any more, stays: only its last place is sure. What was found by words alone stands behind everything else: its
        scores are others."""
        kept = len(self) if code else self.shown
        ids, scores = self.ids[kept:], self.scores[3 * kept :]
        del self.ids[kept:], self.scores[3 * kept :]
        known = set(self.ids)
        new = [hit for hit in hits if hit.id not in known]
        self.ids.extend(hit.id for hit in new)
        self.scores.extend(number for hit in new for number in hit.score[:3])
        known.update(self.ids)
        for place, id in enumerate(ids):
            if id not in known:
                self.ids.append(id)
                self.scores.extend(scores[3 * place : 3 * place + 3])
        del self.ids[MOST_CANDIDATES:], self.scores[3 * MOST_CANDIDATES :]
        for hit in new:
            self.codes.pop(hit.id, None)
        self.codes |= {hit.id: code for hit in new} if code else {}

    def end(self, number: int) -> int:
        """Where a page ends, or would if there were enough hits."""
        if number <= len(self.ends):
            return self.ends[number - 1] if number else 0
        return self.shown + (number - len(self.ends)) * PAGE

    def page(self, number: int) -> list[tuple[int, Shown]]:
        """The hits of a page, which stand from now on where they do, as all before them."""
        while len(self.ends) < number and self.shown < len(self):
            self.ends.append(min(self.shown + PAGE, len(self)))
        places = range(self.end(number - 1), min(self.end(number), len(self)))
        return [(self.ids[place], self._score(place)) for place in places]

    def _score(self, place: int) -> Shown:
        return Shown.of(*self.scores[3 * place : 3 * place + 3])
