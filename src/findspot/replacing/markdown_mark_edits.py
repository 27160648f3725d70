"""Edits of marks in a Markdown source that the matches inside them make necessary.

* Emphasis, links and code spans that lose all their text are removed. An image stays.
* A link whose text is also its reference gets a reference: `[a]` becomes `[b][a]`.
* Where a plain edit is not enough, code gets a new fence, and `<https://…>` becomes a link with the old target.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from findspot.replacing import markdown_escape as escape
from findspot.replacing.edits import Edit, apply_edits
from findspot.sources import Extract
from findspot.sources.markdown_marks import Mark, marks

if TYPE_CHECKING:
    from findspot.replacing.matching import Match

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_CLOSING_FENCE = re.compile(r"(?:\A|[\r\n])[ \t>]*(`{3,}|~{3,})[ \t]*\Z")
_REMOVABLE = frozenset({"Emphasis", "Strong", "Strikethrough", "Link", "Code"})
_KEPT = frozenset({"Image", "InlineHtml", "Footnote"})

_NOT_COMPARED = frozenset({"InlineHtml", "Footnote", "CodeBlock"})  # `<br>` may be added; code is compared as a block

PLAIN, GUARDED, STRICT = WAYS = range(3)


class Choice(NamedTuple):
    """A match to replace, and in which way it is written."""

    match: Match
    way: int = PLAIN


class Touched(NamedTuple):
    """A mark that contains a part of some matches, and the range of its text."""

    mark: Mark
    start: int
    end: int
    choices: list[Choice]

    @property
    def way(self) -> int:
        return max(choice.way for choice in self.choices)


class MarkedText(NamedTuple):
    """The text in a mark, and where it begins in the document's text."""

    kind: str
    text: str
    start: int


def marked_texts(source: str, extract: Extract) -> list[MarkedText]:
    """Return the marked texts of a source, as they are compared with those of `MarkEdits.plan`."""
    found = [mark for mark in marks(source) if mark.kind not in _NOT_COMPARED]
    ranges = [_text_range(extract, mark) for mark in found]
    return [
        MarkedText(mark.kind, extract.text[start:end].strip(), start)
        for mark, (start, end) in zip(found, ranges, strict=True)
    ]


def _text_range(extract: Extract, mark: Mark) -> tuple[int, int]:
    """Return the range of the text that comes from inside a mark."""
    runs = extract.runs
    first, last = bisect_left(runs.starts, mark.start), bisect_left(runs.starts, mark.end)
    while last > first and runs.starts[last - 1] == runs.ends[last - 1]:
        last -= 1  # inserted after the mark
    if first == last:
        return 0, 0
    return runs.text_starts[first], runs.text_end(last - 1, len(extract.text))


class MarkEdits:
    """The marks of a source, and the edits that they need."""

    def __init__(self, source: str, extract: Extract) -> None:
        self.marks = marks(source)
        self._source = source
        self._extract = extract
        self._starts = [mark.start for mark in self.marks]
        self._ranges = [_text_range(extract, mark) for mark in self.marks]
        self._compared = [
            (mark, MarkedText(mark.kind, extract.text[start:end], start))
            for mark, (start, end) in zip(self.marks, self._ranges, strict=True)
            if mark.kind not in _NOT_COMPARED
        ]

    def plan(self, choices: Sequence[Choice]) -> tuple[list[Edit], list[MarkedText]]:
        """Return the edits of marks when the chosen matches are replaced, and the marked texts that should remain."""
        touched = list(self._touched(choices))
        emptied = self._emptied(touched)
        removed = {mark.start for mark in emptied}
        edits = [Edit(mark.start, mark.end, "") for mark in emptied]
        for each in touched:
            if each.mark.start not in removed:
                edits += self._mark_edits(each)
        new_texts = {id(each.mark): self._new_text(each) for each in touched}
        kept = self._without(emptied)
        return edits, [each._replace(text=new_texts.get(id(mark), each.text).strip()) for mark, each in kept]

    def _mark_edits(self, touched: Touched) -> Iterator[Edit]:
        mark = touched.mark
        if mark.style in ("Shortcut", "Collapsed"):
            yield self._full_reference(mark)
        elif mark.kind == "Code" and touched.way != PLAIN:
            yield self._code_span(touched)
        elif mark.style == "Fenced" and touched.way != PLAIN:
            yield from self._fences(touched)
        elif mark.style == "Autolink" and touched.way == STRICT:
            target = self._source[mark.start : mark.end]
            yield Edit(mark.start, mark.end, f"[{escape.with_entities(self._new_text(touched))}]({target})")

    def _without(self, removed: Sequence[Mark]) -> Iterator[tuple[Mark, MarkedText]]:
        """Yield the compared marks but the removed ones and those inside them."""
        starts = [mark.start for mark in removed]
        for mark, marked in self._compared:
            owner = bisect_right(starts, mark.start) - 1
            if owner < 0 or mark.start >= removed[owner].end:
                yield mark, marked

    def _touched(self, choices: Sequence[Choice]) -> Iterator[Touched]:
        starts = [each.match.start for each in choices]
        for mark, (start, end) in zip(self.marks, self._ranges, strict=True):
            first = max(0, bisect_right(starts, start) - 1)
            inside = [each for each in choices[first : bisect_left(starts, end)] if each.match.end > start]
            if inside:
                yield Touched(mark, start, end, inside)

    def _emptied(self, touched: Sequence[Touched]) -> list[Mark]:
        """Return the marks that lose all their text, without those inside another one."""
        found: list[Mark] = []
        for mark, start, end, inside in touched:
            kept = end - start - sum(min(end, each.match.end) - max(start, each.match.start) for each in inside)
            written = any(each.match.replacement and each.match.start >= start for each in inside)
            within_another = bool(found) and mark.start < found[-1].end
            if mark.kind in _REMOVABLE and not kept and not written and not within_another and self._is_bare(mark):
                found.append(mark)
        return found

    def _is_bare(self, mark: Mark) -> bool:
        """Return whether a mark contains text only: no image, no tag, no reference to a footnote."""
        first, last = bisect_left(self._starts, mark.start), bisect_left(self._starts, mark.end)
        return not any(each.kind in _KEPT for each in self.marks[first:last])

    def _full_reference(self, mark: Mark) -> Edit:
        """Return the edit that gives a link its reference, which was its text until now."""
        first = mark.start + (2 if mark.kind == "Image" else 1)
        if mark.style == "Collapsed":
            return Edit(mark.end - 2, mark.end, f"[{self._source[first : mark.end - 3]}]")
        return Edit(mark.end, mark.end, f"[{self._source[first : mark.end - 1]}]")

    def _new_text(self, touched: Touched) -> str:
        """Return the text of a mark with its matches replaced."""
        start, end = touched.start, touched.end
        parts = [
            Edit(
                max(match.start, start) - start,
                min(match.end, end) - start,
                match.replacement if match.start >= start else "",
            )
            for match, _ in touched.choices
        ]
        return apply_edits(self._extract.text[start:end], parts)

    def _code_span(self, touched: Touched) -> Edit:
        mark = touched.mark
        block = bisect_right([block.start for block in self._extract.blocks], touched.start) - 1
        in_table = self._extract.blocks[block].kind == "row"
        end = mark.start + len(self._source[mark.start : mark.end].rstrip())
        return Edit(mark.start, end, escape.code_span(self._new_text(touched), in_table))

    def _fences(self, touched: Touched) -> Iterator[Edit]:
        start, end = touched.mark.start, touched.mark.end
        opening = _FENCE.match(self._source, start)
        closing = _CLOSING_FENCE.search(self._source[start:end].rstrip())
        if opening:
            fence = escape.longer_fence(opening[1], self._new_text(touched))
            yield Edit(*opening.span(1), fence)
            if closing and start + closing.start(1) > opening.start(1):
                yield Edit(start + closing.start(1), start + closing.end(1), fence)
