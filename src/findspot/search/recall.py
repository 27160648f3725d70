"""Recall candidates from the engine. Every query reaches the engine here, and only here.

This module also makes the one decision to fall back to keywords, when the vector leg cannot be asked.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from findspot.engines.protocol import Damaged, DimensionMismatch, Engine, Recall, Vector, Words
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a recall asks for, whichever legs it has: `text` is what is embedded."""

    request: SearchRequest
    text: str
    words: Words
    limit: int
    also: Sequence[int]
    count_to: int


class _OtherEmbedder(Exception):
    """The vectors of the index are not those of the embedder."""


class Recaller:
    """Asks the engine on behalf of searches. Damage that a query finds is reported, and the worker repairs it."""

    def __init__(
        self, store: Store, engine: Engine, embeddings: Embeddings, index_status: IndexStatus, threads: Threads
    ) -> None:
        self._store = store
        self._engine = engine
        self._embeddings = embeddings
        self._index_status = index_status
        self._threads = threads.search
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
        count_to: int = 0,
    ) -> Recalled:
        """Return up to `limit` candidates per leg, and the scores of the chunks in `also` even if they are not among
        the candidates. `words` replaces the words of the query. Other searches may have the turn while a service
        embeds the query. With `count_to`, matches are counted up to it, if that would be another round trip later.

        If vectors cannot be used, keywords alone are asked, unless `fall_back` is False. The vector of a query without
        a known word says nothing: then keywords alone are asked too, and a search by vectors finds something only if
        the index has a word of the query.
        """
        by_keyword, by_vector = request.strategy is not Strategy.VECTOR, request.strategy is not Strategy.KEYWORD
        asked = _Asked(request, query.positive_text, words or words_of(query), limit, also, count_to)
        try:
            vector = None
            if by_vector and not self._embeddings.is_at_hand:
                vector = await self._vector(asked, deadline, turn)
            return await self._ask(asked, deadline, by_keyword=by_keyword, by_vector=by_vector, vector=vector)
        except FindspotError as error:
            if not (by_vector and fall_back and error.code in VECTOR_FAILURES):
                raise
            degraded = Degradation(error.code)
        deadline = Deadline.within(max(GRACE_S, deadline.left_s))
        found = await self._ask(asked, deadline, by_keyword=True, by_vector=False)
        return replace(found, degraded=degraded)

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

    async def _vector(self, asked: "_Asked", deadline: Deadline, turn: Turn) -> Vector:
        """Embed the query, and check that the index holds vectors of the same kind. The first search has to open both
        the model and the index, so they are opened at the same time."""
        try:
            async with asyncio.timeout(deadline.left_s):
                vector, kind = await asyncio.gather(
                    self._embeddings.query(asked.text, turn),
                    self._in_thread(self._engine.kind, asked.request.namespace),
                    return_exceptions=True,
                )
        except TimeoutError:
            raise _not_embedded_in_time() from None
        if isinstance(vector, BaseException):
            raise vector
        with self._problems_reported(asked.request):
            if isinstance(kind, BaseException):
                raise kind
            self._require_same_kind(vector, kind)
        return vector

    def _require_same_kind(self, vector: Vector, kind: tuple[str, int]) -> None:
        fingerprint, dimension = kind
        if fingerprint not in ("", self._embeddings.embedder.fingerprint):
            raise _OtherEmbedder
        if fingerprint and dimension != len(vector):
            message = f"The index holds vectors of {dimension} dimensions, but the query has {len(vector)}."
            raise FindspotError("EMBEDDING_DIMENSION_MISMATCH", message)

    async def _ask(
        self, asked: "_Asked", deadline: Deadline, *, by_keyword: bool, by_vector: bool, vector: "Vector | None" = None
    ) -> Recalled:
        """Ask the engine. A query that is still to be embedded is embedded in the same thread: another one would take
        0.1 ms more."""
        is_embedded = threading.Event()

        def call() -> Recalled:
            deadline.check()  # it may have waited for a thread
            known = self._vector_here(asked) if by_vector and vector is None else vector
            is_embedded.set()
            return self._recall_here(asked, deadline, known, by_keyword=by_keyword)

        with self._problems_reported(asked.request):
            answer = self._threads.submit(call)
            if by_vector and vector is None:
                await _embedded_in_time(answer, is_embedded, deadline)
            found = await answer
            if not found.recall.exists and await self._has_appeared(asked.request):
                found = await self._in_thread(call)
            return found

    def _vector_here(self, asked: "_Asked") -> Vector:
        """Embed the query in this thread, with the check of `_vector`."""
        vector = self._embeddings.query_here(asked.text)
        self._require_same_kind(vector, self._engine.kind(asked.request.namespace))
        return vector

    def _recall_here(
        self, asked: "_Asked", deadline: Deadline, vector: "Vector | None", *, by_keyword: bool
    ) -> Recalled:
        namespace, words = asked.request.namespace, asked.words
        if vector is not None and not self._embeddings.embedder.knows(asked.text):
            if by_keyword:
                vector = None
            elif not self._engine.count(namespace, words):
                return Recalled(Recall(), by_keyword, by_vector=True)
        recall = self._engine.recall(
            namespace,
            words if by_keyword else None,
            vector,
            limit=asked.limit,
            within=asked.request.within,
            also=asked.also,
            stop=deadline.check,
            count_to=asked.count_to,
            timeout_s=deadline.left_s,
        )
        return Recalled(recall, by_keyword, by_vector=vector is not None)

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
        with self._problems_reported(request):
            return await self._in_thread(call)

    @contextmanager
    def _problems_reported(self, request: SearchRequest) -> Iterator[None]:
        """Report an index that cannot answer, so that the worker rebuilds it, and raise the error for the caller."""
        try:
            yield
        except Damaged as damage:
            self._index_status.report(request.namespace, Problem.DAMAGED)
            message = f"The index {request.namespace} was damaged and is being rebuilt."
            raise FindspotError("INDEX_REBUILDING", message, retryAfterMs=DAMAGE_RETRY_MS) from damage
        except _OtherEmbedder:
            self._index_status.report(request.namespace, Problem.WRONG_FINGERPRINT)
            message = "The index holds the vectors of another embedder and is being rebuilt."
            raise FindspotError("EMBEDDING_UNAVAILABLE", message) from None
        except DimensionMismatch as mismatch:  # the index was switched after its kind was read
            message = "The index holds vectors with another number of dimensions than the query."
            raise FindspotError("EMBEDDING_DIMENSION_MISMATCH", message) from mismatch


async def _embedded_in_time(
    answer: "asyncio.Future[Recalled]", is_embedded: threading.Event, deadline: Deadline
) -> None:
    """Wait for an answer. Raise SEARCH_TIMEOUT at the deadline, unless the engine is asked by then: it ends in time."""
    try:
        await asyncio.wait([answer], timeout=deadline.left_s)
    except asyncio.CancelledError:
        answer.cancel()
        raise
    if not (answer.done() or is_embedded.is_set()):
        answer.cancel()
        raise _not_embedded_in_time()


def _not_embedded_in_time() -> FindspotError:
    return FindspotError("SEARCH_TIMEOUT", "The query was not embedded in time.")


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
    from findspot.words.vocabulary import is_word

    parse("Any word. 任何词")
    is_word("any")
    fold_texts(["任何文字"])
    fold_run("任何文字" * 20)
    list(cut("Any text. 任何文字。", SEGMENT_LENGTH, 0))
