"""Aligns two sequences: finds equal items in the same order.

A few edits are found exactly, by Myers' algorithm. Otherwise, as in patience diff, both sequences are anchored on items
that occur once in each (groups of several items before single ones). That takes linear time and reads well. The gaps
between anchors are small and are compared exactly. All work is taken from a budget of steps. When it is used up, a gap
stays unmatched: the result is coarser but never wrong, and the same on every machine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

_ANCHOR_LENGTHS = (8, 3, 1)
"""Items per anchor, in the order tried. Long anchors work where single items repeat, as Chinese characters do."""

_MAX_EDITS = 1_000
"""With more edits, an exact alignment of a gap reads no better than a plain replacement."""


@dataclass(slots=True)
class Budget:
    """Remaining steps of work, each about a microsecond."""

    steps: int

    def pay(self, steps: int) -> bool:
        """Take steps from the budget. Return False and take nothing if it has fewer."""
        if self.steps < steps:
            return False
        self.steps -= steps
        return True


@dataclass(frozen=True, slots=True)
class _Gap:
    """Old items `old_start:old_end` against new items `new_start:new_end`."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


Match = tuple[int, int, int]
"""Old start, new start, length."""


def align(old: Sequence[Hashable], new: Sequence[Hashable], budget: Budget) -> list[Match]:
    """Return runs of equal items, ascending in both sequences."""
    if not budget.pay((len(old) + len(new)) // 4):
        return []
    old_ids, new_ids = _numbered(old, new)
    matches: list[Match] = []
    gaps = [(_trim(old_ids, new_ids, _Gap(0, len(old), 0, len(new)), matches), -1)]
    while gaps:
        gap, level = gaps.pop()
        if gap.old_start == gap.old_end or gap.new_start == gap.new_end:
            continue
        if level in (-1, len(_ANCHOR_LENGTHS)):
            exact = _exact(old_ids, new_ids, gap, budget)
            matches.extend(exact)
            if not exact and level < 0:
                gaps.append((gap, 0))
        elif budget.pay(gap.old_end - gap.old_start + gap.new_end - gap.new_start):
            anchors = _anchors(old_ids, new_ids, gap, _ANCHOR_LENGTHS[level])
            matches.extend(anchors)
            gaps.extend((_trim(old_ids, new_ids, rest, matches), level + 1) for rest in _between(gap, anchors))
    return _merged(sorted(matches))


def _numbered(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Replace the items of both sequences by numbers. Equal items get equal numbers, which are cheap to compare."""
    numbers: dict[Hashable, int] = {}
    return (
        [numbers.setdefault(item, len(numbers)) for item in old],
        [numbers.setdefault(item, len(numbers)) for item in new],
    )


def _trim(old: list[int], new: list[int], gap: _Gap, matches: list[Match]) -> _Gap:
    """Match the equal items at both ends of a gap, and return the rest."""
    shorter = min(gap.old_end - gap.old_start, gap.new_end - gap.new_start)
    head = 0
    while head < shorter and old[gap.old_start + head] == new[gap.new_start + head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[gap.old_end - 1 - tail] == new[gap.new_end - 1 - tail]:
        tail += 1
    if head:
        matches.append((gap.old_start, gap.new_start, head))
    if tail:
        matches.append((gap.old_end - tail, gap.new_end - tail, tail))
    return _Gap(gap.old_start + head, gap.old_end - tail, gap.new_start + head, gap.new_end - tail)


def _anchors(old: list[int], new: list[int], gap: _Gap, length: int) -> list[Match]:
    """Return the longest ascending sequence of item groups that occur once on each side of the gap."""
    in_old = _once(old, gap.old_start, gap.old_end, length)
    in_new = _once(new, gap.new_start, gap.new_end, length)
    runs = _runs(sorted((start, in_new[group]) for group, start in in_old.items() if group in in_new), length)
    anchors: list[Match] = []
    for old_start, new_start, size in _ascending(runs):
        last_old, last_new, last_size = anchors[-1] if anchors else (0, 0, 0)
        # Groups overlap: items of the last anchor must not be matched twice.
        overlap = max(last_old + last_size - old_start, last_new + last_size - new_start, 0)
        match = (old_start + overlap, new_start + overlap, size - overlap)
        # Groups are compared by hash, and hashes may collide.
        if overlap < size and _equal(old, new, match):
            anchors.append(match)
    return anchors


def _runs(pairs: list[tuple[int, int]], length: int) -> list[Match]:
    """Join pairs of equal groups that are consecutive on both sides."""
    runs: list[Match] = []
    for old_start, new_start in pairs:
        last_old, last_new, size = runs[-1] if runs else (-1, -1, 0)
        if old_start - last_old == new_start - last_new == size - length + 1:
            runs[-1] = (last_old, last_new, size + 1)
        else:
            runs.append((old_start, new_start, length))
    return runs


def _equal(old: list[int], new: list[int], match: Match) -> bool:
    old_start, new_start, size = match
    return old[old_start : old_start + size] == new[new_start : new_start + size]


def _once(items: list[int], start: int, end: int, length: int) -> dict[int, int]:
    """Return the start of each group of `length` items that occurs exactly once, by the hash of the group."""
    groups = zip(*(items[start + offset : end] for offset in range(length)), strict=False)
    hashes = list(map(hash, groups))
    counts = Counter(hashes)
    return {group: index for index, group in enumerate(hashes, start) if counts[group] == 1}


def _ascending(runs: list[Match]) -> list[Match]:
    """Return the longest subsequence that ascends on both sides."""
    ends: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for index, (_, new_start, _) in enumerate(runs):
        height = bisect_left(ends, new_start)
        before.append(tops[height - 1] if height else -1)
        ends[height : height + 1] = [new_start]
        tops[height : height + 1] = [index]
    chain: list[Match] = []
    index = tops[-1] if tops else -1
    while index >= 0:
        chain.append(runs[index])
        index = before[index]
    return chain[::-1]


def _between(gap: _Gap, anchors: list[Match]) -> list[_Gap]:
    """Return the gaps between the anchors of a gap."""
    left: list[_Gap] = []
    old, new = gap.old_start, gap.new_start
    for old_start, new_start, length in [*anchors, (gap.old_end, gap.new_end, 0)]:
        if old < old_start and new < new_start:
            left.append(_Gap(old, old_start, new, new_start))
        old, new = old_start + length, new_start + length
    return left


def _exact(old: list[int], new: list[int], gap: _Gap, budget: Budget) -> list[Match]:
    """Return a longest common subsequence of a gap by Myers' greedy algorithm, or nothing if it costs too much."""
    height, width = gap.old_end - gap.old_start, gap.new_end - gap.new_start
    allowed = steps = budget.steps // 4
    rounds: list[list[int]] = [[0]]
    for edits in range(min(height + width, _MAX_EDITS) + 1):
        reached: list[int] = []
        for diagonal in range(-edits, edits + 1, 2):
            x = start = _furthest(rounds[-1], diagonal, edits)
            y = x - diagonal
            while x < height and y < width and old[gap.old_start + x] == new[gap.new_start + y]:
                x += 1
                y += 1
            reached.append(x)
            allowed -= 1 + x - start
            if x >= height and y >= width:
                budget.steps -= steps - allowed
                return _trace(rounds, gap)
        if allowed <= 0:
            break
        rounds.append(reached)
    budget.steps -= steps - max(allowed, 0)
    return []


def _furthest(before: list[int], diagonal: int, edits: int) -> int:
    """Return how far one more edit reaches on a diagonal, from the neighbours in the round before."""
    if edits == 0:
        return 0
    above = (diagonal + edits) // 2
    if _inserts(before, above, edits):
        return before[above]
    return before[above - 1] + 1


def _inserts(before: list[int], above: int, edits: int) -> bool:
    """Return whether a diagonal is reached by an insertion from above rather than a deletion from below."""
    return above == 0 or (above != edits and before[above - 1] < before[above])


def _trace(rounds: list[list[int]], gap: _Gap) -> list[Match]:
    """Return the runs of equal items on the path that reached the end, followed back to the start."""
    matches: list[Match] = []
    x, y = gap.old_end - gap.old_start, gap.new_end - gap.new_start
    for edits in range(len(rounds) - 1, -1, -1):
        diagonal = x - y
        start = _furthest(rounds[edits], diagonal, edits)
        if x > start:
            matches.append((gap.old_start + start, gap.new_start + start - diagonal, x - start))
        inserted = edits > 0 and _inserts(rounds[edits], (diagonal + edits) // 2, edits)
        x, y = (start, start - diagonal - 1) if inserted else (start - 1, start - diagonal)
    return matches


def _merged(matches: list[Match]) -> list[Match]:
    """Merge adjacent runs."""
    merged: list[Match] = []
    for old, new, length in matches:
        if merged and merged[-1][0] + merged[-1][2] == old and merged[-1][1] + merged[-1][2] == new:
            merged[-1] = (merged[-1][0], merged[-1][1], merged[-1][2] + length)
        else:
            merged.append((old, new, length))
    return merged
