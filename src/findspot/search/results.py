"""Read the results of a page: for each hit a snippet, what matched in it, and its position in the current document."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from findspot.content.documents import Documents
from findspot.errors import FindspotError
from findspot.indexing import status
from findspot.indexing.status import IndexStatus, Problem
from findspot.models import FoundChunk
from findspot.ranking.workspace import Shown
from findspot.search.snippets import snippet
from findspot.store import chunks as rows
from findspot.store.database import Store

if TYPE_CHECKING:
    import sqlalchemy as sa

    from findspot.words import Query


@dataclass(frozen=True, slots=True)
class Result:
    """A hit as it is returned. The snippet is `text[start:end]` of the document's text."""

    found: FoundChunk
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    start: int
    end: int
    score: Shown


class Results:
    """Reads passages of documents for a page of hits."""

    def __init__(self, store: Store, documents: Documents, index_status: IndexStatus) -> None:
        self._store = store
        self._documents = documents
        self._index_status = index_status

    async def read(
        self, namespace: str, query: "Query", hits: Sequence[tuple[int, Shown]]
    ) -> tuple[tuple[Result, ...], bool]:
        """Return the hits that still exist, at their current positions, and whether the index is being rebuilt."""

        def read(connection: "sa.Connection") -> tuple[dict[int, FoundChunk], bool]:
            return rows.found(connection, [id for id, _ in hits]), status.rebuilding(connection, namespace)

        async with self._store.lookup() as connection:
            found, rebuilding = await connection.run_sync(read)
        mine = {id: each for id, each in found.items() if each.chunk.namespace == namespace}
        fitting = {id: each for id, each in mine.items() if _fits(each)}
        if len(fitting) < len(mine):
            documents = {each.chunk.document_id or 0 for id, each in mine.items() if id not in fitting}
            self._index_status.report(namespace, Problem.WRONG_RANGES, sorted(documents))
        behind = {each.chunk.document_id or 0 for each in mine.values() if each.revision != each.indexed_revision}
        texts = dict(zip(behind, await asyncio.gather(*map(self._text, behind)), strict=True))
        return await asyncio.to_thread(_results, query, fitting, texts, hits), rebuilding

    async def _text(self, document_id: int) -> str:
        try:
            _, members = await self._documents.read(document_id)
        except FindspotError as error:
            if error.code not in ("NOT_FOUND", "INTERNAL"):
                raise
            return ""  # just deleted, or damaged, which the status reports: the other results are still returned
        return await asyncio.to_thread(_text_of, bytes(members))


def _fits(found: FoundChunk) -> bool:
    """Return whether the chunk's range has the length of its text."""
    return found.chunk.char_end - found.chunk.char_start == len(found.chunk.text)


class _Members(msgspec.Struct):
    text: str


def _text_of(members: bytes) -> str:
    return msgspec.json.decode(b"{" + members + b"}", type=_Members).text


def _at_current_position(found: FoundChunk, texts: Mapping[int, str]) -> FoundChunk | None:
    """Return the chunk at its position in the current document, or None if its text is gone.

    Where the index is behind, that is the occurrence of its text nearest to the indexed position.
    """
    chunk = found.chunk
    text = texts.get(chunk.document_id or 0)
    if text is None:
        return found
    after = text.find(chunk.text, chunk.char_start)
    before = text.rfind(chunk.text, 0, chunk.char_start + len(chunk.text))
    places = [place for place in (before, after) if place >= 0]
    if not places:
        return None
    start = min(places, key=lambda place: abs(place - chunk.char_start))
    return replace(found, chunk=replace(chunk, char_start=start, char_end=start + len(chunk.text)))


def _results(
    query: "Query", found: Mapping[int, FoundChunk], texts: Mapping[int, str], hits: Sequence[tuple[int, Shown]]
) -> tuple[Result, ...]:
    from findspot.words import Highlights

    results, highlights = [], Highlights(query)
    for id, score in hits:
        current = _at_current_position(found[id], texts) if id in found else None
        if current is not None:
            chunk = current.chunk
            start, end, marks = snippet(highlights, chunk.text)
            position = chunk.char_start + start, chunk.char_start + end
            results.append(Result(current, chunk.text[start:end], marks, *position, score))
    return tuple(results)
