"""Hits → what is shown of them: a snippet, what matched in it, and where that stands in the document as it is now."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from findspot.content.documents import Documents
from findspot.errors import FindspotError
from findspot.models import FoundChunk
from findspot.ranking.workspace import Shown
from findspot.search.snippets import snippet
from findspot.store import chunks as rows
from findspot.store import index_states as states
from findspot.store.database import Store

if TYPE_CHECKING:
    from findspot.words import Query


@dataclass(frozen=True, slots=True)
class Result:
    """A hit to be shown. `found.chunk` is what was found; the snippet stands at `start:end` of the document's text."""

    found: FoundChunk
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    start: int
    end: int
    score: Shown


class Showing:
    """Shows passages of documents."""

    def __init__(self, store: Store, documents: Documents) -> None:
        self._store = store
        self._documents = documents

    async def show(self, namespace: str, query: "Query", hits: Sequence[tuple[int, Shown]]) -> tuple[Result, ...]:
        """Those of the hits that are still there, each where it stands now."""
        found = await self._store.ask(lambda connection: rows.found(connection, [id for id, _ in hits]))
        mine = {id: each for id, each in found.items() if each.chunk.namespace == namespace}
        wrong = {id for id, each in mine.items() if each.chunk.char_end - each.chunk.char_start != len(each.chunk.text)}
        if wrong:
            async with self._store.write() as connection:
                await states.request_documents(connection, [mine[id].chunk.document_id or 0 for id in wrong])
        behind = {each.chunk.document_id or 0 for each in mine.values() if each.revision != each.indexed_revision}
        texts = dict(zip(behind, await asyncio.gather(*map(self._text, behind)), strict=True))
        sound = {id: each for id, each in mine.items() if id not in wrong}
        return await asyncio.to_thread(_results, query, sound, texts, hits)

    async def _text(self, document_id: int) -> str:
        try:
            _, members = await self._documents.read(document_id)
        except FindspotError as error:
            if error.code not in ("NOT_FOUND", "INTERNAL"):
                raise
            return ""  # it was deleted just now, or is damaged, which the index tells: the others are shown
        return await asyncio.to_thread(_text_of, bytes(members))


class _Members(msgspec.Struct):
    text: str


def _text_of(members: bytes) -> str:
    return msgspec.json.decode(b"{" + members + b"}", type=_Members).text


def _standing(found: FoundChunk, texts: Mapping[int, str]) -> FoundChunk | None:
    """The chunk where it stands in its document as that is now. Where the index has not caught up, that is the nearest
    place where its text stands in the new one; None if it is gone."""
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
        standing = _standing(found[id], texts) if id in found else None
        if standing is not None:
            chunk = standing.chunk
            start, end, marks = snippet(highlights, chunk.text)
            place = chunk.char_start + start, chunk.char_start + end
            results.append(Result(standing, chunk.text[start:end], marks, *place, score))
    return tuple(results)
