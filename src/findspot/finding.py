"""Workspace search: recall → rank by the fixed formula → keep the ranking → show a page of it.

A ranking is kept under a cursor. Whoever reads on gets the next hits of that one, whatever happens to the documents;
further candidates are recalled when they are needed, and stand behind those that were ranked before.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from findspot import figures, rankings
from findspot.candidates import Candidates, Recalling
from findspot.cursors import Cursors
from findspot.embeddings import Embeddings
from findspot.errors import invalid
from findspot.gate import Gate
from findspot.indexing import Indexing
from findspot.ranking import workspace
from findspot.ranking.normal import bm25_norm
from findspot.ranking.scores import LegName, keyword_leg, vector_leg
from findspot.ranking.workspace import Scored
from findspot.rankings import Question, Ranking, Strategy
from findspot.searching import CANDIDATES, LONG_QUERY
from findspot.showing import Result, Showing

log = logging.getLogger(__name__)

WIDER = 4  # times as many candidates, whenever those that were ranked do not fill a page


@dataclass(frozen=True, slots=True)
class Page:
    """Fifty results or fewer. `total` may be a lower bound. `code` says what could not be done, and then `fallback`
    what was done instead."""

    results: tuple[Result, ...]
    total: int
    total_is_least: bool
    has_more: bool
    page: int
    cursor: str
    rebuilding: bool
    took_ms: float
    fallback: Literal["none", "fts"] = "none"
    code: str | None = None


class Finding:
    """Searches in the documents of a project."""

    def __init__(
        self,
        recalling: Recalling,
        embeddings: Embeddings,
        indexing: Indexing,
        showing: Showing,
        gate: Gate,
        query_hash: Callable[[str], str],
    ) -> None:
        self._recalling = recalling
        self._embeddings = embeddings
        self._indexing = indexing
        self._showing = showing
        self._gate = gate
        self._query_hash = query_hash
        self._cursors: Cursors[Ranking] = Cursors()

    async def find(self, question: Question, page: int | None = None, cursor: str | None = None) -> Page:
        """A page of what is found: the first one, unless another is named by its number or by the cursor."""
        with figures.search(figures.WORKSPACE) as noted:
            found = await self._found(question, page, cursor)
            noted(len(found.results), found.code)
        log.info(
            "%s search in project %d for %s: %d of %d results in %.1f ms, %s",
            question.strategy,
            question.project_id,
            self._query_hash(question.query),
            len(found.results),
            found.total,
            found.took_ms,
            found.code or "success",
        )
        return found

    async def _found(self, question: Question, page: int | None, cursor: str | None) -> Page:
        began = time.perf_counter()
        with self._gate.search(question.project_id):
            name, ranking, following = self._kept(question, cursor) if cursor else await self._begun(question)
            number = page or following
            async with ranking.turn:
                while len(ranking) < ranking.end(number) and not ranking.complete:
                    await self._widen(ranking)
            name = name or self._cursors.keep(question.project_id, ranking)
            results = await self._showing.show(question.namespace, ranking.query, ranking.page(number))
            self._indexing.warmth.touch(each.found.chunk.id for each in results)
            return Page(
                results,
                ranking.total,
                ranking.total_is_least,
                len(ranking) > ranking.end(number) or not ranking.complete,
                number,
                f"{name}.{number + 1}",
                question.namespace in self._indexing.rebuilds,
                (time.perf_counter() - began) * 1000,
                "fts" if ranking.code else "none",
                ranking.code,
            )

    def _kept(self, question: Question, cursor: str) -> tuple[str, Ranking, int]:
        """The ranking that a cursor stands for, and the page that comes next."""
        name, _, number = cursor.partition(".")
        ranking = self._cursors.get(question.project_id, name)
        if ranking is None or not (number.isascii() and number.isdigit() and len(number) < 7 and int(number)):
            raise invalid("cursor", "is unknown, or was not used for five minutes; search again without it")
        if replace(ranking.question, timeout_s=question.timeout_s) != question:
            raise invalid("cursor", "belongs to another search; send the same query with it, or none")
        return name, ranking, int(number)

    async def _begun(self, question: Question) -> tuple[str, Ranking, int]:
        long = len(question.query) > LONG_QUERY
        query = await asyncio.to_thread(question.parsed) if long else question.parsed()
        return "", Ranking(question, query, datetime.now(UTC), complete=query.is_empty), 1

    # ── ranking ──

    async def _widen(self, ranking: Ranking) -> None:
        """Recall more candidates and put those that are new behind the others."""
        limit = min(ranking.candidates * WIDER or CANDIDATES, rankings.MOST_CANDIDATES)
        found = await self._recalling.recall(ranking.question, ranking.query, limit)
        hits = await self._ranked(ranking, found)
        ranking.add(hits)
        if not ranking.candidates and hits and not ranking.query.looks_at_texts:
            ranking.first = min(len(ranking), rankings.PAGE)
        ranking.candidates, ranking.code = limit, found.code
        most = max(limit, len(ranking)) >= rankings.MOST_CANDIDATES
        ranking.complete = most or self._is_complete(ranking.question, found, limit)
        ranking.total, ranking.total_is_least = _counted(ranking, found, hits)

    async def _ranked(self, ranking: Ranking, found: Candidates) -> list[Scored[int]]:
        similarity = self._embeddings.embedder.calibration.score

        def rank() -> list[Scored[int]]:
            recall, origins = found.recall, found.origins
            keyword = keyword_leg(_only(recall.keyword, origins), recall.keyword_also)
            vector = vector_leg(_only(recall.vector, origins), recall.vector_also)
            hits = workspace.rank(
                keyword if found.by_words else None,
                vector if found.by_meaning else None,
                similarity,
                origins,
                ranking.now,
                found.full,
                _weights(ranking.question, found),
            )
            least = workspace.HIDES_BELOW if ranking.question.hides else 0.0
            return [hit for hit in hits if hit.score.total >= least]

        return rank() if len(found.origins) <= 2 * CANDIDATES else await asyncio.to_thread(rank)

    def _is_complete(self, question: Question, found: Candidates, limit: int) -> bool:
        """Whether no chunk that was not recalled can be a hit. One that was not is worse in each leg than the last."""
        recall = found.recall
        more_words, more_meaning = len(recall.keyword) >= limit, len(recall.vector) >= limit
        if not (more_words or more_meaning):
            return True
        if not question.hides:
            return False
        weights = workspace.scaled_up(workspace.HYBRID, keyword=found.by_words, vector=found.by_meaning)
        words = bm25_norm(min(recall.keyword.values()), full_match=found.more_full) if more_words else 0.0
        similarity = self._embeddings.embedder.calibration.score
        meaning = similarity(min(recall.vector.values())) if more_meaning else 0.0
        best = weights.keyword * words + weights.vector * meaning + weights.recency
        return best < workspace.HIDES_BELOW


def _counted(ranking: Ranking, found: Candidates, hits: Sequence[Scored[int]]) -> tuple[int, bool]:
    """How many chunks match: those that are hits, or as many as were counted if not all were recalled; and whether that
    is the least that there are."""
    most = rankings.MOST_CANDIDATES
    if ranking.complete and max(ranking.candidates, len(ranking)) < most:
        return len(ranking), False
    if ranking.query.looks_at_texts:  # what only these can tell is not counted beforehand
        return len(ranking), True
    by_meaning_alone = ranking.question.strategy is Strategy.HYBRID and found.by_meaning
    counted = found.matches + (sum(not hit.has_words for hit in hits) if by_meaning_alone else 0)
    more = by_meaning_alone and not ranking.complete and len(found.recall.vector) >= ranking.candidates
    return min(max(counted, len(ranking)), most), counted > most or more


def _weights(question: Question, found: Candidates) -> Mapping[LegName, float]:
    if question.strategy is Strategy.HYBRID:
        return workspace.HYBRID
    return workspace.BY_MEANING if found.by_meaning else workspace.BY_WORDS


def _only(scores: Mapping[int, float], kept: Mapping[int, Any]) -> dict[int, float]:
    return {id: score for id, score in scores.items() if id in kept}
