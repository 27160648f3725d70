"""Turns matches in the text of a Markdown document into edits of its source.

A replacement goes to the place of the match's first character, so it has that character's marks. The other characters
of the match are removed; the markup between them stays. `markdown_mark_edits` has what marks need beside that. A line
end beside a match changes if it would read differently: as a space or as nothing, as the characters around it decide.

Escaping is not always enough, because the characters beside `**` and `_` decide whether they are markup. So there are
three ways to write a match: `PLAIN`; `GUARDED`, which writes an entity for the character outside such markup, joins
lines that would be empty, and gives code a new fence; and `STRICT`, which also writes entities for everything in and
beside the replacement that is no letter or digit, and a comment in place of a block's whole text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from findspot.replacing import markdown_escape as escape
from findspot.replacing.edits import Edit, apply_edits
from findspot.replacing.markdown_mark_edits import PLAIN, STRICT, Choice, MarkEdits, MarkedText
from findspot.sources import Block, Extract
from findspot.sources.markdown import LONE_RETURN
from findspot.sources.writer import joins_lines

if TYPE_CHECKING:
    from findspot.replacing.matching import Match

_LINE_END = re.compile(r"[ \t]*(?:\r\n|\r|\n)[ \t>]*")
_EMPHASIS = frozenset({"Emphasis", "Strong", "Strikethrough"})
_EMPTY_BLOCK = "<!-- -->"  # without text a list item may end, or not even begin
_NEIGHBOURS = 20  # characters beside a match that are written as entities at most

_SharedParts = dict[int, list[tuple[int, int, str]]]
"""For a run that has one place for all its characters: the parts of matches in it, and what replaces each."""


class MarkdownDraft:
    """A Markdown source that can be written with some of its matches replaced."""

    def __init__(self, source: str, extract: Extract) -> None:
        self.source = source
        self.extract = extract
        self._mark_edits = MarkEdits(source, extract)
        self._normal = LONE_RETURN.sub("\n", source)
        emphasis = [mark for mark in self._mark_edits.marks if mark.kind in _EMPHASIS]
        self._emphasis_starts = [mark.start for mark in emphasis]
        self._emphasis_ends = sorted(mark.end for mark in emphasis)
        code = [mark for mark in self._mark_edits.marks if mark.kind == "Code"]
        self._code_starts, self._code_ends = [mark.start for mark in code], [mark.end for mark in code]
        self._block_starts = [block.start for block in extract.blocks]

    def block_number(self, index: int) -> int:
        """Return the number of the block that contains code point `index` of the text."""
        return bisect_right(self._block_starts, index) - 1

    def write(self, choices: Sequence[Choice]) -> tuple[str, list[MarkedText]]:
        """Return the source with the chosen matches replaced, and the marked texts that it should have."""
        edits: list[Edit] = []
        shared: _SharedParts = defaultdict(list)
        for number, choice in enumerate(choices):
            edits += self._match_edits(choice, shared)
            block = self._block(choice.match)
            if block.kind not in ("code", "html"):
                first = max(block.start, choices[number - 1].match.end if number else 0)
                last = min(block.end, choices[number + 1].match.start if number + 1 < len(choices) else block.end)
                edits += self._beside(choice, block, first, last)
        edits += [self._shared_edit(run, parts) for run, parts in shared.items()]
        mark_edits, kept = self._mark_edits.plan(choices)
        return apply_edits(self.source, edits + mark_edits), kept

    def _block(self, match: Match) -> Block:
        return self.extract.blocks[self.block_number(match.start)]

    # ── the match itself ──

    def _match_edits(self, choice: Choice, shared: _SharedParts) -> Iterator[Edit]:
        """Yield the edits of a match's own places. Parts of a run that shares one place go to `shared`."""
        match, runs = choice.match, self.extract.runs
        text = self._encoded(choice)
        done = -1
        for run in runs.covering(match.start, match.end):
            first = max(match.start, runs.text_starts[run])
            last = min(match.end, runs.text_end(run, len(self.extract.text)))
            start, end = runs.source(run, first, last, len(self.extract.text))
            start = self._with_blanks_before(first, start)
            if done >= 0:
                yield from self._joined(done, start)
            if self._shares_place(run):
                shared[run].append((first, last, text))
            else:
                yield Edit(start, end, text)
            text, done = "", end

    def _with_blanks_before(self, index: int, start: int) -> int:
        """Return the start of a place, with the white space in front of a line end, which the text does not show."""
        if index and self.source[start] in "\r\n":
            before = self.extract.place(index - 1).end
            if before < start and not self.source[before:start].strip(" \t"):
                return before
        return start

    def _shares_place(self, run: int) -> bool:
        runs = self.extract.runs
        length = runs.text_end(run, len(self.extract.text)) - runs.text_starts[run]
        return runs.ends[run] - runs.starts[run] != length

    def _shared_edit(self, run: int, parts: list[tuple[int, int, str]]) -> Edit:
        """Return the edit of a run with one place, such as an entity for two letters: what is kept is written again."""
        runs, text = self.extract.runs, self.extract.text
        done, end = runs.text_starts[run], runs.text_end(run, len(text))
        is_code = self.extract.blocks[self.block_number(done)].kind == "code"
        written: list[str] = []
        for first, last, new in [*parts, (end, end, "")]:
            kept = text[done:first]
            written += [kept if is_code else escape.with_entities(kept), new]
            done = last
        return Edit(runs.starts[run], runs.ends[run], "".join(written))

    def _encoded(self, choice: Choice) -> str:
        """Return the replacement as it is written at the place of the match's first character."""
        match, way = choice
        block, text = self._block(match), match.replacement
        if block.kind == "code":
            return text.replace("\n", "\n" + self._line_prefix(match.start, block.start))
        if block.kind == "html":
            return escape.with_entities(text) if way == STRICT else escape.escape_html(text)
        before, after = self._gaps(match, block)
        if self._is_in_code_span(before[1]):
            return text.replace("|", "\\|") if block.kind == "row" else text
        first = last = ""
        if way != PLAIN and text and self._opens_emphasis(*after):
            text, last = text[:-1], escape.entity(text[-1])
        if way != PLAIN and text and self._closes_emphasis(*before):
            first, text = escape.entity(text[0]), text[1:]
        if way == STRICT and not match.replacement and (match.start, match.end) == (block.start, block.end):
            return _EMPTY_BLOCK
        if way == STRICT:
            return first + escape.with_entities(text) + last
        at_line_start = not first and (match.start == block.start or self._line_begins(match.start))
        return first + escape.escape_inline(text, at_line_start, self.source.startswith("[", after[0])) + last

    def _gaps(self, match: Match, block: Block) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the parts of the source between a replacement and the characters before and after the match."""
        run = self.extract.runs.at(match.start)
        first_end = min(match.end, self.extract.runs.text_end(run, len(self.extract.text)))
        start, end = self.extract.runs.source(run, match.start, first_end, len(self.extract.text))
        before = self.extract.place(match.start - 1).end if match.start > block.start else start
        after = self.extract.place(match.end).start if match.end < block.end else len(self.source)
        return (before, start), (end, after)

    def _opens_emphasis(self, start: int, end: int) -> bool:
        """Return whether emphasis begins in `source[start:end]`."""
        following = bisect_left(self._emphasis_starts, start)
        return following < len(self._emphasis_starts) and self._emphasis_starts[following] < end

    def _closes_emphasis(self, start: int, end: int) -> bool:
        """Return whether emphasis ends in `source[start:end]`."""
        following = bisect_right(self._emphasis_ends, start)
        return following < len(self._emphasis_ends) and self._emphasis_ends[following] <= end

    def _line_begins(self, index: int) -> bool:
        """Return whether a line end is in the source directly before a character of a block."""
        before = self.extract.place(index - 1)
        return bool(_LINE_END.search(self.source, before.start, self.extract.place(index).start))

    def _line_prefix(self, index: int, block_start: int) -> str:
        """Return the quote markers and the indentation in front of a line of code."""
        text_line = max(self.extract.text.rfind("\n", block_start, index) + 1, block_start)
        start = self.extract.place(text_line).start
        return self._normal[self._normal.rfind("\n", 0, start) + 1 : start]

    def _is_in_code_span(self, place: int) -> bool:
        last = bisect_right(self._code_starts, place) - 1
        return last >= 0 and place < self._code_ends[last]

    # ── beside the match ──

    def _beside(self, choice: Choice, block: Block, first: int, last: int) -> Iterator[Edit]:
        """Yield edits of line ends and characters beside a match, between the matches that end and begin there."""
        match, text = choice.match, self.extract.text
        left = text[match.start - 1] if match.start > first else ""
        right = text[match.end] if match.end < last else ""
        if not match.replacement and (match.start == block.start or match.end == block.end):
            breaks = takewhile(self._is_break, range(match.start - 1, first - 1, -1))
            breaks_after = takewhile(self._is_break, range(match.end, last))
            yield from (self._written(index, "") for index in [*breaks, *breaks_after])
        if left:
            outer = text[match.start - 2] if match.start - 1 > first else ""
            yield from self._line_end(match.start - 1, match.start, outer, left, (match.replacement or right)[:1])
        if right:
            outer = text[match.end + 1] if match.end + 1 < last else ""
            yield from self._line_end(match.end, match.end - 1, outer, right, (match.replacement or left)[-1:])
        if choice.way != PLAIN:
            for index in self._guards(choice, block, first, last):
                yield from self._as_entity(index)

    def _is_break(self, index: int) -> bool:
        place = self.extract.place(index)
        return self.extract.text[index] in " \n" and bool(_LINE_END.search(self.source, place.start, place.end))

    def _written(self, index: int, text: str) -> Edit:
        """Return the edit that writes a character in another way."""
        place = self.extract.place(index)
        return Edit(self._with_blanks_before(index, place.start), place.end, text)

    def _joined(self, start: int, end: int) -> Iterator[Edit]:
        """Yield the edit that joins two lines, if there is a line end in `source[start:end]`."""
        line_end = _LINE_END.search(self.source, start, end)
        if line_end:
            yield Edit(line_end.start(), line_end.end(), "")

    def _line_end(self, beside: int, edge: int, outer: str, character: str, new: str) -> Iterator[Edit]:
        """Keep a line end between `edge`, a character of the match, and `beside` as it reads now.

        The text shows it as nothing, or it is the space at `beside`; beyond that is the character `outer`.
        """
        places = sorted((self.extract.place(beside), self.extract.place(edge)), key=lambda place: place.start)
        gap = places[0].end, places[1].start
        if _LINE_END.search(self.source, *gap):
            if not (new and joins_lines(character, new)):
                yield from self._joined(*gap)
        elif character == " " and outer and new and self._is_break(beside) and joins_lines(outer, new):
            yield self._written(beside, " ")

    def _guards(self, choice: Choice, block: Block, first: int, last: int) -> Iterator[int]:
        """Yield the characters beside a match that are written as entities."""
        match, text = choice.match, self.extract.text
        before, after = self._gaps(match, block)
        if match.start > first and (self._is_break(match.start - 1) or self._opens_emphasis(*before)):
            yield match.start - 1
        if match.end < last and (self._is_break(match.end) or self._closes_emphasis(*after)):
            yield match.end
        if choice.way == STRICT:
            left = range(match.start - 1, max(first, match.start - _NEIGHBOURS) - 1, -1)
            yield from takewhile(lambda index: not text[index].isalnum(), left)
            yield from takewhile(
                lambda index: not text[index].isalnum(), range(match.end, min(last, match.end + _NEIGHBOURS))
            )

    def _as_entity(self, index: int) -> Iterator[Edit]:
        place, run = self.extract.place(index), self.extract.runs.at(index)
        is_alone = self.extract.runs.text_end(run, len(self.extract.text)) - self.extract.runs.text_starts[run] == 1
        if self.extract.text[index] == "\n" or place.start == place.end or self._is_in_code_span(place.start):
            return
        if is_alone or not self._shares_place(run):
            yield self._written(index, escape.entity(self.extract.text[index]))
