"""Where every code point of a text came from, kept as runs.

A run is a stretch of the text with one origin. When the run and its source span have the same length they match code
point by code point; otherwise the whole run comes from the whole span (an entity, an escape, a line break with the
quote marker after it) or from nothing (an inserted separator, whose span is empty). Columns of integers instead of
objects keep a map of 10 MB of text at a few MB.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

FIELDS = ("", "/text", "/attrs/alt", "/attrs/label", "/attrs/latex")
"""Which string of a tree node a run comes from; "" is the node itself, which holds no string (a hard break)."""


def _column() -> array[int]:
    return array("I")


@dataclass(frozen=True, slots=True)
class Span:
    """Code points `start:end` of one string of the content; empty where nothing of the content is shown.

    Markdown and plain text are one string, so `node` and `field` are "". In a tree `node` is the JSON pointer of the
    node and `field` leads from it to its string: "/text", "/attrs/alt", or "" for a node without one.
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
    """The nodes of a tree, each known by its parent and its place there: a pointer is only spelled when asked for."""

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
        """Node 0 is the root, whose pointer is ""."""
        steps: list[str] = []
        while node:
            steps.append(f"/content/{self.steps[node]}")
            node = self.parents[node]
        return "".join(reversed(steps))

    def field(self, node: int) -> str:
        return FIELDS[self.fields[node]]


@dataclass(frozen=True, slots=True)
class Runs:
    """Parallel columns, one row a run, ordered by where the run starts in the text."""

    text_starts: array[int] = field(default_factory=_column)
    starts: array[int] = field(default_factory=_column)
    ends: array[int] = field(default_factory=_column)
    owners: array[int] = field(default_factory=_column)
    """The node each run comes from; empty for content that is one string."""

    def __len__(self) -> int:
        return len(self.text_starts)

    def at(self, index: int) -> int:
        """The run that holds code point `index` of the text."""
        return bisect_right(self.text_starts, index) - 1

    def text_end(self, run: int, length: int) -> int:
        return self.text_starts[run + 1] if run + 1 < len(self.text_starts) else length

    def source(self, run: int, start: int, end: int, length: int) -> tuple[int, int]:
        """The source span of text `start:end`, which lies inside `run`, in a text of `length` code points."""
        first, last = self.starts[run], self.ends[run]
        text_start = self.text_starts[run]
        if last - first == self.text_end(run, length) - text_start:
            return first + start - text_start, first + end - text_start
        return first, last

    def covering(self, start: int, end: int) -> Iterator[int]:
        """The runs that hold text `start:end`, in order."""
        run = self.at(start)
        while run < len(self.text_starts) and self.text_starts[run] < end:
            yield run
            run += 1
