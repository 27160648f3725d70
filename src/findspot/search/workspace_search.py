"""Workspace search: recall → rank by the fixed formula → keep the ranking → show a page of it.

A ranking is kept under a cursor. Whoever reads on gets the next hits of that one, whatever happens to the documents;
further candidates are recalled when they are needed, and stand behind those that were ranked before.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from findspot.errors import FindspotError, invalid
from findspot.indexing.worker import Indexing
from findspot.ranking import workspace
from findspot.ranking.normal import bm25_norm
from findspot.ranking.scores import LegName, keyword_leg, vector_leg
from findspot.ranking.workspace import Scored
from findspot.runtime import metrics
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.limits import Deadline, Gate
from findspot.search import paging
from findspot.search.cursors import Cursors
from findspot.search.paging import Question, Ranking, Strategy
from findspot.search.recall import Candidates, Recalling
from findspot.search.results import Result, Showing
from findspot.search.table_search import CANDIDATES, GRACE_S, LONG_QUERY

log = logging.getLogger(__name__)

WIDER = 4  # times as many candidates, whenever those that were ranked do not fill a page


@dataclass(frozen=True, slots=True)
class Page:
    """Fifty results or fewer. `total` may be a lower bound. `code` says what could not be done, and then `fallback`
    what was done instead."""

    results: tuple[Result, ...]
    total: int
    total_is_least: bool
    is_cut: bool  # there are more candidates than are looked at
    has_more: bool
    page: int
    offset: int  # hits on the pages before
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
        with metrics.search(question.project_id, metrics.WORKSPACE) as noted:
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
        deadline = Deadline.within(question.timeout_s + 2 * GRACE_S)  # the last moments are for showing what was found
        with self._gate.search(question.project_id):
            name, ranking, following = self._kept(question, cursor) if cursor else await self._begun(question)
            number = page or following
            async with _in_time(deadline), ranking.turn:
                code, stuck = await self._fill(ranking, number, deadline.before(GRACE_S))
                hits = ranking.page(number)
            name = self._cursors.keep(question.project_id, ranking, name)
            code = code or next((ranking.codes[id] for id, _ in hits if id in ranking.codes), None)
            async with _in_time(deadline):
                results = await self._showing.show(question.namespace, ranking.query, hits)
            self._indexing.warmth.touch(each.found.chunk.id for each in results)
            return Page(
                results,
                ranking.total,
                ranking.total_is_least,
                ranking.cut,
                len(ranking) > ranking.end(number) or not (ranking.complete or stuck),
                number,
                min(ranking.end(number - 1), len(ranking)),
                f"{name}.{number + 1}",
                question.namespace in self._indexing.rebuilds,
                (time.perf_counter() - began) * 1000,
                "fts" if code else "none",
                code,
            )

    async def _fill(self, ranking: Ranking, number: int, deadline: Deadline) -> tuple[str | None, bool]:
        """Rank enough for a page, as far as there is time. Why that was by words alone, if it was, and whether there is
        nothing more for as long as that is so."""
        code = None
        while len(ranking) < ranking.end(number) and not ranking.complete:
            try:
                async with _in_time(deadline):
                    found = await self._widen(ranking, deadline)
            except FindspotError as error:
                if error.code != "SEARCH_TIMEOUT" or len(ranking) <= ranking.end(number - 1):
                    raise
                break  # a short page; the next one goes on from there
            code = found.code
            if found.is_all_by_words:
                return code, True
            if number == 1 and len(ranking) and not ranking.query.needs_text_check:
                break  # a first page ranks two hundred of each leg, be they enough or not
        return code, False

    def _kept(self, question: Question, cursor: str) -> tuple[str, Ranking, int]:
        """The ranking that a cursor stands for, and the page that comes next."""
        name, _, number = cursor.partition(".")
        ranking = self._cursors.get(question.project_id, name)
        if ranking is None or not (number.isascii() and number.isdigit() and len(number) < 8 and int(number)):
            raise invalid("cursor", "is unknown, or was not used for five minutes; search again without it")
        if replace(ranking.question, timeout_s=question.timeout_s) != question:
            raise invalid("cursor", "belongs to another search; send the same query with it, or none")
        return name, ranking, int(number)

    async def _begun(self, question: Question) -> tuple[str, Ranking, int]:
        long = len(question.query) > LONG_QUERY
        query = await asyncio.to_thread(question.parsed) if long else question.parsed()
        return "", Ranking(question, query, datetime.now(UTC), complete=query.is_empty), 1

    # ── ranking ──

    async def _widen(self, ranking: Ranking, deadline: Deadline) -> Candidates:
        """Recall more candidates and put those that are new behind the others."""
        limit = min(ranking.candidates * WIDER or CANDIDATES, paging.MOST_CANDIDATES)
        found = await self._recalling.recall(ranking, limit, deadline)
        hits = await self._ranked(ranking, found)
        ranking.add(hits, found.code)
        ranking.candidates = found.limit
        ranking.cut = found.cut or len(ranking) >= paging.MOST_CANDIDATES
        ranking.complete = found.limit >= paging.MOST_CANDIDATES or (
            found.code is None and self._is_complete(ranking.question, found)
        )
        ranking.total, ranking.total_is_least = _counted(ranking, found, hits)
        return found

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

    def _is_complete(self, question: Question, found: Candidates) -> bool:
        """Whether no chunk that was not recalled can be a hit. One that was not is worse in each leg than the last."""
        words, cosines = found.recall.keyword, found.recall.vector
        more_words, more_meaning = len(words) >= found.limit, len(cosines) >= found.limit
        if not (more_words or more_meaning):
            return True
        if not question.hides:
            return False
        weights = workspace.scaled_up(workspace.HYBRID, keyword=found.by_words, vector=found.by_meaning)
        last = min((score for id, score in words.items() if found.more_full or id not in found.full), default=0.0)
        by_words = bm25_norm(last, full_match=found.more_full) if more_words else 0.0
        similarity = self._embeddings.embedder.calibration.score
        by_meaning = similarity(min(cosines.values())) if more_meaning else 0.0
        best = weights.keyword * by_words + weights.vector * by_meaning + weights.recency
        return best < workspace.HIDES_BELOW


def _counted(ranking: Ranking, found: Candidates, hits: Sequence[Scored[int]]) -> tuple[int, bool]:
    """How many chunks match: those that are hits, or as many as were counted if not all were recalled; and whether that
    is the least that there are."""
    if ranking.complete and not ranking.cut:
        return len(ranking), False
    by_words_alone = len(ranking.codes) == len(ranking)
    if found.is_all_by_words and by_words_alone:
        return len(ranking), False
    if ranking.query.needs_text_check:  # what only these can tell is not counted beforehand
        return len(ranking), True
    most = paging.MOST_CANDIDATES
    by_meaning_alone = ranking.question.strategy is Strategy.HYBRID and found.by_meaning
    counted = found.matches + (sum(not hit.has_words for hit in hits) if by_meaning_alone else 0)
    more = by_meaning_alone and not ranking.complete and len(found.recall.vector) >= found.limit
    return min(max(counted, len(ranking)), most), counted > most or more or (
        found.code is not None and not by_words_alone
    )


@asynccontextmanager
async def _in_time(deadline: Deadline) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(deadline.left_s):
            yield
    except TimeoutError:
        raise FindspotError("SEARCH_TIMEOUT", "The search took too long and was stopped.") from None


def _weights(question: Question, found: Candidates) -> Mapping[LegName, float]:
    if question.strategy is Strategy.HYBRID:
        return workspace.HYBRID
    return workspace.BY_MEANING if found.by_meaning else workspace.BY_WORDS


def _only(scores: Mapping[int, float], kept: Mapping[int, Any]) -> dict[int, float]:
    return {id: score for id, score in scores.items() if id in kept}
