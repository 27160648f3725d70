"""The mapping from the code points of a text to its source, stored as runs.

A run is a part of the text with one origin. If the run and its source span have the same length, they match code point
by code point. Otherwise the whole run comes from the whole span (an entity, an escape, a line break with the quote
marker after it) or from nothing (an inserted separator, whose span is empty). Integer columns instead of objects keep
the mapping of 10 MB of text at a few MB.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

FIELDS = ("", "/text", "/attrs/alt", "/attrs/label", "/attrs/latex")
"""The string of a tree node that a run comes from. "" is the node itself, which has no string (a hard break)."""


def _column() -> array[int]:
    return array("I")


@dataclass(frozen=True, slots=True)
class Span:
    """Code points `start:end` of one string of the content; empty for inserted text.

    Markdown and plain text are one string, so `node` and `field` are "". In a tree, `node` is the JSON pointer of the
    node and `field` is the pointer from there to its string: "/text", "/attrs/alt", or "" for a node without one.
    """

    start: int
    end: int
    node: str = ""
    field: str = ""

    @property
    def pointer(self) -> str:
        """The JSON pointer of the string itself."""
        return self.node + self.field


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes of a tree, stored as parent and index. A pointer is only built on request."""

    parents: array[int] = field(default_factory=_column)
    steps: array[int] = field(default_factory=_column)
    positions: array[int] = field(default_factory=_column)
    fields: array[int] = field(default_factory=lambda: array("B"))

    def add(self, parent: int, step: int, position: int, field_index: int = 0) -> int:
        self.parents.append(parent)
        self.steps.append(step)
        self.positions.append(position)
        self.fields.append(field_index)
        return len(self.parents) - 1

    def pointer(self, node: int) -> str:
        """Return the JSON pointer of a node. Node 0 is the root, with the pointer ""."""
        steps: list[str] = []
        while node:
            steps.append(f"/content/{self.steps[node]}")
            node = self.parents[node]
        return "".join(reversed(steps))

    def field(self, node: int) -> str:
        return FIELDS[self.fields[node]]


@dataclass(frozen=True, slots=True)
class Runs:
    """Parallel columns with one row per run, ordered by the start of the run in the text."""

    text_starts: array[int] = field(default_factory=_column)
    starts: array[int] = field(default_factory=_column)
    ends: array[int] = field(default_factory=_column)
    owners: array[int] = field(default_factory=_column)
    """The node that each run comes from; empty for content that is one string."""

    def __len__(self) -> int:
        return len(self.text_starts)

    def at(self, index: int) -> int:
        """Return the run that contains code point `index` of the text."""
        return bisect_right(self.text_starts, index) - 1

    def text_end(self, run: int, length: int) -> int:
        return self.text_starts[run + 1] if run + 1 < len(self.text_starts) else length

    def source(self, run: int, start: int, end: int, length: int) -> tuple[int, int]:
        """Return the source span of `text[start:end]`, which is inside `run`, in a text of `length` code points."""
        first, last = self.starts[run], self.ends[run]
        text_start = self.text_starts[run]
        if last - first == self.text_end(run, length) - text_start:
            return first + start - text_start, first + end - text_start
        return first, last

    def covering(self, start: int, end: int) -> Iterator[int]:
        """Yield the runs that cover `text[start:end]`, in order."""
        run = self.at(start)
        while run < len(self.text_starts) and self.text_starts[run] < end:
            yield run
            run += 1
