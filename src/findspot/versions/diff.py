"""A readable word diff of two texts.

Lines are aligned first, then the sentences of changed lines, then the words of changed sentences, so the work depends
on the size of the change. When the work budget is used up, the rest stays coarse. The texts of equal and delete
together are always the old text, and those of equal and insert the new one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from findspot.versions.alignment import Budget, align
from findspot.versions.words import words

Op = Literal["equal", "delete", "insert"]

STEPS = 3_000_000
"""The maximum work of a diff, about three seconds."""

_SENTENCE = re.compile(r"[^.!?;。！？；…]*+(?:[.!?;。！？；…]++[\s」』”’）)\"']*+)?")

Cut = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Change:
    """A part of the text that is equal, deleted or inserted."""

    op: Op
    text: str


def diff(old: str, new: str) -> list[Change]:
    """Return the changes from old to new. Neighbours never have the same op; a deletion precedes its insertion."""
    budget = Budget(STEPS)
    pairs = [_Pair(old, new, old == new)]
    for cut, steps_per_character in _CUTS:
        pairs = _refined(pairs, cut, steps_per_character, budget)
    script = _Script()
    for pair in pairs:
        script.add(pair)
    return script.changes()


@dataclass(frozen=True, slots=True)
class _Pair:
    """An old text and the new text in its place."""

    old: str
    new: str
    equal: bool


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE.findall(text) if sentence]


_CUTS: tuple[tuple[Cut, float], ...] = ((_lines, 0.0), (_sentences, 0.05), (words, 0.3))
"""Ways to split a text, from coarse to fine, with the cost of splitting one character in steps."""


def _refined(pairs: list[_Pair], cut: Cut, steps_per_character: float, budget: Budget) -> list[_Pair]:
    """Split every change more finely, the smallest first, so that one large change does not use up the budget."""
    finer: dict[int, list[_Pair]] = {}
    changed = [number for number, pair in enumerate(pairs) if not pair.equal and pair.old and pair.new]
    for number in sorted(changed, key=lambda number: len(pairs[number].old) + len(pairs[number].new)):
        old, new = pairs[number].old, pairs[number].new
        if budget.pay(int(steps_per_character * (len(old) + len(new)))):
            finer[number] = list(_aligned(cut(old), cut(new), budget))
    return [part for number, pair in enumerate(pairs) for part in finer.get(number, [pair])]


def _aligned(old: Sequence[str], new: Sequence[str], budget: Budget) -> Iterator[_Pair]:
    """Yield both sequences from start to end as pairs of texts that are equal or replace each other."""
    old_done = new_done = 0
    for old_start, new_start, length in [*align(old, new, budget), (len(old), len(new), 0)]:
        if old_done < old_start or new_done < new_start:
            yield _Pair("".join(old[old_done:old_start]), "".join(new[new_done:new_start]), False)
        old_done, new_done = old_start + length, new_start + length
        if length:
            same = "".join(old[old_start:old_done])
            yield _Pair(same, same, True)


class _Script:
    """Joins changes for readability: white space between two changes becomes part of the change."""

    def __init__(self) -> None:
        self._changes: list[Change] = []
        self._deleted: list[str] = []
        self._inserted: list[str] = []
        self._space = ""

    def add(self, pair: _Pair) -> None:
        if pair.equal and self._pending() and not self._space and _is_gap(pair.old):
            self._space = pair.old
            return
        if pair.equal:
            self._flush()
            self._append("equal", pair.old)
            return
        self._deleted += [self._space, pair.old]
        self._inserted += [self._space, pair.new]
        self._space = ""

    def changes(self) -> list[Change]:
        self._flush()
        return self._changes

    def _pending(self) -> bool:
        return bool(self._deleted or self._inserted)

    def _flush(self) -> None:
        self._append("delete", "".join(self._deleted))
        self._append("insert", "".join(self._inserted))
        self._append("equal", self._space)
        self._deleted.clear()
        self._inserted.clear()
        self._space = ""

    def _append(self, op: Op, text: str) -> None:
        if not text:
            return
        last = self._changes[-1] if self._changes else None
        if last and last.op == op:
            self._changes[-1] = Change(op, last.text + text)
        else:
            self._changes.append(Change(op, text))


def _is_gap(text: str) -> bool:
    """Return whether a text is white space inside a line. A line break is kept: it shows where paragraphs begin."""
    return text.isspace() and text.splitlines() == [text]
