"""Cuts a document into passages: a group of blocks is one chunk, and a long group is cut like any text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from findspot.chunking.cut import OVERLAP, SIZE, cut
from findspot.chunking.grouping import Paragraph, grouped
from findspot.chunking.identity import content_hash, document_chunk_id


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a document: `text[start:end]`, a group of blocks or a part of one.

    `paragraph` is the content hash of the whole group. `nth` numbers the groups with the same text from 0. `part` of
    `parts` numbers the chunks of the group, and `index` the passages of the document. `headings` are those above it.
    """

    start: int
    end: int
    index: int
    paragraph: str
    nth: int
    part: int
    parts: int
    headings: tuple[str, ...] = ()

    def id(self, document_id: int) -> str:
        """Return the engine's id of this passage."""
        return document_chunk_id(document_id, self.paragraph, self.nth, self.part, self.parts)


def cut_passages(text: str, blocks: Sequence[Paragraph], size: int = SIZE, overlap: int = OVERLAP) -> Iterator[Passage]:
    """Yield the passages of a document in order."""
    seen: Counter[str] = Counter()
    index = 0
    for group in grouped(text, blocks):
        whole = text[group.start : group.end]
        chunks = list(cut(whole, size, overlap))
        name = content_hash(whole)
        for chunk in chunks:
            span = (group.start + chunk.start, group.start + chunk.end)
            yield Passage(*span, index, name, seen[name], chunk.index, len(chunks), group.headings)
            index += 1
        seen[name] += 1
