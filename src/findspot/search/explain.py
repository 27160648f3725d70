"""Why does a passage have the score it has? Its words, both legs, ranks and age."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal

from findspot.engines.protocol import Engine, Recall, Words
from findspot.errors import not_found
from findspot.models import ChunkRow, FoundChunk, documents_namespace
from findspot.ranking import workspace
from findspot.ranking.normal import recency
from findspot.ranking.scores import Ranked, keyword_leg, vector_leg
from findspot.ranking.workspace import Shown
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.limits import Deadline, Gate
from findspot.search.paging import MOST_CANDIDATES
from findspot.search.recall import MANY_WORDS
from findspot.search.table_search import Ask, Searching, sought
from findspot.store import chunks as rows
from findspot.store.database import Store

if TYPE_CHECKING:
    from findspot.words import Coverage, Query


@dataclass(frozen=True, slots=True)
class Matched:
    """A word of the query that stands in a passage: as it is written there, and its share of the BM25 score."""

    word: str
    weight: float


@dataclass(frozen=True, slots=True)
class Explained:
    """A hit taken apart. The parts of `ranked` are both legs and recency, raw and normalised."""

    found: FoundChunk
    ranked: Ranked[int]
    score: Shown
    matched: tuple[Matched, ...]
    coverage: "Coverage"  # what the passage has of the query, as people count
    full_match: bool
    is_left_out: bool  # it lacks a phrase, or holds what is excluded
    age: timedelta
    fallback: Literal["none", "fts"] = "none"
    code: str | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether a hybrid search leaves it out unless low scores are asked for."""
        return self.is_left_out or self.score.total < workspace.HIDES_BELOW


class Explaining:
    """Explains the score that a hybrid search gives."""

    def __init__(self, store: Store, engine: Engine, embeddings: Embeddings, searching: Searching, gate: Gate) -> None:
        self._store = store
        self._engine = engine
        self._embeddings = embeddings
        self._searching = searching
        self._gate = gate

    async def explain(
        self, project_id: int, text: str, document_id: int, chunk_id: int, *, typing: bool = False
    ) -> Explained:
        """Take the score of one passage apart."""
        from findspot.words import parse

        namespace = documents_namespace(project_id)
        async with self._store.read() as connection:
            found = (await connection.run_sync(rows.found, [chunk_id])).get(chunk_id)
        if found is None or found.chunk.namespace != namespace or found.chunk.document_id != document_id:
            raise not_found("passage")
        query = await asyncio.to_thread(partial(parse, text, typing=typing))
        ask = Ask(project_id, namespace, text, 1, candidates=MOST_CANDIDATES)
        with self._gate.search(project_id):
            recall, code = await self._recall(ask, query, found.chunk)
            weights = await self._weights(ask, query, found.chunk)
        return await asyncio.to_thread(self._explained, found, query, recall, weights, code)

    async def _recall(self, ask: Ask, query: "Query", chunk: ChunkRow) -> tuple[Recall, str | None]:
        """What each leg finds, whatever is excluded. The passage has its scores also where it is not among it."""
        words = replace(sought(query), none_of=())
        recall, code = await self._searching.recall(ask, query, Deadline.within(ask.timeout_s), words)
        if chunk.id in recall.keyword or chunk.id in recall.vector:
            return recall, code
        vector = None if code else await self._embeddings.query(query.positive_text)

        def look() -> Recall:
            by_words = self._engine.scores(ask.namespace, words, [chunk.id])
            by_meaning = {} if vector is None else self._engine.cosines(ask.namespace, vector, [chunk.id])
            return replace(recall, keyword_also=by_words, vector_also=by_meaning)

        return await self._searching.look(ask, look), code

    async def _weights(self, ask: Ask, query: "Query", chunk: ChunkRow) -> dict[str, float]:
        """What each term that is there adds to the BM25 score; the word that is being typed counts as one."""
        looked_for = {term: Words(any_of=(term,)) for term in query.required_terms}
        if query.prefix:
            looked_for[query.prefix] = Words(any_of=query.partial_terms, prefix=query.prefix, stems=query.stems)

        def look() -> dict[str, float]:
            scores = {term: self._engine.scores(ask.namespace, words, [chunk.id]) for term, words in looked_for.items()}
            return {term: found[chunk.id] for term, found in scores.items() if chunk.id in found}

        return await self._searching.look(ask, look)

    def _explained(
        self, found: FoundChunk, query: "Query", recall: Recall, weights: dict[str, float], code: str | None
    ) -> Explained:
        from findspot.words import accepts, measure_coverage, surface_form

        now, text = datetime.now(UTC), found.chunk.text
        updated_at = found.updated_at or now
        words = len(query.required_terms) + (query.prefix is not None)
        full = len(weights) == words <= MANY_WORDS and bool(weights)
        ranked = workspace.explained(
            found.chunk.id,
            keyword_leg(recall.keyword, recall.keyword_also),
            None if code else vector_leg(recall.vector, recall.vector_also),
            self._embeddings.embedder.calibration.score,
            recency(updated_at, now),
            full_match=full,
        )
        heaviest = sorted(weights.items(), key=lambda each: -each[1])
        matched = tuple(Matched(surface_form(query, term, text), weight) for term, weight in heaviest)
        age, fallback = max(now - updated_at, timedelta(0)), "fts" if code else "none"
        has, out = measure_coverage(query, weights.keys(), text), not accepts(query, text)
        return Explained(found, ranked, workspace.shown(ranked), matched, has, full, out, age, fallback, code)  # type: ignore[arg-type]
