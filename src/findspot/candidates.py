"""Which chunks may be hits of a search in documents? Those that the legs recall, and what is to be known of them."""

import asyncio
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from findspot.engines.protocol import Damaged, Engine, Recall, Words
from findspot.errors import FindspotError
from findspot.gate import Deadline
from findspot.ranking.workspace import Origin
from findspot.rankings import PAGE, Question, Strategy
from findspot.searching import GRACE_S, NO_VECTOR, Ask, Mode, Searching
from findspot.store import chunks as rows
from findspot.store.database import Store

if TYPE_CHECKING:
    import sqlalchemy as sa

    from findspot.words import Query

T = TypeVar("T")

MANY_WORDS = 32  # a query of more words is a text: no one expects to find all of them together

_MODES = {Strategy.FTS: Mode.KEYWORD, Strategy.SEMANTIC: Mode.VECTOR, Strategy.HYBRID: Mode.HYBRID}


@dataclass(frozen=True, slots=True)
class Candidates:
    """What was recalled, and whose it is. `full` are those with every word of the query, and `more_full` says whether
    others may have them too. `matches` counts what could have been recalled: by its words, or else by its meaning."""

    recall: Recall
    origins: Mapping[int, Origin]
    full: Set[int]
    more_full: bool
    matches: int
    by_words: bool  # the keyword leg was asked
    by_meaning: bool
    code: str | None  # why it was not, though it should


class Recalling:
    """Recalls candidates. What is to be known of them is asked of engine and store at the same time."""

    def __init__(self, store: Store, engine: Engine, searching: Searching) -> None:
        self._store = store
        self._engine = engine
        self._searching = searching

    async def recall(self, question: Question, query: "Query", limit: int) -> Candidates:
        """So many candidates of each leg."""
        ask, recall, code = await self._recalled(question, query, limit)
        (full, more), origins, matches = await asyncio.gather(
            self._full(ask, query, recall),
            self._origins(question, query, recall),
            self._matches(ask, question, query, recall),
        )
        by_words, by_meaning = ask.mode is not Mode.VECTOR, ask.mode is not Mode.KEYWORD and code is None
        return Candidates(recall, origins, full, more, matches, by_words, by_meaning, code)

    async def _recalled(self, question: Question, query: "Query", limit: int) -> tuple[Ask, Recall, str | None]:
        """What both legs find, or words alone where meaning fails."""
        mode = _MODES[question.strategy]
        ask = Ask(question.project_id, question.namespace, question.query, PAGE, mode, question.within)
        ask = replace(ask, typing=question.typing, timeout_s=question.timeout_s, candidates=limit)
        deadline = Deadline.within(question.timeout_s)
        try:
            return ask, *await self._searching.recall(ask, query, deadline)
        except FindspotError as error:
            if question.strategy is not Strategy.SEMANTIC or error.code not in NO_VECTOR:
                raise
            ask = replace(ask, mode=Mode.KEYWORD)
            recall, _ = await self._searching.recall(ask, query, Deadline.within(GRACE_S))
            return ask, recall, error.code

    async def _full(self, ask: Ask, query: "Query", recall: Recall) -> tuple[Set[int], bool]:
        """Which candidates hold every word, and whether chunks that are no candidates may."""
        matching = recall.keyword.keys() | recall.keyword_also.keys()
        terms = query.needed
        count = len(terms) + (query.prefix is not None)
        if ask.mode is Mode.VECTOR or count > MANY_WORDS or not matching:
            return frozenset(), False
        if count <= 1:
            return matching, True
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

    async def _origins(self, question: Question, query: "Query", recall: Recall) -> dict[int, Origin]:
        """The documents of those candidates that the store still has, and that hold what has to be there."""
        ids = [*recall.keyword, *(id for id in recall.vector if id not in recall.keyword)]
        if query.phrases and question.strategy is not Strategy.SEMANTIC:  # the others lack a word of it
            ids = [id for id in ids if id in recall.keyword or id in recall.keyword_also]

        def look(connection: "sa.Connection") -> dict[int, Origin]:
            owners = rows.owners(connection, question.namespace, ids)
            if query.looks_at_texts:
                accepted = _accepted(query, rows.texts(connection, list(owners)))
                owners = {id: owner for id, owner in owners.items() if id in accepted}
            return {id: Origin(*owner) for id, owner in owners.items()}

        return await self._store.ask(look)

    async def _matches(self, ask: Ask, question: Question, query: "Query", recall: Recall) -> int:
        if ask.mode is not Mode.VECTOR:
            if len(recall.keyword) < ask.candidates or query.looks_at_texts:
                return len(recall.keyword)
            words = Words(any_of=query.scored, prefix=query.prefix, stems=query.stems)
            return await self._asked(ask, lambda: self._engine.count(ask.namespace, words, ask.within))
        if question.document_ids is None:  # by meaning, everything that has a vector is near or far
            return (await self._asked(ask, lambda: self._engine.status(ask.namespace))).vectors
        async with self._store.read() as connection:
            return await rows.count_of_documents(connection, ask.namespace, sorted(question.document_ids))

    async def _asked(self, ask: Ask, call: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(call)
        except Damaged as damage:
            raise self._searching.healing(ask, damage) from damage


def _accepted(query: "Query", texts: Mapping[int, str]) -> set[int]:
    from findspot.words import accepts

    return {id for id, text in texts.items() if accepts(query, text)}
