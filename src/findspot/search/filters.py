"""Resolve the filters of a workspace search to documents, which the engine filters by before it ranks."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace

from findspot.engines.protocol import Within
from findspot.search.candidates import MAX_CANDIDATES
from findspot.search.request import ANY_DOCUMENT, SearchRequest
from findspot.store import documents as rows
from findspot.store.database import Store


class DocumentFilters:
    """Looks up which documents the filters of a request admit."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def resolve(self, request: SearchRequest) -> Within:
        """Return the filter for the engine. Documents that are saved later do not change it."""
        within = request.within
        if request.documents == ANY_DOCUMENT:
            return within
        async with self._store.read() as connection:
            admitted = frozenset(await rows.admitted(connection, request.project_id, **asdict(request.documents)))
            if within.document_ids is None and len(admitted) == await rows.count(connection, request.project_id):
                return within  # a set of all documents would only cost time
        named = within.document_ids
        return replace(within, document_ids=admitted if named is None else admitted & named)

    async def newest(
        self, request: SearchRequest, within: Within, matches: int, count: Callable[[Within], Awaitable[int]]
    ) -> Within:
        """Narrow a resolved filter to the documents that were changed last, so that all their matches can be ranked.

        `matches` is the number with the given filter, and `count` returns that with another one.
        """
        async with self._store.read() as connection:
            found = await rows.admitted(connection, request.project_id, newest_first=True)
        newest = found if within.document_ids is None else [id for id in found if id in within.document_ids]
        narrower = within
        while matches >= MAX_CANDIDATES and len(newest) > 1:
            del newest[max(1, len(newest) * MAX_CANDIDATES * 9 // (matches * 10)) :]
            narrower = replace(within, document_ids=frozenset(newest))
            matches = await count(narrower)
        return narrower
