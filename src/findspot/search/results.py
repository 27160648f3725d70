"""Read the results of a page: for each hit a snippet, what matched in it, and its position in the current document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from findspot.content.documents import Documents
from findspot.indexing.status import IndexStatus, Problem
from findspot.models import FoundChunk, NamespaceKey
from findspot.ranking.workspace import Shown
from findspot.runtime.threads import Threads
from findspot.search.hit_rows import CURRENT, HitRows, LineKey, is_behind, line_key
from findspot.search.paging import RankedHit
from findspot.search.relocation import place
from findspot.search.snippets import snippet
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
        self._in_thread = threads.search.run

    async def read(self, namespace: str, query: "Query", hits: Sequence[RankedHit], rows: HitRows) -> ReadResults:
        """Return the hits that still exist, at their current positions."""
        found = await rows.read([hit.id for hit in hits])
        mine = {id: each for id, each in found.items() if each.chunk.namespace == namespace}
        fitting = {id: each for id, each in mine.items() if _fits(each)}
        if len(fitting) < len(mine):
            documents = {each.chunk.document_id or 0 for id, each in mine.items() if id not in fitting}
            self._index_status.report(namespace, Problem.WRONG_RANGES, sorted(documents))
        behind = sorted({each.chunk.document_id or 0 for each in mine.values() if is_behind(each)})
        lines = dict(rows.lines)
        texts = dict.fromkeys(behind, "")  # of one just deleted, or damaged, which the status reports
        if behind:
            project_id = NamespaceKey.of(namespace).project_id
            for id, (text, pieces) in (await self._documents.read_texts(project_id, behind)).items():
                texts[id] = text
                lines.update(((id, CURRENT, number), piece) for number, piece in enumerate(pieces))
        results = await self._in_thread(_results, query, fitting, texts, lines, hits)
        return ReadResults(results, missing=len(found) < len(hits))


def _fits(found: FoundChunk) -> bool:
    """Return whether the chunk's range has the length of its text."""
    return found.chunk.char_end - found.chunk.char_start == len(found.chunk.text)


def _results(
    query: "Query",
    found: Mapping[int, FoundChunk],
    texts: Mapping[int, str],
    lines: Mapping[LineKey, bytes],
    hits: Sequence[RankedHit],
) -> tuple[Result, ...]:
    from findspot.words import Highlights

    highlights = Highlights(query)
    relocated = _Relocated(query, highlights, texts)
    present = [hit for hit in hits if hit.id in found]
    current = {hit.id: each for hit in present if (each := relocated(found[hit.id], hit.score)) is not None}
    results, hidden, positions = list[Result](), _repeated(found, current), _Positions(lines)
    shown = [hit for hit in hits if hit.id in current and hit.id not in hidden]
    spans = highlights.of_each([current[hit.id].chunk.text for hit in shown])
    for (id, score, duplicates), matches in zip(shown, spans, strict=True):
        chunk = current[id].chunk
        start, end, marks = snippet(chunk.text, matches)
        span = chunk.char_start + start, chunk.char_start + end
        first_match = span[0] + (marks[0][0] if marks else 0)
        line, column = positions.of(current[id], first_match)
        results.append(Result(current[id], chunk.text[start:end], marks, *span, score, duplicates, line, column))
    return tuple(results)


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
    if not any(map(is_behind, current.values())):
        return set()
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
        if found.path is None or piece not in self._lines:
            return None, None
        if piece not in self._decoded:
            self._decoded[piece] = LinePiece(self._lines[piece])
        return self._decoded[piece].position(index)
