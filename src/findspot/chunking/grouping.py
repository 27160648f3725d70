"""Groups the blocks of a document into passages of about 300 characters; docs/chunking.md has the rules.

A border between two groups depends only on the text within `HALF` characters of it. So an edit moves the borders next
to it and no others, however long the list is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from findspot.chunking.cut import SIZE

ENOUGH = 300  # characters; a block of this length is a passage of its own
HALF = ENOUGH // 2  # the least distance between two borders


class Paragraph(NamedTuple):
    """A block of a document: `text[start:end]`.

    `level` is that of a heading, and 0 for everything else. `after_rule` separates it from the block before.
    """

    start: int
    end: int
    level: int = 0
    after_rule: bool = False


class Group(NamedTuple):
    """Blocks that make one passage: `text[start:end]`, below these headings, from the outermost to the nearest."""

    start: int
    end: int
    headings: tuple[str, ...]


class _Unit(NamedTuple):
    """A block together with the headings directly above it. Never separated."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


def grouped(text: str, blocks: Sequence[Paragraph]) -> Iterator[Group]:
    """Yield the groups of a document in order. Blank blocks are left out."""
    for headings, units in _sections(text, blocks):
        for first, last in _joined(text, units):
            yield Group(first, last, headings)


def _sections(text: str, blocks: Sequence[Paragraph]) -> Iterator[tuple[tuple[str, ...], list[_Unit]]]:
    """Yield the parts of a document between headings or rules. A heading belongs to the block below it."""
    path: list[tuple[int, str]] = []
    found: list[tuple[tuple[str, ...], list[_Unit]]] = []
    above = -1  # where the headings begin that wait for a block
    is_new = True
    for block in blocks:
        words = text[block.start : block.end]
        is_new = is_new or block.after_rule
        if not words or words.isspace():
            continue
        if block.level:
            heading = " ".join(words.split())
            path = [*(each for each in path if each[0] < block.level), (block.level, heading)]
            above = block.start if above < 0 else above
            is_new = True
            continue
        if is_new:
            found.append((tuple(heading for _, heading in path), []))
        found[-1][1].append(_Unit(block.start if above < 0 else above, block.end))
        above, is_new = -1, False
    if above >= 0:  # nothing follows the last headings
        end = max(block.end for block in blocks if text[block.start : block.end].strip())
        if not found:
            found.append((tuple(heading for _, heading in path[:-1]), [_Unit(above, end)]))
        else:
            units = found[-1][1]
            units[-1] = _Unit(units[-1].start, end)
    yield from found


def _joined(text: str, units: Sequence[_Unit]) -> Iterator[tuple[int, int]]:
    """Yield the groups of a section: long units alone, and runs of short ones split at their borders.

    A short run beside a long unit joins it, if they fit one chunk: first the one below, because a line often introduces
    what follows it.
    """
    spans: list[tuple[int, int]] = []
    waiting: tuple[int, int] | None = None  # a short run, not joined yet
    for run in _runs(units):
        start, end = run[0].start, run[-1].end
        is_long = len(run) == 1 and run[0].length >= ENOUGH
        if not is_long and end - start < HALF:
            waiting = start, end
            continue
        if is_long and waiting:
            if end - waiting[0] <= SIZE:
                start = waiting[0]
            else:
                _append(spans, waiting)
        waiting = None
        spans += [(start, end)] if is_long else _split(text, run)
    if waiting:
        _append(spans, waiting)
    yield from spans


def _append(spans: list[tuple[int, int]], short: tuple[int, int]) -> None:
    """Add a short run to the group above it if both fit one chunk, and as a group of its own otherwise."""
    if spans and short[1] - spans[-1][0] <= SIZE:
        spans[-1] = spans[-1][0], short[1]
    else:
        spans.append(short)


def _runs(units: Sequence[_Unit]) -> Iterator[list[_Unit]]:
    """Yield each long unit alone, and the short units between them together."""
    run: list[_Unit] = []
    for unit in units:
        if unit.length < ENOUGH:
            run.append(unit)
            continue
        if run:
            yield run
        yield [unit]
        run = []
    if run:
        yield run


def _split(text: str, run: Sequence[_Unit]) -> list[tuple[int, int]]:
    """Split a run of short units. A unit begins a group if its hash is the lowest within HALF characters around it."""
    first, last = run[0].start, run[-1].end
    inner = [unit for unit in run if unit.start - first >= HALF and last - unit.start >= HALF]
    hashes = [hashlib.blake2b(text[unit.start : unit.end].encode("utf-8", "surrogatepass")).digest() for unit in inner]
    borders = [inner[at].start for at in range(len(inner)) if _is_lowest(inner, hashes, at)]
    starts = [first, *borders]
    ends = {unit.start: before.end for before, unit in pairwise(run)}
    return list(zip(starts, [*(ends[border] for border in borders), last], strict=True))


def _is_lowest(units: Sequence[_Unit], hashes: Sequence[bytes], at: int) -> bool:
    here, mine = units[at].start, hashes[at]
    before, after = at - 1, at + 1
    while before >= 0 and here - units[before].start < HALF:
        if hashes[before] <= mine:
            return False
        before -= 1
    while after < len(units) and units[after].start - here < HALF:
        if hashes[after] < mine:
            return False
        after += 1
    return True
