"""Retrieve passages for a language model: query → recall → score → read → choose within the budget.

Recall, degradation to keywords, the closer look, deadline and turns are those of a workspace search. Redacting and
counting tokens run in a thread of the search pool.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from findspot import tokens
from findspot.context import Context
from findspot.errors import not_found
from findspot.indexing.status import DocumentIndexState, IndexStatus
from findspot.ranking.fusion import LOOKED_AT, Weights, convex, rescore
from findspot.ranking.relatedness import Related, related
from findspot.ranking.scores import Look, keyword_leg, vector_leg
from findspot.ranking.workspace import Shown
from findspot.retrieval import labels, queries
from findspot.retrieval.budget import Selected, Selection
from findspot.retrieval.config import RetrievalConfigs
from findspot.retrieval.masking import Masking
from findspot.retrieval.passages import AroundCursor, Passage
from findspot.retrieval.redaction import load_redaction
from findspot.retrieval.redaction_rules import Rules
from findspot.retrieval.request import EditingContext, Limits, RetrievalRequest
from findspot.retrieval.surroundings import Surrounding, surroundings
from findspot.runtime import metrics
from findspot.runtime.embeddings import Embeddings
from findspot.runtime.limits import Deadline, Gate
from findspot.runtime.threads import ThreadPool
from findspot.runtime.turns import Turn
from findspot.search import Degradation, Recaller, Result, Results, SearchRequest
from findspot.search.candidates import full_matches, words_with_full_matches
from findspot.search.hit_rows import HitRows
from findspot.search.looks import Looks
from findspot.search.paging import RankedHit
from findspot.search.recall import GRACE_S, Recalled
from findspot.store import found_chunks
from findspot.store.database import Store

if TYPE_CHECKING:
    from findspot.words import Query

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The passages of an answer, best first, and what was left out."""

    selected: Selected
    limits: Limits
    index: DocumentIndexState  # before the recall
    took_ms: float = 0.0
    degraded: Degradation | None = None
    corrected_query: str | None = None

    @property
    def redactions(self) -> dict[str, int]:
        """How many redactions the texts of the answer have, by kind."""
        kinds = Counter(found.kind for each in self.selected.chosen for found in each.passage.own_redactions)
        return dict(sorted(kinds.items()))


@dataclass(frozen=True, slots=True)
class _Found:
    """Passages that are related enough, best first, and whether others were deleted since the recall."""

    passages: Sequence[Passage]
    degraded: Degradation | None
    is_missing: bool


class Retriever:
    """Retrieves passages from the documents of a project."""

    def __init__(
        self,
        store: Store,
        recaller: Recaller,
        embeddings: Embeddings,
        looks: Looks,
        results: Results,
        index_status: IndexStatus,
        configs: RetrievalConfigs,
        gate: Gate,
        threads: ThreadPool,
        keyed_hash: Callable[[str], str],
    ) -> None:
        self._store = store
        self._recaller = recaller
        self._embeddings = embeddings
        self._looks = looks
        self._results = results
        self._index_status = index_status
        self._configs = configs
        self._gate = gate
        self._threads = threads
        self._keyed_hash = keyed_hash

    async def prepare(self) -> None:
        """Load what the first retrieval would otherwise wait for."""
        await self._threads.run(_load)

    async def retrieve(self, request: RetrievalRequest) -> Retrieved:
        """Return the passages that are related to a query, or to the text around a cursor. None is a normal answer."""
        began = time.perf_counter()
        with metrics.search(request.project_id, metrics.RETRIEVAL) as note:
            found = await self._retrieve(request, began)
            code = found.degraded.code if found.degraded else None
            note(len(found.selected.chosen), code)
        _count(request.project_id, found)
        asked = request.query if request.context is None else f"{request.context.before}\0{request.context.after}"
        log.info(
            "retrieval in project %d for %s: %d passages, %d of %d tokens, %d dropped in %.1f ms, %s",
            request.project_id,
            self._keyed_hash(asked),
            len(found.selected.chosen),
            found.selected.used_tokens,
            found.limits.max_tokens,
            len(found.selected.dropped),
            found.took_ms,
            code or "success",
        )
        return found

    async def _retrieve(self, request: RetrievalRequest, began: float) -> Retrieved:
        async with self._gate.search(request.project_id) as turn:
            index = await self._index_status.of_documents(request.project_id)
            limits, rules = await self._limits(request)
            deadline = Deadline.within(request.timeout_s + 2 * GRACE_S)
            async with deadline.enforced():
                query = await self._query(request)
                if query is None:
                    return Retrieved(Selected(), limits, index)
                found = await self._find(request, query, limits, deadline, turn)
                if found.is_missing:  # chunks were replaced since the recall, which finds the new ones
                    found = await self._find(request, query, limits, deadline, turn)
                around = await surroundings(self._store, [each.chunk_id for each in found.passages])
                choose = partial(self._choose, request.context, limits, rules, found.passages, around)
                selected = await self._threads.run(choose)
        self._index_status.note_hits(id for each in selected.chosen for id in each.passage.chunk_ids)
        corrected = query.corrected_text
        if corrected is not None and not await self._threads.run(partial(_shows, selected, request.query, corrected)):
            corrected = None
        took_ms = (time.perf_counter() - began) * 1000
        return Retrieved(selected, limits, index, took_ms, found.degraded, corrected)

    async def _limits(self, request: RetrievalRequest) -> tuple[Limits, Rules]:
        """Return the limits of a request and the redaction rules of its project."""
        async with self._store.lookup() as connection:
            config = await self._configs.read(connection, request.project_id)
            if request.context is not None:
                ids = [request.context.document_id]
                if not await connection.run_sync(found_chunks.changed_at, request.project_id, ids):
                    raise not_found("document", field="context.documentId")
        return Limits.of(request, config), self._configs.rules(config)

    # ── the query ──

    async def _query(self, request: RetrievalRequest) -> "Query | None":
        """Return what is searched for; None if there is no word in it."""
        text = request.query if request.context is None else queries.current_sentence(request.context)
        search = SearchRequest(request.project_id, text, exact=request.context is not None)
        query = await self._recaller.parse(search, requires_phrases=False, excludes=False)
        if query.is_empty or request.context is None:
            return None if query.is_empty else query
        names = search.parse(" ".join(queries.names(text)), requires_phrases=False, excludes=False)
        terms = list(dict.fromkeys((*query.content_terms, *names.content_terms)))
        return queries.focused(query, names, await self._recaller.frequencies(search, terms))

    # ── the passages ──

    async def _find(
        self, request: RetrievalRequest, query: "Query", limits: Limits, deadline: Deadline, turn: Turn
    ) -> _Found:
        search = SearchRequest(request.project_id, query.positive_text, within=request.within)
        words, recall_deadline = words_with_full_matches(query), deadline.before(2 * GRACE_S)
        recalled = await self._recaller.recall(search, query, recall_deadline, turn, words=words)
        rows = HitRows(self._store)
        hits = {hit.id: hit for hit in await self._scored(request, query, recalled, limits, rows)}
        ranked = [RankedHit(hit.id, Shown.of(hit.words, hit.meaning or 0.0, 0.0), 0) for hit in hits.values()]
        read = await self._results.read(search.namespace, query, ranked, rows)
        passages = [_passage(each, hits[each.found.chunk.id]) for each in read.results]
        return _Found(passages, recalled.degraded, read.missing)

    async def _scored(
        self, request: RetrievalRequest, query: "Query", recalled: Recalled, limits: Limits, rows: HitRows
    ) -> list[Related[int]]:
        """Return the best candidates that reach the least score, in the order of search tools. Only these were looked
        at closely."""
        legs, embedder = recalled.recall, self._embeddings.embedder
        keyword = keyword_leg(legs.keyword, legs.keyword_also)
        vector = vector_leg(legs.vector, legs.vector_also) if recalled.by_vector else None
        by_vector = embedder.vector_weight if vector else 0.0
        calibration = embedder.calibration
        weights = Weights(1 - by_vector, by_vector)
        ranked = convex(keyword, vector or vector_leg({}), weights, calibration.closenesses)
        hits = list(islice(ranked, max(LOOKED_AT, 2 * limits.top_k)))
        looks: Mapping[int, Look] = {}
        if hits and vector and self._looks.can_compare:
            looks = await self._looks.of(query.positive_text, [hit.id for hit in hits], rows)
            hits = rescore(hits, looks, legs.documents, calibration.closeness)
        return related(
            [hit.id for hit in hits],
            keyword,
            vector,
            calibration.score,
            max(limits.min_score, _LEAST),
            looks=looks,
            # The words of an editing context are chosen among those of the index: having all of them says little.
            full_matches=frozenset() if request.context else full_matches(query, legs)[0],
        )

    def _choose(
        self,
        context: EditingContext | None,
        limits: Limits,
        rules: Rules,
        passages: Sequence[Passage],
        around: Mapping[int, Surrounding],
    ) -> Selected:
        """Choose among the passages. Runs in a thread."""
        code = labels.boundary_code((text for each in passages for text in (each.place, each.text)), self._keyed_hash)
        masking, cursor = Masking(rules), AroundCursor(context) if context else None

        def prepare(passage: Passage) -> Passage:
            return masking.masked(passage, around.get(passage.chunk_id, Surrounding()))

        selection = Selection(limits, code, prepare)
        for passage in passages:
            repeated = cursor.repeated_by(passage) if cursor else None
            if repeated:
                selection.drop(passage, repeated)
            else:
                selection.offer(passage)
        return selection.finish()


_LEAST = 1e-6  # a score that is shown as 0 is no hit


def _load() -> None:
    tokens.count("Any text. 任何文字")
    load_redaction()


def _shows(selected: Selected, asked: str, corrected: str) -> bool:
    """Return whether the answer shows all words of a corrected query. One that it does not show may be private."""
    from findspot.words import terms

    shown = (f"{each.passage.place}\n{each.passage.shown_text}" for each in selected.chosen)
    return set(terms(corrected)) <= set(terms("\n".join((asked, *shown))))


def _passage(result: Result, hit: Related[int]) -> Passage:
    chunk = result.found.chunk
    assert chunk.document_id is not None
    return Passage(
        document_id=chunk.document_id,
        chunk_ids=(chunk.id,),
        start=chunk.char_start,
        end=chunk.char_end,
        text=chunk.text,
        score=hit.score,
        context=Context.of(result.found.title or "", chunk.context.headings),
        path=result.found.path,
        line=result.line,
        meaning=hit.meaning,
        words=tuple(dict.fromkeys(result.snippet[start:end] for start, end in result.highlights)),
        is_indexed=result.found.revision == result.found.indexed_revision,
    )


def _count(project_id: int, found: Retrieved) -> None:
    selected = found.selected
    metrics.RETRIEVALS.labels(project_id, "passages" if selected.chosen else "empty").inc()
    metrics.RETRIEVED_TOKENS.labels(project_id, "used").inc(selected.used_tokens)
    metrics.RETRIEVED_TOKENS.labels(project_id, "dropped").inc(sum(each.tokens for each in selected.dropped))
    for kind, count in found.redactions.items():
        metrics.REDACTIONS.labels(project_id, kind).inc(count)
