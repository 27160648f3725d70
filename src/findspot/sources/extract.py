"""The plain text of a document, with a mapping from every character to its source.

Four rules hold for every format:

* Every code point of the text has a place. Inserted characters (the break between two paragraphs, the tab between two
  cells) have an empty span directly after the character before them.
* Places are in ascending order.
* A block is indexed as one paragraph. Blocks contain every character except the breaks between them.
* If the text shows a source character as another one (entities, escapes, line endings), its place is the whole source
  span that must be edited to change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from findspot.sources.runs import Nodes, Runs, Span

PARAGRAPH_BREAK = "\n\n"
LINE_BREAK = "\n"
CELL_BREAK = "\t"

BlockKind = Literal["paragraph", "heading", "item", "code", "row", "html"]


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph: `text[start:end]`, without the breaks around it.

    `level` is that of a heading, from 1. `after_rule` says that a thematic break separates it from the block before.
    """

    start: int
    end: int
    kind: BlockKind
    level: int = 0
    after_rule: bool = False


@dataclass(frozen=True, slots=True)
class Extract:
    """A document's text, its blocks in order, and the place of each code point in the content."""

    text: str
    blocks: tuple[Block, ...]
    runs: Runs
    nodes: Nodes | None = None

    def place(self, index: int) -> Span:
        """Return the place of code point `index` in the content."""
        if not 0 <= index < len(self.text):
            raise IndexError(f"no character {index} in a text of {len(self.text)}")
        return self._span(self.runs.at(index), index, index + 1)

    def spans(self, start: int, end: int) -> list[Span]:
        """Return the content spans of `text[start:end]` in order. Adjacent spans of one string are merged."""
        if not 0 <= start <= end <= len(self.text):
            raise IndexError(f"no range {start}:{end} in a text of {len(self.text)}")
        if start == end:
            return []
        found: list[Span] = []
        for run in self.runs.covering(start, end):
            run_start = max(start, self.runs.text_starts[run])
            run_end = min(end, self.runs.text_end(run, len(self.text)))
            span = self._span(run, run_start, run_end)
            last = found[-1] if found else None
            if last and last.end == span.start and last.node == span.node and last.field == span.field:
                found[-1] = Span(last.start, span.end, last.node, last.field)
            else:
                found.append(span)
        return found

    def position(self, index: int) -> int | None:
        """Return the ProseMirror position before code point `index`, in UTF-16 units; None if the content is no tree.

        Inside an attribute (an image's alt text) it is the position before the node.
        """
        if self.nodes is None:
            return None
        span = self.place(index)
        run = self.runs.at(index)
        owner = self.runs.owners[run]
        before_node = self.nodes.positions[owner]
        if span.field != "/text":
            return before_node
        # A separator has an empty span at the end of the node before it, which may have several runs.
        first = self.runs.owners.index(owner, max(0, run - 1))
        first_text = self.runs.text_starts[first]
        return before_node + utf16_length(self.text[first_text : first_text + span.start])

    def _span(self, run: int, start: int, end: int) -> Span:
        first, last = self.runs.source(run, start, end, len(self.text))
        if self.nodes is None:
            return Span(first, last)
        owner = self.runs.owners[run]
        return Span(first, last, self.nodes.pointer(owner), self.nodes.field(owner))


def utf16_length(text: str) -> int:
    """Return the length in UTF-16 units, as in JavaScript: two for each character beyond U+FFFF."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
