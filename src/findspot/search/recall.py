"""Which chunks may be hits of a search in documents? Those that the legs recall, and what is to be known of them."""

import asyncio
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from findspot.embedding.protocol import Embedder
from findspot.engines.protocol import Engine, Recall
from findspot.errors import FindspotError
from findspot.ranking.workspace import Origin
from findspot.runtime.limits import Deadline
from findspot.search import paging
from findspot.search.paging import PAGE, Ranking, Strategy
from findspot.search.table_search import GRACE_S, NO_VECTOR, Ask, Mode, Searching, sought
from findspot.store import chunks as rows
from findspot.store.database import Store

if TYPE_CHECKING:
    import sqlalchemy as sa

    from findspot.words import Query

MANY_WORDS = 32  # a query of more words is a text: no one expects to find all of them together
JUDGED_AT_ONCE = 64  # texts, between two looks at the time

_MODES = {Strategy.FTS: Mode.KEYWORD, Strategy.SEMANTIC: Mode.VECTOR, Strategy.HYBRID: Mode.HYBRID}


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was recalled, up to `limit` of each leg, and whose it is. `full` are those with every word of the query, and
    `more_full` says that others may have them too. `matches` counts what could have been recalled: by words, or else
    by meaning; `cut` says that it is more than anyone looks at."""

    limit: int
    recall: Recall
    origins: Mapping[int, Origin]
    full: Set[int]
    more_full: bool
    matches: int
    cut: bool
    by_words: bool  # the keyword leg was asked
    by_meaning: bool
    code: str | None  # why it was not, though it should

    @property
    def is_all_by_words(self) -> bool:
        """Whether meaning is away, and words know no more."""
        return self.code is not None and len(self.recall.keyword) < self.limit


class Recalling:
    """Recalls candidates. What is to be known of them is asked of engine and store at the same time."""

    def __init__(self, store: Store, engine: Engine, embedder: Embedder, searching: Searching) -> None:
        self._store = store
        self._engine = engine
        self._embedder = embedder
        self._searching = searching

    async def recall(self, ranking: Ranking, limit: int, deadline: Deadline) -> Candidates:
        """So many candidates of each leg. Meaning with a phrase is looked for where the phrase may be, which words tell
        at once for all."""
        question, query = ranking.question, ranking.query
        by_phrase = question.strategy is Strategy.SEMANTIC and bool(query.phrases)
        mode, wide = (Mode.HYBRID, paging.MOST_CANDIDATES) if by_phrase else (_MODES[question.strategy], limit)
        ask = Ask(question.project_id, question.namespace, question.query, PAGE, mode, question.within)
        ask = replace(ask, typing=question.typing, timeout_s=question.timeout_s, candidates=wide)
        ask, recall, code = await self._recalled(ask, query, deadline.before(GRACE_S))
        by_words, by_meaning = ask.mode is not Mode.VECTOR, ask.mode is not Mode.KEYWORD and code is None
        if by_meaning and not recall.keyword and await self._searching.look(ask, lambda: self._is_nonsense(ask, query)):
            recall = Recall()
        everything = recall
        if by_phrase:
            recall, by_words = _of_phrase(recall, limit, by_meaning), not by_meaning
        matches, origins = await asyncio.gather(
            self._matches(ask, query, everything), self._origins(ranking, recall, deadline)
        )
        cut = matches >= ask.candidates >= paging.MOST_CANDIDATES
        full, more_full = _full(query, recall) if by_words else (frozenset[int](), False)
        return Candidates(limit, recall, origins, full, more_full, matches, cut, by_words, by_meaning, code)

    async def _recalled(self, ask: Ask, query: "Query", deadline: Deadline) -> tuple[Ask, Recall, str | None]:
        """What the legs find, or words alone where meaning fails."""
        words = replace(sought(query), together=_together(query))
        try:
            return ask, *await self._searching.recall(ask, query, deadline, words)
        except FindspotError as error:
            if ask.mode is not Mode.VECTOR or error.code not in NO_VECTOR:
                raise
            ask = replace(ask, mode=Mode.KEYWORD)
            recall, _ = await self._searching.recall(ask, query, Deadline.within(GRACE_S), words)
            return ask, recall, error.code

    def _is_nonsense(self, ask: Ask, query: "Query") -> bool:
        """Whether the words of a query are known neither here nor to the embedder: what is near is so by chance."""
        if self._embedder.knows(query.positive_text):
            return False
        return ask.mode is not Mode.VECTOR or not self._engine.count(ask.namespace, sought(query))

    async def _matches(self, ask: Ask, query: "Query", recall: Recall) -> int:
        recalled = recall.vector if ask.mode is Mode.VECTOR else recall.keyword
        if len(recalled) < ask.candidates or query.needs_text_check:
            return len(recalled)
        words = None if ask.mode is Mode.VECTOR else sought(query)  # by meaning, all that have a vector are near or far
        return await self._searching.look(ask, lambda: self._engine.count(ask.namespace, words, ask.within))

    async def _origins(self, ranking: Ranking, recall: Recall, deadline: Deadline) -> dict[int, Origin]:
        """The documents of those candidates that stand in one, and hold what has to be there."""
        question, query = ranking.question, ranking.query
        ids = recall.keyword.keys() | recall.vector.keys()
        if query.phrases and question.strategy is Strategy.HYBRID:  # the others lack a word of it
            ids &= recall.keyword.keys() | recall.keyword_also.keys()
        ids -= ranking.refused
        candidates = {id: document_id for id, document_id in recall.documents.items() if id in ids}
        unjudged = list(candidates.keys() - set(ranking.ids)) if query.needs_text_check else []

        def look(connection: "sa.Connection") -> tuple[dict[int, datetime], dict[int, str]]:
            changed_at = rows.changed_at(connection, question.project_id, list(set(candidates.values())))
            return changed_at, rows.texts(connection, unjudged) if unjudged else {}

        changed_at, texts = await self._store.ask(look)
        refused = await asyncio.to_thread(_refused, query, unjudged, texts, deadline) if unjudged else set()
        ranking.refused |= refused
        return {
            id: Origin(document_id, changed_at[document_id])
            for id, document_id in candidates.items()
            if document_id in changed_at and id not in refused
        }


def _together(query: "Query") -> tuple[str, ...]:
    """The words that a passage with every word of the query has; none where one word is all there is, or too many."""
    count = len(query.required_terms) + (query.prefix is not None)
    return query.required_terms if 1 < count <= MANY_WORDS else ()


def _full(query: "Query", recall: Recall) -> tuple[Set[int], bool]:
    """Which candidates hold every word, and whether chunks that are no candidates may."""
    if len(query.required_terms) + (query.prefix is not None) > 1:
        return recall.full, recall.more_full
    return recall.keyword.keys() | recall.keyword_also.keys(), True


def _of_phrase(recall: Recall, limit: int, by_meaning: bool) -> Recall:
    """The nearest of what words have found, as if they had been recalled so; the best of it where meaning is away."""
    if not by_meaning:
        return replace(recall, keyword=dict(islice(recall.keyword.items(), limit)))
    cosines = {**recall.vector_also, **recall.vector}
    nearest = sorted((-cosines[id], id) for id in recall.keyword if id in cosines)[:limit]
    documents = {id: recall.documents[id] for _, id in nearest if id in recall.documents}
    return Recall(vector={id: -cosine for cosine, id in nearest}, documents=documents)


def _refused(query: "Query", ids: Sequence[int], texts: Mapping[int, str], deadline: Deadline) -> set[int]:
    """Those that are gone, lack a phrase, or hold what is excluded."""
    from findspot.words import Acceptance

    accepts, refused = Acceptance(query), set(ids) - texts.keys()
    judged = list(texts.items())
    for start in range(0, len(judged), JUDGED_AT_ONCE):
        deadline.check()
        refused.update(id for id, text in judged[start : start + JUDGED_AT_ONCE] if not accepts(text))
    return refused
