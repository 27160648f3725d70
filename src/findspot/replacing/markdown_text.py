"""Edits the text of a Markdown source. Only the places of the matches change, and what must change with them.

Letters that replace letters are written at once where they cannot be markup (`markdown_letters`). Every other result is
parsed again and compared with what a reader expects: the old text with the matches replaced, in the
same blocks, with the same marks. Where escaping is not enough, the matches of the blocks that differ are
written in a stricter way (`markdown_draft` has three). Matches that still change other text are left as they are, and
reported.

White space at the edges of a block, and blocks that become empty, are not part of a Markdown text: they may go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from findspot.replacing.markdown_draft import MarkdownDraft
from findspot.replacing.markdown_letters import replace_letters
from findspot.replacing.markdown_mark_edits import GUARDED, STRICT, WAYS, Choice, MarkedText, marked_texts
from findspot.sources import Block, Extract, SourceError, markdown

if TYPE_CHECKING:
    from findspot.replacing.matching import Match

MAX_WORK: Final = 10_000_000
"""Characters that are parsed to find the matches that cannot be replaced; those not decided by then are left."""

_COST_OF_MATCH = 50  # characters that take as much work
_BLANK_EDGES = re.compile(r"\A(?:[ \t]*\n)+|(?:\n[ \t]*)+\Z")
_SPACES = re.compile(r"\s+")


def rewrite_markdown(content: str, extract: Extract, matches: Sequence[Match]) -> tuple[str, tuple[Match, ...]]:
    """Return the source with the matches replaced, and the matches that could not be replaced."""
    letters = replace_letters(content, extract, matches)
    if letters is not None:
        return letters, ()
    draft = MarkdownDraft(content, extract)
    reader = _Reader(draft)
    choices = [Choice(match) for match in matches]
    for stricter in (GUARDED, STRICT, STRICT):
        wrong = reader.wrong_blocks(choices)
        if not wrong:
            return reader.written, ()
        choices = [
            each if draft.block_number(each.match.start) not in wrong else Choice(each.match, stricter)
            for each in choices
        ]
    accepted = reader.acceptable(choices, wrong)
    content, _ = draft.write(accepted)
    replaced = {each.match.start for each in accepted}
    return content, tuple(match for match in matches if match.start not in replaced)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A block as a reader sees it: kind, level, and text."""

    kind: str
    level: int
    text: str

    @classmethod
    def of(cls, block: Block, text: str) -> _Shape:
        if block.kind == "code":
            return cls("code", 0, _BLANK_EDGES.sub("", text))
        # A browser shows any white space in HTML as one space.
        return cls(block.kind, block.level, _SPACES.sub(" ", text).strip() if block.kind == "html" else text)

    def reads_as(self, expected: _Shape) -> bool:
        """Return whether this block is the expected one. White space at its edges may be missing, except in code."""
        if (self.kind, self.level) != (expected.kind, expected.level):
            return False
        text = expected.text
        if self.kind == "code":
            return self.text == text
        return self.text in (text, text.strip(), text.lstrip(), text.rstrip())


class _Reader:
    """Compares a written draft with what a reader expects."""

    def __init__(self, draft: MarkdownDraft) -> None:
        self._draft = draft
        self.written = ""

    def wrong_blocks(self, choices: Sequence[Choice]) -> frozenset[int]:
        """Write the draft, and return the numbers of the blocks that do not read as expected; none if it is right."""
        old = self._draft.extract
        self.written, kept = self._draft.write(choices)
        everything = frozenset(range(len(old.blocks)))
        try:
            new = markdown.extract(self.written)
        except SourceError:
            return everything
        expected = self._expected(choices)
        visible = [number for number, shape in enumerate(expected) if shape.text.strip()]
        shown = [_Shape.of(block, new.text[block.start : block.end]) for block in new.blocks]
        wrong = _differing([expected[number] for number in visible], [shape for shape in shown if shape.text.strip()])
        if wrong:
            return frozenset(visible[place] for place in wrong if 0 <= place < len(visible)) or everything
        return self._blocks_of_wrong_marks(kept, marked_texts(self.written, new), everything)

    def _blocks_of_wrong_marks(
        self, expected: Sequence[MarkedText], shown: Sequence[MarkedText], everything: frozenset[int]
    ) -> frozenset[int]:
        if len(expected) != len(shown):
            return everything
        pairs = zip(expected, shown, strict=True)
        return frozenset(
            self._draft.block_number(one.start)
            for one, other in pairs
            if (one.kind, one.text) != (other.kind, other.text)
        )

    def acceptable(self, choices: Sequence[Choice], wrong: frozenset[int]) -> list[Choice]:
        """Return as many of the choices as can be written without changing other text: not all in `wrong` blocks."""
        self._work = MAX_WORK
        sure = [each for each in choices if self._draft.block_number(each.match.start) not in wrong]
        if not sure or self.wrong_blocks(sure):
            return self._accepted([], choices)
        return self._accepted(sure, [each for each in choices if self._draft.block_number(each.match.start) in wrong])

    def _accepted(self, accepted: list[Choice], more: Sequence[Choice]) -> list[Choice]:
        """Return the accepted choices with as many more as possible: all of them, or those of each half."""
        for way in WAYS:
            tried = sorted([*accepted, *(Choice(each.match, way) for each in more)], key=_start)
            self._work -= len(self._draft.source) + _COST_OF_MATCH * len(tried)
            if self._work < 0:
                return accepted
            if not self.wrong_blocks(tried):
                return tried
        if len(more) == 1:
            return accepted
        half = len(more) // 2
        return self._accepted(self._accepted(accepted, more[:half]), more[half:])

    def _expected(self, choices: Sequence[Choice]) -> list[_Shape]:
        text, following = self._draft.extract.text, 0
        shapes: list[_Shape] = []
        for block in self._draft.extract.blocks:
            parts, done = [], block.start
            while following < len(choices) and choices[following].match.start < block.end:
                match = choices[following].match
                parts += [text[done : match.start], match.replacement]
                done = match.end
                following += 1
            shapes.append(_Shape.of(block, "".join([*parts, text[done : block.end]])))
        return shapes


def _start(choice: Choice) -> int:
    return choice.match.start


def _differing(expected: Sequence[_Shape], shown: Sequence[_Shape]) -> Sequence[int]:
    """Return the places of the expected blocks that differ, and of those beside them if their number differs."""
    if len(expected) == len(shown):
        pairs = zip(expected, shown, strict=True)
        return [place for place, (one, other) in enumerate(pairs) if not other.reads_as(one)]
    same = _common(expected, shown)
    rest = _common(expected[same:][::-1], shown[same:][::-1])
    return range(same - 1, len(expected) - rest + 1)


def _common(expected: Sequence[_Shape], shown: Sequence[_Shape]) -> int:
    """Return how many blocks at the start are as expected."""
    pairs = zip(expected, shown, strict=False)
    return next(
        (number for number, (one, other) in enumerate(pairs) if not other.reads_as(one)), min(len(expected), len(shown))
    )
