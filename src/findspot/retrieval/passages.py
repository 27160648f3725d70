"""Passages that may be given to a model: what they are, when two repeat each other, and when two are one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from findspot.context import Context
from findspot.retrieval.redaction import Redaction
from findspot.retrieval.request import EditingContext

BREAK = "\n\n"  # between two blocks of a document
MAX_MERGED = 3_000  # characters
MOSTLY = 0.5  # share of a passage
AT_CURSOR = 60  # characters on each side of the cursor
AROUND_CURSOR = 1_000


@dataclass(frozen=True, slots=True)
class Passage:
    """A range of a document's text, with the score of its best chunk and the reasons for it.

    `chunk_ids` has the best chunk first. `meaning` is the part of the score that is calibrated similarity; None if
    vectors were not asked. `words` are those of the query that the passage contains. `redactions` are the private
    ranges, as offsets in the document and in order; they may reach beyond the passage.
    """

    document_id: int
    chunk_ids: tuple[int, ...]
    start: int
    end: int
    text: str
    score: float
    context: Context = field(default_factory=Context)
    path: str | None = None
    line: int | None = None
    meaning: float | None = None
    words: tuple[str, ...] = ()
    redactions: tuple[Redaction, ...] = ()
    is_indexed: bool = True  # the index knows this range; otherwise the document has changed since

    @property
    def chunk_id(self) -> int:
        return self.chunk_ids[0]

    @property
    def place(self) -> str:
        """Title and headings in one line."""
        return " > ".join(dict.fromkeys(filter(None, (self.context.title, *self.context.headings))))

    @property
    def own_redactions(self) -> tuple[Redaction, ...]:
        """The parts of the redactions that are in the passage."""
        inside = (
            replace(each, start=max(each.start, self.start), end=min(each.end, self.end)) for each in self.redactions
        )
        return tuple(each for each in inside if each.start < each.end)

    @property
    def shown_text(self) -> str:
        """The text with placeholders for its redactions. Everything else is as in the document."""
        parts, position = list[str](), self.start
        for each in self.own_redactions:
            parts += (self.text[position - self.start : each.start - self.start], each.placeholder)
            position = each.end
        return "".join((*parts, self.text[position - self.start :]))

    def shares(self, other: "Passage") -> int:
        """Return how many characters of the document are in both."""
        if self.document_id != other.document_id:
            return 0
        return max(0, min(self.end, other.end) - max(self.start, other.start))


class AroundCursor:
    """The text around a cursor, which is compared with many passages."""

    def __init__(self, context: EditingContext) -> None:
        self._document_id = context.document_id
        from findspot.words.likeness import Grams

        self._near = Grams(context.before[-AT_CURSOR:] + context.after[:AT_CURSOR])
        self._around = Grams(context.before[-AROUND_CURSOR:] + context.after[:AROUND_CURSOR])

    def repeated_by(self, passage: Passage) -> Literal["own_passage", "duplicate"] | None:
        """Return whether a passage is the one around the cursor, as it is now or as it was last saved; or whether one
        of another document says what already stands there."""
        from findspot.words.likeness import NEAR, Grams

        grams = Grams(passage.text)
        inside = grams.share_in(self._around)
        if passage.document_id != self._document_id:
            return "duplicate" if inside >= NEAR else None
        return "own_passage" if inside >= MOSTLY or self._near.share_in(grams) >= MOSTLY else None


def without_overlap(passage: Passage, others: Sequence[Passage]) -> Passage | None:
    """Return the part of a passage that no other one contains; None if that is less than half of it.

    Where a passage continues on both sides of another one, the longer side is kept.
    """
    spans = [(passage.start, passage.end)]
    for other in others:
        if passage.shares(other):
            sides = ((start, min(end, other.start)) for start, end in spans)
            further = ((max(start, other.end), end) for start, end in spans)
            spans = [(start, end) for start, end in (*sides, *further) if start < end]
    start, end = max(spans, key=lambda span: (span[1] - span[0], -span[0]), default=(0, 0))
    if end - start < MOSTLY * (passage.end - passage.start):
        return None
    return passage if (start, end) == (passage.start, passage.end) else _part(passage, start, end)


def _part(passage: Passage, start: int, end: int) -> Passage:
    text = passage.text[start - passage.start : end - passage.start]
    return replace(passage, start=start, end=end, text=text, line=passage.line if start == passage.start else None)


def merged(passage: Passage, other: Passage) -> Passage | None:
    """Return two neighbours of a document as one passage; None if they are no neighbours, or read no better as one.

    Together they read better if they stand below the same headings, so that one continues the other. The result has
    the score of the better one.
    """
    if passage.document_id != other.document_id or passage.context != other.context:
        return None
    first, second = sorted((passage, other), key=lambda each: (each.start, each.end))
    if second.end - first.start > MAX_MERGED or second.end <= first.end:
        return None
    gap = second.start - first.end
    if gap > 0 and not _has_break(first, second, gap):
        return None  # what is between them is not known
    text = first.text + (BREAK + second.text if gap > 0 else second.text[-gap:])
    better, worse = sorted((passage, other), key=lambda each: -each.score)
    return replace(
        better,
        chunk_ids=(*better.chunk_ids, *worse.chunk_ids),
        start=first.start,
        end=second.end,
        text=text,
        line=first.line,
        words=tuple(dict.fromkeys((*better.words, *worse.words))),
        redactions=_united(first.redactions, second.redactions),
    )


def _has_break(first: Passage, second: Passage, gap: int) -> bool:
    """Return whether two passages are separated by BREAK: they end and begin with blocks, which nothing else separates
    by two characters, unless lines end with carriage returns."""
    are_blocks = first.is_indexed and second.is_indexed
    return are_blocks and gap == len(BREAK) and "\r" not in first.text and "\r" not in second.text


def _united(one: Sequence[Redaction], other: Sequence[Redaction]) -> tuple[Redaction, ...]:
    """Return the redactions of both in order. Where two overlap, the second one begins where the first one ends."""
    found: list[Redaction] = []
    for each in sorted({*one, *other}, key=lambda each: (each.start, -each.end, each.placeholder)):
        start = max(each.start, found[-1].end) if found else each.start
        if start < each.end:
            found.append(replace(each, start=start))
    return tuple(found)
