"""Read the results of a page: for each hit a snippet, what matched in it, and its position in the current document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from findspot.content.documents import Documents
from findspot.indexing.status import IndexStatus, Problem
from findspot.models import FoundChunk, NamespaceKey
from findspot.ranking.workspace import Shown
from findspot.runtime.threads import Threads
from findspot.search.hit_rows import CURRENT, HitRows, LineKey, is_behind, line_key
from findspot.search.paging import RankedHit
from findspot.search.relocation import place
from findspot.search.snippets import snippets
from findspot.sources.lines import PIECE, LinePiece

if TYPE_CHECKING:
    from findspot.words import Highlights, Query

KEPT_SHARE = 0.25  # of a changed passage, in one piece; with less, its vector says nothing about the new text


class Result(NamedTuple):
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


@dataclass(frozen=True, slots=True)
class ReadResults:
    """The results of a page, and whether hits were deleted since the recall."""

    results: tuple[Result, ...]
    missing: bool


class Results:
    """Reads passages of documents for a page of hits."""

    def __init__(self, documents: Documents, index_status: IndexStatus, threads: Threads) -> None:
        self._documents = documents
        self._index_status = index_status
        self._threads = threads.search

    async def read(self, namespace: str, query: "Query", hits: Sequence[RankedHit], rows: HitRows) -> ReadResults:
        """Return the hits that still exist, at their current positions."""
        found = await rows.read([hit.id for hit in hits])
        chunks = _Chunks.of(namespace, found)
        if chunks.misfits:
            self._index_status.report(namespace, Problem.WRONG_RANGES, sorted(chunks.misfits))
        lines, texts = rows.lines, dict[int, str]()
        if chunks.behind:
            lines = dict(lines)
            texts = dict.fromkeys(chunks.behind, "")  # of one just deleted, or damaged, which the status reports
            project_id = NamespaceKey.of(namespace).project_id
            read = await self._documents.read_texts(project_id, sorted(chunks.behind))
            for id, (text, pieces) in read.items():
                texts[id] = text
                lines.update(((id, CURRENT, number), piece) for number, piece in enumerate(pieces))
        every = chain(texts.values(), (each.chunk.text for each in chunks.fitting.values()))
        results = await self._threads.run_if_long(every, _results, query, chunks.fitting, texts, lines, hits)
        return ReadResults(results, missing=len(found) < len(hits))


class _Chunks(NamedTuple):
    """The chunks of a namespace that were read, and documents whose chunks need more than what was read."""

    fitting: dict[int, FoundChunk]  # their ranges have the length of their texts
    misfits: set[int]  # documents of the others
    behind: set[int]  # documents that have changed since their chunks were made

    @classmethod
    def of(cls, namespace: str, found: Mapping[int, FoundChunk]) -> "_Chunks":
        chunks = cls({}, set(), set())
        for id, each in found.items():
            chunk = each.chunk
            if chunk.namespace != namespace:
                continue
            if is_behind(each):
                chunks.behind.add(chunk.document_id or 0)
            if chunk.char_end - chunk.char_start == len(chunk.text):
                chunks.fitting[id] = each
            else:
                chunks.misfits.add(chunk.document_id or 0)
        return chunks


def _results(
    query: "Query",
    found: Mapping[int, FoundChunk],
    texts: Mapping[int, str],
    lines: Mapping[LineKey, bytes],
    hits: Sequence[RankedHit],
) -> tuple[Result, ...]:
    """Return the results of a page. `texts` are those of documents that the index is behind of."""
    from findspot.words import Highlights

    highlights, positions = Highlights(query), _Positions(lines)
    current = _current(_Relocated(query, highlights, texts), found, hits) if texts else found
    shown = [hit for hit in hits if hit.id in current]
    of_hits = [current[hit.id].chunk.text for hit in shown]
    cut, results = snippets(of_hits, highlights.of_each(of_hits)), list[Result]()
    for (id, score, duplicates), text, (start, end, marks) in zip(shown, of_hits, cut, strict=True):
        each = current[id]
        offset = each.chunk.char_start
        line, column = positions.of(each, offset + start + (marks[0][0] if marks else 0))
        results.append(
            Result(each, text[start:end], marks, offset + start, offset + end, score, duplicates, line, column)
        )
    return tuple(results)


def _current(
    relocated: "_Relocated", found: Mapping[int, FoundChunk], hits: Sequence[RankedHit]
) -> dict[int, FoundChunk]:
    """Return the passages of the hits as they are now, without those that are gone or overlap a newer one."""
    present = [hit for hit in hits if hit.id in found]
    current = {hit.id: each for hit in present if (each := relocated(found[hit.id], hit.score)) is not None}
    repeated = _repeated(found, current)
    return {id: each for id, each in current.items() if id not in repeated}


class _Relocated:
    """Finds passages in the current texts of documents that the index is behind of."""

    def __init__(self, query: "Query", highlights: "Highlights", texts: Mapping[int, str]) -> None:
        from findspot.words import Acceptance

        self._accepts = Acceptance(query)
        self._highlights = highlights
        self._texts = texts

    def __call__(self, found: FoundChunk, score: Shown) -> FoundChunk | None:
        """Return the passage as it is now, or None if it is gone or does not match any more."""
        chunk = found.chunk
        if not is_behind(found):
            return found
        text = self._texts[chunk.document_id or 0]
        start, end, kept = place(chunk, text)
        if kept < len(chunk.text) and not self._still_matches(chunk.text, text[start:end], kept, score):
            return None
        return found._replace(chunk=chunk._replace(text=text[start:end], char_start=start, char_end=end))

    def _still_matches(self, before: str, now: str, kept: int, score: Shown) -> bool:
        """Return whether a passage that has changed is still a hit: by its words, or else by what is left of it."""
        if not now.strip() or not self._accepts(now):
            return False
        if score.keyword and self._highlights(before):
            return bool(self._highlights(now))
        return kept >= KEPT_SHARE * len(before)


def _repeated(found: Mapping[int, FoundChunk], current: Mapping[int, FoundChunk]) -> set[int]:
    """Return the passages of earlier revisions that overlap a newer one of the same document, and the changed ones
    that overlap any other."""
    ranges: dict[int | None, list[tuple[int, int, int]]] = {}
    repeated = set()

    def age(id: int) -> tuple[int, bool]:
        return current[id].revision - current[id].indexed_revision, current[id].chunk.text != found[id].chunk.text

    for id in sorted(current, key=age):
        chunk, (revisions, is_changed) = current[id].chunk, age(id)
        others = ranges.setdefault(chunk.document_id, [])
        if any(
            chunk.char_start < end and start < chunk.char_end and (is_changed or newer < revisions)
            for start, end, newer in others
        ):
            repeated.add(id)
        else:
            others.append((chunk.char_start, chunk.char_end, revisions))
    return repeated


class _Positions:
    """Looks up lines and columns. Each piece of a line index is decoded once per page."""

    def __init__(self, lines: Mapping[LineKey, bytes]) -> None:
        self._lines = lines
        self._decoded: dict[LineKey, LinePiece] = {}

    def of(self, found: FoundChunk, index: int) -> tuple[int | None, int | None]:
        """Return the line and column of a character of the document; None if it has no file or no line index."""
        piece = line_key(found, index // PIECE)
        decoded = self._decoded.get(piece)
        if decoded is None:
            if found.path is None or piece not in self._lines:
                return None, None
            decoded = self._decoded[piece] = LinePiece(self._lines[piece])
        return decoded.position(index)
