"""Recall candidates from the engine. Every query reaches the engine here, and only here.

This module also makes the one decision to fall back to keywords, when the vector leg cannot be asked.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from findspot.engines.protocol import EVERYTHING, Damaged, DimensionMismatch, Engine, Recall, Vector, Words
from findspot.errors import FindspotError
from findspot.indexing.status import IndexStatus, Problem
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.limits import Deadline
from findspot.runtime.threads import Threads
from findspot.runtime.turns import Turn
from findspot.search.correction import corrected
from findspot.search.request import SearchRequest, Strategy
from findspot.store import chunks as rows
from findspot.store.database import Store

if TYPE_CHECKING:
    from findspot.words import Query

log = logging.getLogger(__name__)

T = TypeVar("T")

CANDIDATES = 200  # per leg
GRACE_S = 1.0  # the least time that keywords get after the vector leg has failed
LONG_QUERY = 1000  # characters; a longer query is parsed in a thread
DAMAGE_RETRY_MS = 1000
VECTOR_FAILURES = ("EMBEDDING_UNAVAILABLE", "EMBEDDING_DIMENSION_MISMATCH", "ENGINE_UNAVAILABLE", "SEARCH_TIMEOUT")


@dataclass(frozen=True, slots=True)
class Degradation:
    """Why a search could not use vectors (an error code), and what it did instead."""

    code: str
    fallback: Literal["fts"] = "fts"


@dataclass(frozen=True, slots=True)
class Recalled:
    """The candidates of the legs that were asked, and why the vector leg was left out, if it was."""

    recall: Recall
    by_keyword: bool
    by_vector: bool
    degraded: Degradation | None = None


class Recaller:
    """Asks the engine on behalf of searches. Damage that a query finds is reported, and the worker repairs it."""

    def __init__(
        self, store: Store, engine: Engine, embeddings: Embeddings, index_status: IndexStatus, threads: Threads
    ) -> None:
        self._store = store
        self._engine = engine
        self._embeddings = embeddings
        self._index_status = index_status
        self._in_thread = threads.search.run

    async def prepare(self) -> None:
        """Load what the first search would otherwise wait for."""
        try:
            await self._in_thread(_load_parser)
            await self._in_thread(self._engine.prepare)
            await self._embeddings.prepare()
        except FindspotError as error:  # the first search asks the service again
            log.warning("search is not ready yet: %s", error.message)

    async def parse(self, request: SearchRequest, *, requires_phrases: bool = True, excludes: bool = True) -> "Query":
        """Parse the query of a request and, unless it is to be exact, correct its words by those of the index.

        Agents quote freely and send commands, so for them phrases are not required, and dashes are text.
        """
        parse = partial(request.parse, requires_phrases=requires_phrases, excludes=excludes)
        if len(request.query) > LONG_QUERY:
            return await self._in_thread(parse)  # a text, not a query with typing errors
        query = parse()
        if request.exact or query.is_empty or request.strategy is Strategy.VECTOR:
            return query
        frequencies = partial(self._engine.frequencies, request.namespace)
        try:
            return await self._in_thread(corrected, query, request.query, parse, frequencies)
        except Damaged:  # the search itself reports it
            return query

    async def recall(
        self,
        request: SearchRequest,
        query: "Query",
        deadline: Deadline,
        turn: Turn,
        *,
        words: Words | None = None,
        limit: int = CANDIDATES,
        also: Sequence[int] = (),
        fall_back: bool = True,
        counting: bool = False,
    ) -> Recalled:
        """Return up to `limit` candidates per leg, and the scores of the chunks in `also` even if they are not among
        the candidates. `words` replaces the words of the query. Other searches may have the turn while a service
        embeds the query. With `counting`, the matches are counted too, if that would be another round trip later.

        If vectors cannot be used, keywords alone are asked, unless `fall_back` is False. The vector of a query without
        a known word says nothing: then keywords alone are asked too, and a search by vectors finds something only if
        the index has a word of the query.
        """
        words = words or words_of(query)
        by_keyword, by_vector = request.strategy is not Strategy.VECTOR, request.strategy is not Strategy.KEYWORD
        ask = partial(self._ask, request, limit=limit, also=also, counting=counting)
        try:
            vector = await self._vector(request, query.positive_text, deadline, turn) if by_vector else None
            if by_vector and not await self._is_known(query.positive_text):
                if by_keyword:
                    by_vector, vector = False, None
                elif not await self.count(replace(request, within=EVERYTHING), words):
                    return Recalled(Recall(), by_keyword, by_vector)
            found = await ask(words if by_keyword else None, vector, deadline)
            return Recalled(found, by_keyword, by_vector)
        except FindspotError as error:
            if not (by_vector and fall_back and error.code in VECTOR_FAILURES):
                raise
            degraded = Degradation(error.code)
        found = await ask(words, None, Deadline.within(max(GRACE_S, deadline.left_s)))
        return Recalled(found, by_keyword=True, by_vector=False, degraded=degraded)

    async def _is_known(self, text: str) -> bool:
        knows = self._embeddings.embedder.knows  # the query was embedded, so the model is loaded
        return knows(text) if len(text) <= LONG_QUERY else await self._in_thread(knows, text)

    async def count(self, request: SearchRequest, words: Words | None) -> int:
        """Return how many chunks match these words or, without words, how many have a vector."""
        return await self._read(request, lambda: self._engine.count(request.namespace, words, request.within))

    async def frequencies(self, request: SearchRequest, terms: Sequence[str]) -> Mapping[str, int] | None:
        """Return in how many chunks each of these terms occurs, without those that occur nowhere; None: not known."""
        return await self._read(request, lambda: self._engine.frequencies(request.namespace, terms))

    async def scores(
        self, request: SearchRequest, words: Mapping[str, Words], chunk_ids: Sequence[int]
    ) -> dict[int, dict[str, float]]:
        """Return the BM25 score that each chunk gets for each of these entries, without those that do not match."""

        def read() -> dict[int, dict[str, float]]:
            scores: dict[int, dict[str, float]] = {chunk_id: {} for chunk_id in chunk_ids}
            for term, each in words.items():
                found = self._engine.recall(request.namespace, each, None, limit=0, also=chunk_ids)
                for chunk_id, score in found.keyword_also.items():
                    scores[chunk_id][term] = score
            return scores

        return await self._read(request, read)

    async def _vector(self, request: SearchRequest, text: str, deadline: Deadline, turn: Turn) -> Vector:
        """Embed the query, and check that the index holds vectors of the same kind. The first search has to open both
        the model and the index, so they are opened at the same time."""
        try:
            async with asyncio.timeout(deadline.left_s):
                vector, kind = await asyncio.gather(
                    self._embeddings.query(text, turn),
                    self._in_thread(self._engine.kind, request.namespace),
                    return_exceptions=True,
                )
        except TimeoutError:
            raise FindspotError("SEARCH_TIMEOUT", "The query was not embedded in time.") from None
        if isinstance(vector, BaseException):
            raise vector
        if isinstance(kind, Damaged):
            raise self._rebuilding(request) from kind
        if isinstance(kind, BaseException):
            raise kind
        fingerprint, dimension = kind
        if fingerprint not in ("", self._embeddings.embedder.fingerprint):
            self._index_status.report(request.namespace, Problem.WRONG_FINGERPRINT)
            message = "The index holds the vectors of another embedder and is being rebuilt."
            raise FindspotError("EMBEDDING_UNAVAILABLE", message)
        if fingerprint and dimension != len(vector):
            message = f"The index holds vectors of {dimension} dimensions, but the query has {len(vector)}."
            raise FindspotError("EMBEDDING_DIMENSION_MISMATCH", message)
        return vector

    async def _ask(
        self,
        request: SearchRequest,
        words: Words | None,
        vector: "Vector | None",
        deadline: Deadline,
        *,
        limit: int,
        also: Sequence[int],
        counting: bool,
    ) -> Recall:
        def call() -> Recall:
            deadline.check()  # it may have waited for a thread
            return self._engine.recall(
                request.namespace,
                words,
                vector,
                limit=limit,
                within=request.within,
                also=also,
                stop=deadline.check,
                counting=counting,
                timeout_s=deadline.left_s,
            )

        try:
            found = await self._in_thread(call)
            if not found.exists and await self._has_appeared(request):
                found = await self._in_thread(call)
            return found
        except Damaged as damage:
            raise self._rebuilding(request) from damage
        except DimensionMismatch as mismatch:  # the index was switched after its status was read
            message = "The index holds vectors with another number of dimensions than the query."
            raise FindspotError("EMBEDDING_DIMENSION_MISMATCH", message) from mismatch

    async def _has_appeared(self, request: SearchRequest) -> bool:
        """Return whether an index exists now that did not exist before.

        Raise Damaged if there is none although the store says that chunks were indexed. The engine cannot know that.
        """
        async with self._store.read() as connection:
            if not await rows.any_indexed(connection, request.namespace):
                return False
        if not (await self._in_thread(self._engine.status, request.namespace)).fingerprint:
            raise Damaged(f"the index {request.namespace} is missing")
        return True

    async def _read(self, request: SearchRequest, call: Callable[[], T]) -> T:
        try:
            return await self._in_thread(call)
        except Damaged as damage:
            raise self._rebuilding(request) from damage

    def _rebuilding(self, request: SearchRequest) -> FindspotError:
        """Report the damage, and return the error for the caller."""
        self._index_status.report(request.namespace, Problem.DAMAGED)
        message = f"The index {request.namespace} was damaged and is being rebuilt."
        return FindspotError("INDEX_REBUILDING", message, retryAfterMs=DAMAGE_RETRY_MS)


def words_of(query: "Query") -> Words:
    """Return what the engine can look for. Whether words follow one another is checked later in the texts."""
    return Words(
        any_of=query.scored_terms,
        all_of=tuple(dict.fromkeys(term for phrase in query.phrases for term in phrase.terms)),
        none_of=tuple(phrase.term for phrase in query.excluded if phrase.term),
        prefix=query.prefix,
        stems=query.stems,
        named=query.required_terms,
        typed=query.partial_terms if query.prefix else (),
        variants=query.variants,
    )


def _load_parser() -> None:
    from findspot.chunking import cut
    from findspot.ranking.fusion import SEGMENT_LENGTH
    from findspot.words import parse
    from findspot.words.folding import fold_run
    from findspot.words.likeness import fold_texts

    parse("Any word. 任何词")
    fold_texts(["任何文字"])
    fold_run("任何文字" * 20)
    list(cut("Any text. 任何文字。", SEGMENT_LENGTH, 0))
