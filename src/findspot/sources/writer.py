"""Builds an Extract from the start of the text to its end."""

from __future__ import annotations

import re

from findspot.sources.extract import CELL_BREAK, PARAGRAPH_BREAK, Block, BlockKind, Extract
from findspot.sources.runs import Nodes, Runs

SOFT_BREAK = " "

# Scripts without spaces: Han, kana, bopomofo and their full-width punctuation; not Hangul, which has spaces.
_UNSPACED = re.compile(
    "[\u2e80-\u312f\u31a0-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff9f\U00020000-\U0003ffff]"
)


def joins_lines(before: str, after: str) -> bool:
    """Return whether a soft break between two characters is not shown, because their scripts have no spaces."""
    return bool(_UNSPACED.match(before) and _UNSPACED.match(after))


class TextWriter:
    """Writes text with its places. A break is held until text follows it in the same block.

    So a break at the edge of a block is dropped, and so is a block without text.
    """

    def __init__(self, nodes: Nodes | None = None) -> None:
        self._nodes = nodes
        self._runs = Runs()
        self._parts: list[str] = []
        self._length = 0
        # Source offset minus text offset of the last run, if they match code point by code point.
        self._shift: int | None = None
        self._blocks: list[Block] = []
        self._block_start = -1
        self._kind: BlockKind = "paragraph"
        self._after_rule = False
        self.level = 1  # of the next heading
        self._held: list[tuple[str, int, int, int]] = []
        self._separator = ""

    def write(self, text: str, start: int, end: int, kind: BlockKind, owner: int = 0) -> None:
        """Write text that comes from source `start:end`. Open a block of `kind` if none is open."""
        if not text:
            return
        if self._block_start < 0:
            self._open(kind)
        elif self._separator:
            self._insert(self._separator)
        else:
            self._write_held(text[0])
        self._held.clear()
        self._separator = ""
        self._append(text, start, end, owner)

    def hold(self, text: str, start: int, end: int, owner: int = 0) -> None:
        """Hold a break that has a place. It is written only between two texts of one block."""
        if self._block_start >= 0 and not self._separator:
            self._held.append((text, start, end, owner))

    def extend_break(self, end: int) -> None:
        """Extend the last held break to `end`: it includes the indentation and quote markers of the next line."""
        if self._held and end > self._held[-1][2]:
            text, start, _, owner = self._held[-1]
            self._held[-1] = (text, start, end, owner)

    def separate(self, separator: str) -> None:
        """Hold a break without a place, written only between two texts of one block. A cell break replaces others."""
        if self._block_start >= 0 and self._separator != CELL_BREAK:
            self._separator = separator
            self._held.clear()

    def close(self) -> None:
        """Close the block if one is open."""
        if self._block_start >= 0:
            level = self.level if self._kind == "heading" else 0
            self._blocks.append(Block(self._block_start, self._length, self._kind, level, self._after_rule))
            self._block_start = -1
            self._after_rule = False
        self._held.clear()
        self._separator = ""

    def rule(self) -> None:
        """Close the block, and note that a thematic break follows it."""
        self.close()
        self._after_rule = True

    def extract(self) -> Extract:
        self.close()
        return Extract("".join(self._parts), tuple(self._blocks), self._runs, self._nodes)

    def _open(self, kind: BlockKind) -> None:
        if self._length:
            self._insert(PARAGRAPH_BREAK)
        self._block_start = self._length
        self._kind = kind

    def _write_held(self, following: str) -> None:
        for text, start, end, owner in self._held:
            if text == SOFT_BREAK and joins_lines(self._parts[-1][-1], following):
                continue
            self._append(text, start, end, owner)

    def _insert(self, text: str) -> None:
        """Insert text that is not in the source. Its place is empty, after the last character."""
        end = self._runs.ends[-1]
        self._append(text, end, end, self._runs.owners[-1] if self._nodes is not None else 0)

    def _append(self, text: str, start: int, end: int, owner: int) -> None:
        length = len(text)
        matches = end - start == length
        shift = start - self._length
        if matches and shift == self._shift:
            self._runs.ends[-1] = end
        else:
            runs = self._runs
            runs.text_starts.append(self._length)
            runs.starts.append(start)
            runs.ends.append(end)
            if self._nodes is not None:
                runs.owners.append(owner)
            # The strings of a tree all start at 0, so their runs are never merged.
            self._shift = shift if matches and self._nodes is None else None
        self._parts.append(text)
        self._length += length
