"""Explain the scores of passages in a hybrid search: matching and missing words, both legs, ranks and age."""

import asyncio
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from findspot.engines.protocol import Words
from findspot.errors import not_found
from findspot.models import FoundChunk
from findspot.ranking import workspace
from findspot.ranking.normal import recency
from findspot.ranking.scores import Look, Ranked, keyword_leg, vector_leg
from findspot.ranking.workspace import Shown
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.limits import Deadline, Gate
from findspot.search import candidates
from findspot.search.candidates import words_with_full_matches
from findspot.search.recall import Degradation, Recalled, Recaller
from findspot.search.request import SearchRequest
from findspot.search.workspace_search import WorkspaceSearch
from findspot.store import found_chunks
from findspot.store.database import Store

if TYPE_CHECKING:
    from findspot.words import Coverage, Query

MAX_EXPLAINED = 50  # passages at once: a page of results


@dataclass(frozen=True, slots=True)
class MatchedWord:
    """A word of the query as the passage writes it, and its share of the BM25 score."""

    word: str
    weight: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The score of a passage and its reasons. `ranked` has three parts: keyword, vector and recency."""

    found: FoundChunk
    ranked: Ranked[int]
    score: Shown
    matched: tuple[MatchedWord, ...]
    in_context: tuple[str, ...]  # words of the query in the title or the headings, which add to the keyword score
    coverage: "Coverage"  # how many words and characters of the query the passage has
    full_match: bool
    look: Look | None  # the closer look that a search takes at it
    is_left_out: bool  # it lacks a phrase, or contains what is excluded
    age: timedelta
    degraded: Degradation | None = None

    @property
    def is_hidden(self) -> bool:
        """Return whether a hybrid search leaves it out unless low scores are asked for."""
        return self.is_left_out or self.score.total < workspace.HIDES_BELOW


class Explainer:
    """Explains scores. It recalls as a search does, so that both give the same score."""

    def __init__(
        self, store: Store, recaller: Recaller, embeddings: Embeddings, gate: Gate, workspace_search: WorkspaceSearch
    ) -> None:
        self._store = store
        self._recaller = recaller
        self._embeddings = embeddings
        self._gate = gate
        self._workspace_search = workspace_search

    async def explain(self, request: SearchRequest, document_id: int, chunk_id: int) -> Explanation:
        """Explain the score of a passage, whether or not the search would return it."""
        found = await self.explain_all(request, [chunk_id])
        if not found or found[0].found.chunk.document_id != document_id:
            raise not_found("passage")
        return found[0]

    async def explain_all(self, request: SearchRequest, chunk_ids: Sequence[int]) -> list[Explanation]:
        """Explain the scores of up to fifty passages with one recall. Those that do not exist are left out."""
        async with self._store.lookup(one=True) as connection:
            rows_by_id = await connection.run_sync(found_chunks.found, chunk_ids)
        known = [rows_by_id[id] for id in dict.fromkeys(chunk_ids) if id in rows_by_id]
        found = [each for each in known if each.chunk.namespace == request.namespace]
        if not found:
            return []
        ids = [each.chunk.id for each in found]
        looks = await self._workspace_search.looks(request)
        async with self._gate.search(request.project_id) as turn:
            query = await self._recaller.parse(request)
            recalled = await self._recaller.recall(
                request,
                query,
                Deadline.within(request.timeout_s),
                turn,
                words=replace(words_with_full_matches(query), none_of=()),  # a passage that is excluded has a score too
                limit=candidates.MAX_CANDIDATES,
                also=ids,
            )
            weights = await self._recaller.scores(request, _words_apart(query), ids)
        similarity = self._embeddings.embedder.calibration.score
        return await asyncio.to_thread(_explanations, found, query, recalled, weights, similarity, looks)


def _words_apart(query: "Query") -> dict[str, Words]:
    """Return what to look for to score each word on its own. The word that is being typed counts as one."""
    whole = [term for term in query.scored_terms if term not in query.partial_terms]
    words = {
        term: Words(any_of=(term,), named=(term,), variants=query.variants) for term in (*query.required_terms, *whole)
    }
    if query.prefix:
        words[query.prefix] = Words(any_of=query.partial_terms, prefix=query.prefix, stems=query.stems)
    return words


def _explanations(
    found: Sequence[FoundChunk],
    query: "Query",
    recalled: Recalled,
    weights: Mapping[int, Mapping[str, float]],
    similarity: Callable[[float], float],
    looks: Mapping[int, Look],
) -> list[Explanation]:
    now, recall = datetime.now(UTC), recalled.recall
    words = {*query.required_terms, query.prefix}
    full = {id for id, each in weights.items() if candidates.is_full_match(query, len(each.keys() & words))}
    ranked = workspace.explained(
        {each.chunk.id: recency(each.updated_at or now, now) for each in found},
        keyword_leg(recall.keyword, recall.keyword_also),
        vector_leg(recall.vector, recall.vector_also) if recalled.by_vector else None,
        similarity,
        full,
        looks,
    )
    return [
        _explanation(
            each,
            query,
            ranked[each.chunk.id],
            weights[each.chunk.id],
            now,
            recalled.degraded,
            full,
            looks.get(each.chunk.id),
        )
        for each in found
    ]


def _explanation(
    found: FoundChunk,
    query: "Query",
    ranked: Ranked[int],
    weights: Mapping[str, float],
    now: datetime,
    degraded: Degradation | None,
    full: Set[int],
    look: Look | None,
) -> Explanation:
    from findspot.words import Highlights, accepts, measure_coverage, surface_form

    text = found.chunk.text
    place = found.chunk.context.outside(text)
    context = "\n".join((place.title, *place.headings))
    spelled = f"{text}\n{context}"
    found_words = weights.keys() & {*query.required_terms, query.prefix}
    scored = {term: weight for term, weight in weights.items() if term in (*query.scored_terms, query.prefix)}
    heaviest = sorted(scored.items(), key=lambda each: -each[1])
    return Explanation(
        found=found,
        ranked=ranked,
        score=workspace.shown(ranked),
        matched=tuple(MatchedWord(surface_form(query, term, spelled), weight) for term, weight in heaviest),
        in_context=tuple(dict.fromkeys(context[start:end] for start, end in Highlights(query)(context))),
        coverage=measure_coverage(query, found_words, spelled),
        full_match=found.chunk.id in full,
        look=look,
        is_left_out=not accepts(query, text),
        age=max(now - (found.updated_at or now), timedelta(0)),
        degraded=degraded,
    )
