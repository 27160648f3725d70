"""One recall: its queries, the requests that they are sent in, and what the answers mean together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from findspot.engines.protocol import Recall, Vector, Within, Words
from findspot.engines.turbopuffer import answers, queries
from findspot.engines.turbopuffer.answers import Scored
from findspot.engines.turbopuffer.catalog import Placement
from findspot.engines.turbopuffer.queries import AGGREGATION, Expression, Keywords, Query
from findspot.engines.turbopuffer.transport import Transport


@dataclass(frozen=True, slots=True)
class _Request:
    """The queries of one request, by what they are for."""

    keyword: list[Query]
    near: list[Query]
    also: list[Query]
    counts: list[Query]

    @property
    def queries(self) -> list[Query]:
        return [*self.keyword, *self.near, *self.also, *self.counts]

    @property
    def weight(self) -> int:
        """Return what the request counts among those that may be in flight."""
        return len(self.queries) + (AGGREGATION - 1) * len(self.counts)


@dataclass(slots=True)
class _Found:
    """What the requests have found so far."""

    by_keyword: list[Scored] = field(default_factory=list)
    by_vector: list[Scored] = field(default_factory=list)
    also: list[Scored] = field(default_factory=list)
    matches: int = 0

    def ask(self, transport: Transport, placement: Placement, request: _Request, timeout_s: float | None) -> None:
        """Send a request, and add what it finds."""
        answer = transport.query(placement.name, request.queries, request.weight, timeout_s)
        results = iter(answer.results)
        for asked, found, checked in (
            (request.keyword, self.by_keyword, True),
            (request.near, self.by_vector, False),
            (request.also, self.also, False),
        ):
            for _ in asked:
                found += answers.read(next(results).rows, checked=checked)
        self.matches += sum(int(str((result.aggregations or {})["count"])) for result in results)


class Asked:
    """What a recall asks for. A filter with very many documents takes several requests, one after another.

    The parts of such a filter share no chunk, and the statistics of BM25 do not depend on filters. So the best of all
    parts are the best that a single request would find, and counts can be added.
    """

    def __init__(
        self,
        words: Words | None,
        vector: Vector | None,
        limit: int,
        within: Within,
        also: list[int],
        *,
        count_to: int,
    ) -> None:
        keywords = Keywords(words) if words is not None else None
        self._keywords = keywords if keywords and keywords.can_match else None
        self._vector = vector if vector is not None and vector.any() else None
        self._limit = min(limit, queries.MAX_LIMIT)
        self._also = also
        self._parts = queries.filters(within) if limit > 0 else []
        self._counting = count_to > 0 and limit > 0

    def answer(self, transport: Transport, placement: Placement, timeout_s: float | None) -> Recall:
        """Send the requests within the time, and return what they recall together."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        found = _Found()
        for request in self._requests():
            found.ask(transport, placement, request, None if until is None else until - time.monotonic())
        matches = found.matches if self._counting else None
        return answers.recalled(found.by_keyword, found.by_vector, found.also, self._limit, matches)

    def _requests(self) -> Iterator[_Request]:
        computed: dict[str, Expression] = {}
        if self._keywords:
            computed |= self._keywords.computed()
        if self._vector is not None:
            computed["distance"] = queries.distance(self._vector)
        unchecked = {**computed, "is_match": self._keywords.match} if self._keywords else computed
        also = [
            queries.these(self._also[start : start + queries.MAX_LIMIT], unchecked)
            for start in range(0, len(self._also), queries.MAX_LIMIT)
        ]
        for part in self._parts:
            keyword = self._keywords.queries(self._limit, part, computed) if self._keywords else []
            near = [] if self._vector is None else [queries.near(self._vector, self._limit, part, unchecked)]
            counts = [queries.count(self._keywords, part)] if self._counting and (keyword or near) else []
            if keyword or near or also:
                yield _Request(keyword, near, also, counts)
            also = []
        if also:
            yield _Request([], [], also, [])
