"""Workspace search: recall → rank by the fixed formula → keep the ranking → show a page of it.

A ranking is kept under a cursor. Whoever reads on gets the next hits of that one, whatever happens to the documents;
further candidates are recalled when they are needed, and stand behind those that were ranked before.
"""

import asyncio
import logging
import time
from array import array
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from findspot import figures
from findspot.cursors import Cursors
from findspot.embeddings import Embeddings
from findspot.engines.protocol import EVERYTHING, Damaged, Engine, Recall, Within, Words
from findspot.errors import FindspotError, invalid
from findspot.gate import Deadline, Gate
from findspot.indexing import Indexing
from findspot.models import documents_namespace
from findspot.ranking import workspace
from findspot.ranking.normal import bm25_norm
from findspot.ranking.scores import LegName, keyword_leg, vector_leg
from findspot.ranking.workspace import Origin, Scored, Shown
from findspot.searching import CANDIDATES, GRACE_S, LONG_QUERY, NO_VECTOR, TIMEOUT_S, Ask, Mode, Searching
from findspot.showing import Result, Showing
from findspot.store import chunks as rows
from findspot.store.database import Store

if TYPE_CHECKING:
    import sqlalchemy as sa

    from findspot.words import Query

log = logging.getLogger(__name__)

T = TypeVar("T")

PAGE = 50
MOST_CANDIDATES = 10_000
WIDER = 4  # times as many candidates, whenever those that were ranked do not fill a page
MANY_WORDS = 32  # a query of more words is a text: no one expects to find all of them together


class Strategy(StrEnum):
    """By which legs documents are searched."""

    FTS = "fts"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"


_MODES = {Strategy.FTS: Mode.KEYWORD, Strategy.SEMANTIC: Mode.VECTOR, Strategy.HYBRID: Mode.HYBRID}


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


class Candidates(NamedTuple):
    """What the legs found, which of it holds every word of the query, and whether others may do so too."""

    recall: Recall
    full: Set[int]
    more_full: bool
    by_words: bool  # the keyword leg was asked
    by_meaning: bool
    code: str | None


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

    @property
    def looks_at_texts(self) -> bool:
        """Whether a look at its text decides if a candidate is a hit."""
        return bool(self.query.phrases or self.query.excluded)

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


class Finding:
    """Searches in the documents of a project."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        embeddings: Embeddings,
        indexing: Indexing,
        searching: Searching,
        showing: Showing,
        gate: Gate,
        query_hash: Callable[[str], str],
    ) -> None:
        self._store = store
        self._engine = engine
        self._embeddings = embeddings
        self._indexing = indexing
        self._searching = searching
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
        question = ranking.question
        limit = min(ranking.candidates * WIDER or CANDIDATES, MOST_CANDIDATES)
        found = await self._candidates(question, ranking.query, limit)
        origins = await self._origins(question, ranking.query, found.recall)
        hits = await self._ranked(ranking, found, origins)
        ranking.add(hits)
        if not ranking.candidates and hits and not ranking.looks_at_texts:
            ranking.first = min(len(ranking), PAGE)
        ranking.candidates, ranking.code = limit, found.code
        most = limit >= MOST_CANDIDATES or len(ranking) >= MOST_CANDIDATES
        ranking.complete = most or self._is_complete(question, found, limit)
        await self._count(ranking, found, hits)

    async def _candidates(self, question: Question, query: "Query", limit: int) -> Candidates:
        """What both legs find, or words alone where meaning fails."""
        mode = _MODES[question.strategy]
        ask = Ask(question.project_id, question.namespace, question.query, PAGE, mode, question.within)
        ask = replace(ask, typing=question.typing, timeout_s=question.timeout_s, candidates=limit)
        deadline = Deadline.within(question.timeout_s)
        try:
            recall, code = await self._searching.recall(ask, query, deadline)
        except FindspotError as error:
            if question.strategy is not Strategy.SEMANTIC or error.code not in NO_VECTOR:
                raise
            ask = replace(ask, mode=Mode.KEYWORD)
            (recall, _), code = await self._searching.recall(ask, query, Deadline.within(GRACE_S)), error.code
        by_words = ask.mode is not Mode.VECTOR
        full, more = await self._full(ask, query, recall) if by_words else (frozenset[int](), False)
        return Candidates(recall, full, more, by_words, ask.mode is not Mode.KEYWORD and code is None, code)

    async def _full(self, ask: Ask, query: "Query", recall: Recall) -> tuple[Set[int], bool]:
        """Which candidates hold every word, and whether chunks that are no candidates may."""
        matching = recall.keyword.keys() | recall.keyword_also.keys()
        terms = query.needed
        count = len(terms) + (query.prefix is not None)
        if count <= 1:
            return matching, True
        if count > MANY_WORDS or not matching:
            return frozenset(), False
        words, begun = Words(all_of=terms), Words(prefix=query.prefix, stems=query.stems)

        def look() -> tuple[Set[int], bool]:
            recalled = self._engine.recall(ask.namespace, words, None, limit=ask.candidates, within=ask.within)
            full, more = set(recalled.keyword), len(recalled.keyword) >= ask.candidates
            unsure = list(matching - full) if more else []
            full |= self._engine.scores(ask.namespace, words, unsure).keys()
            full &= matching
            if query.prefix:
                full &= self._engine.scores(ask.namespace, begun, list(full)).keys()
            return full, more

        return await self._asked(ask, look)

    async def _asked(self, ask: Ask, call: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(call)
        except Damaged as damage:
            raise self._searching.healing(ask, damage) from damage

    async def _origins(self, question: Question, query: "Query", recall: Recall) -> dict[int, Origin]:
        """The documents of those candidates that the store still has, and that hold what has to be there."""
        ids = [*recall.keyword, *(id for id in recall.vector if id not in recall.keyword)]
        if query.phrases and question.strategy is not Strategy.SEMANTIC:  # the others lack a word of it
            ids = [id for id in ids if id in recall.keyword or id in recall.keyword_also]

        def look(connection: "sa.Connection") -> dict[int, Origin]:
            owners = rows.owners(connection, question.namespace, ids)
            if query.phrases or query.excluded:
                accepted = _accepted(query, rows.texts(connection, list(owners)))
                owners = {id: owner for id, owner in owners.items() if id in accepted}
            return {id: Origin(*owner) for id, owner in owners.items()}

        return await self._store.ask(look)

    async def _ranked(self, ranking: Ranking, found: Candidates, origins: Mapping[int, Origin]) -> list[Scored[int]]:
        similarity = self._embeddings.embedder.calibration.score

        def rank() -> list[Scored[int]]:
            recall = found.recall
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

        return rank() if len(origins) <= 2 * CANDIDATES else await asyncio.to_thread(rank)

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

    async def _count(self, ranking: Ranking, found: Candidates, hits: Sequence[Scored[int]]) -> None:
        """How many chunks match: those that are hits, or as many as the engine counts if not all were recalled."""
        question, recall, query = ranking.question, found.recall, ranking.query
        cut = max(ranking.candidates, len(ranking)) >= MOST_CANDIDATES
        if ranking.complete and not cut:
            ranking.total, ranking.total_is_least = len(ranking), False
            return
        if ranking.looks_at_texts:  # what only these can tell is not counted beforehand
            ranking.total, ranking.total_is_least = len(ranking), True
            return
        if not found.by_words:
            counted = await self._vectors(question)
        elif len(recall.keyword) >= ranking.candidates:
            counted = await self._matches(question, query)
        else:
            counted = len(recall.keyword)
        by_meaning_alone = question.strategy is Strategy.HYBRID and found.by_meaning
        if by_meaning_alone:
            counted += sum(not hit.has_words for hit in hits)
        more = by_meaning_alone and not ranking.complete and len(recall.vector) >= ranking.candidates
        ranking.total = min(max(counted, len(ranking)), MOST_CANDIDATES)
        ranking.total_is_least = counted > MOST_CANDIDATES or more

    async def _matches(self, question: Question, query: "Query") -> int:
        ask = Ask(question.project_id, question.namespace, question.query, PAGE)
        words = Words(any_of=query.scored, prefix=query.prefix, stems=query.stems)
        return await self._asked(ask, lambda: self._engine.count(question.namespace, words, question.within))

    async def _vectors(self, question: Question) -> int:
        """By meaning, everything that has a vector is near or far."""
        if question.document_ids is None:
            ask = Ask(question.project_id, question.namespace, question.query, PAGE)
            return (await self._asked(ask, lambda: self._engine.status(question.namespace))).vectors
        async with self._store.read() as connection:
            return await rows.count_of_documents(connection, question.namespace, sorted(question.document_ids))


def _weights(question: Question, found: Candidates) -> Mapping[LegName, float]:
    if question.strategy is Strategy.HYBRID:
        return workspace.HYBRID
    return workspace.BY_MEANING if found.by_meaning else workspace.BY_WORDS


def _only(scores: Mapping[int, float], kept: Mapping[int, Any]) -> dict[int, float]:
    return {id: score for id, score in scores.items() if id in kept}


def _accepted(query: "Query", texts: Mapping[int, str]) -> set[int]:
    from findspot.words import accepts

    return {id for id, text in texts.items() if accepts(query, text)}
