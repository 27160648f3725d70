"""Read the results of a page: for each hit a snippet, what matched in it, and its position in the current document."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from findspot.content.documents import Documents
from findspot.errors import FindspotError
from findspot.indexing import status
from findspot.indexing.status import IndexStatus, Problem
from findspot.models import FoundChunk
from findspot.ranking.workspace import Shown
from findspot.search.paging import RankedHit
from findspot.search.snippets import snippet
from findspot.sources.lines import PIECE, LinePiece
from findspot.store import chunks as rows
from findspot.store import document_lines
from findspot.store.database import Store
from findspot.store.document_lines import Piece

if TYPE_CHECKING:
    import sqlalchemy as sa

    from findspot.words import Query


@dataclass(frozen=True, slots=True)
class Result:
    """A hit as it is returned. The snippet is `text[start:end]` of the document's text.

    `line` and `column` say where the first match is in the file, or where the snippet begins if nothing is highlighted.
    """

    found: FoundChunk
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    start: int
    end: int
    score: Shown
    duplicates: int  # hits like this one that are folded into it
    line: int | None = None
    column: int | None = None


class Results:
    """Reads passages of documents for a page of hits."""

    def __init__(self, store: Store, documents: Documents, index_status: IndexStatus) -> None:
        self._store = store
        self._documents = documents
        self._index_status = index_status

    async def read(self, namespace: str, query: "Query", hits: Sequence[RankedHit]) -> tuple[tuple[Result, ...], bool]:
        """Return the hits that still exist, at their current positions, and whether the index is being rebuilt."""

        def read(connection: "sa.Connection") -> tuple[dict[int, FoundChunk], dict[Piece, bytes], bool]:
            found = rows.found(connection, [hit.id for hit in hits])
            lines = document_lines.read(connection, {piece for each in found.values() for piece in _line_pieces(each)})
            return found, lines, status.rebuilding(connection, namespace)

        async with self._store.lookup() as connection:
            found, lines, rebuilding = await connection.run_sync(read)
        mine = {id: each for id, each in found.items() if each.chunk.namespace == namespace}
        fitting = {id: each for id, each in mine.items() if _fits(each)}
        if len(fitting) < len(mine):
            documents = {each.chunk.document_id or 0 for id, each in mine.items() if id not in fitting}
            self._index_status.report(namespace, Problem.WRONG_RANGES, sorted(documents))
        behind = {each.chunk.document_id or 0 for each in mine.values() if _is_behind(each)}
        texts: dict[int, str] = {}
        for id, (text, pieces) in zip(behind, await asyncio.gather(*map(self._text, behind)), strict=True):
            texts[id] = text
            lines.update(((id, number), piece) for number, piece in enumerate(pieces))
        return await asyncio.to_thread(_results, query, fitting, texts, lines, hits), rebuilding

    async def _text(self, document_id: int) -> tuple[str, list[bytes]]:
        try:
            return await self._documents.read_text(document_id)
        except FindspotError as error:
            if error.code not in ("NOT_FOUND", "INTERNAL"):
                raise
            return "", []  # just deleted, or damaged, which the status reports: the other results are still returned


def _is_behind(found: FoundChunk) -> bool:
    """Return whether the document has changed since its chunks were made."""
    return found.revision != found.indexed_revision


def _line_pieces(found: FoundChunk) -> Iterator[Piece]:
    """Yield the pieces of the stored line index that cover a chunk of a document that comes from a file."""
    chunk = found.chunk
    if found.path is not None and chunk.document_id is not None and not _is_behind(found):
        for number in range(chunk.char_start // PIECE, (chunk.char_end - 1) // PIECE + 1):
            yield chunk.document_id, number


def _fits(found: FoundChunk) -> bool:
    """Return whether the chunk's range has the length of its text."""
    return found.chunk.char_end - found.chunk.char_start == len(found.chunk.text)


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
    query: "Query",
    found: Mapping[int, FoundChunk],
    texts: Mapping[int, str],
    lines: Mapping[Piece, bytes],
    hits: Sequence[RankedHit],
) -> tuple[Result, ...]:
    from findspot.words import Highlights

    results, highlights, positions = [], Highlights(query), _Positions(lines)
    for id, score, duplicates in hits:
        current = _at_current_position(found[id], texts) if id in found else None
        if current is not None:
            chunk = current.chunk
            start, end, marks = snippet(highlights, chunk.text)
            span = chunk.char_start + start, chunk.char_start + end
            first_match = span[0] + (marks[0][0] if marks else 0)
            line, column = positions.of(current, first_match)
            results.append(Result(current, chunk.text[start:end], marks, *span, score, duplicates, line, column))
    return tuple(results)


class _Positions:
    """Looks up lines and columns. Each piece of a line index is decoded once per page."""

    def __init__(self, lines: Mapping[Piece, bytes]) -> None:
        self._lines = lines
        self._decoded: dict[Piece, LinePiece] = {}

    def of(self, found: FoundChunk, index: int) -> tuple[int | None, int | None]:
        """Return the line and column of a character of the document; None if it has no file or no line index."""
        piece = (found.chunk.document_id or 0, index // PIECE)
        if found.path is None or piece not in self._lines:
            return None, None
        if piece not in self._decoded:
            self._decoded[piece] = LinePiece(self._lines[piece])
        return self._decoded[piece].position(index)
