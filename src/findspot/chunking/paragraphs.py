"""Cuts a document by paragraphs: a short paragraph is one chunk, a long one is cut like any text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from findspot.chunking.cut import OVERLAP, SIZE, cut
from findspot.chunking.identity import content_hash, document_chunk_id


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a document: `text[start:end]`, a paragraph or a part of one.

    `paragraph` is the content hash of the whole paragraph. `nth` numbers the paragraphs with the same text from 0.
    `part` of `parts` numbers the chunks of the paragraph, and `index` the passages of the document.
    """

    start: int
    end: int
    index: int
    paragraph: str
    nth: int
    part: int
    parts: int

    def id(self, document_id: int) -> str:
        """Return the engine's id of this passage."""
        return document_chunk_id(document_id, self.paragraph, self.nth, self.part, self.parts)


def cut_paragraphs(
    text: str, paragraphs: Iterable[tuple[int, int]], size: int = SIZE, overlap: int = OVERLAP
) -> Iterator[Passage]:
    """Yield the passages of a document in order. `paragraphs` are spans of its text."""
    seen: Counter[str] = Counter()
    index = 0
    for start, end in paragraphs:
        paragraph = text[start:end]
        chunks = list(cut(paragraph, size, overlap))
        if not chunks:
            continue
        name = content_hash(paragraph)
        for chunk in chunks:
            span = (start + chunk.start, start + chunk.end)
            yield Passage(*span, index, name, seen[name], chunk.index, len(chunks))
            index += 1
        seen[name] += 1
