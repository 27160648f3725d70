"""Choose passages best first until there are enough or the token budget is full."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from findspot import tokens
from findspot.retrieval import labels
from findspot.retrieval.passages import Passage, merged, without_overlap
from findspot.retrieval.request import Limits

if TYPE_CHECKING:
    from findspot.words.likeness import Grams

Reason = Literal["own_passage", "overlap", "duplicate", "budget", "top_k"]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A passage that was related enough, but is not in the answer. `tokens` is its cost if that was the reason."""

    chunk_id: int
    reason: Reason
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Chosen:
    """A passage of the answer, and the tokens of its block."""

    passage: Passage
    tokens: int


@dataclass(frozen=True, slots=True)
class Selected:
    """The passages of an answer, best first, and those that were left out.

    `text` is what a model is given: every passage in a block that is marked with `code`.
    """

    chosen: tuple[Chosen, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    used_tokens: int = 0
    code: str = ""
    text: str = ""

    @property
    def truncated(self) -> bool:
        """Whether the budget was too small for a passage."""
        return any(each.reason == "budget" for each in self.dropped)

    def within(self, most: int) -> "Selected":
        """Return the best of the passages that fit into fewer tokens."""
        chosen, dropped, text, used = list(self.chosen), list(self.dropped), self.text, self.used_tokens
        while used > most:
            last = chosen.pop()
            dropped.append(Dropped(last.passage.chunk_id, "budget", last.tokens))
            text = assembled(self.code, [each.passage for each in chosen])
            used = tokens.count(text)
        return Selected(tuple(chosen), tuple(dropped), used, self.code, text)


@dataclass(frozen=True, slots=True)
class _Kept(Chosen):
    grams: "Grams"


class Selection:
    """The passages of one answer. `code` is that of their blocks, and `prepare` finds the private values in them."""

    def __init__(self, limits: Limits, code: str, prepare: Callable[[Passage], Passage]) -> None:
        self._limits = limits
        self._code = code
        self._prepare = prepare
        self._kept: list[_Kept] = []
        self._used = tokens.count(labels.head(code))
        self._dropped: list[Dropped] = []

    def offer(self, passage: Passage) -> None:
        """Take a passage if it adds something and fits. The best one is offered first."""
        if len(self._kept) >= self._limits.top_k:
            return self.drop(passage, "top_k")
        part = without_overlap(passage, [each.passage for each in self._kept])
        if part is None:
            return self.drop(passage, "overlap")
        if self._used + self._least_cost(part) >= self._limits.max_tokens:  # not even its label fits
            return self.drop(passage, "budget", self._cost(part))
        grams = _grams(part.text)
        if any(grams.repeat(each.grams) for each in self._kept):
            return self.drop(passage, "duplicate")
        whole = self._prepare(passage)
        if not self._joined(whole):
            self._add(replace(whole, start=part.start, end=part.end, text=part.text, line=part.line), grams)
        return None

    def drop(self, passage: Passage, reason: Reason, cost: int = 0) -> None:
        self._dropped.append(Dropped(passage.chunk_id, reason, cost))

    def _add(self, passage: Passage, grams: "Grams") -> None:
        cost = self._cost(passage)
        if self._used + cost > self._limits.max_tokens:
            self.drop(passage, "budget", cost)
            return
        self._used += cost
        self._kept.append(_Kept(passage, cost, grams))

    def _joined(self, passage: Passage) -> bool:
        """Merge a passage with its neighbours among those that were chosen, if the result fits: with both, or one."""
        neighbours = [each for each in self._kept if merged(each.passage, passage) is not None]
        groups = [neighbours, *([each] for each in neighbours)] if len(neighbours) > 1 else [neighbours]
        return any(self._merge(passage, group) for group in groups if group)

    def _merge(self, passage: Passage, group: Sequence[_Kept]) -> bool:
        whole: Passage | None = passage
        for kept in group:
            whole = merged(kept.passage, whole) if whole is not None else None
        others = [each for each in self._kept if each not in group]
        if whole is None or any(whole.shares(each.passage) for each in others):
            return False
        cost, freed = self._cost(whole), sum(each.tokens for each in group)
        if self._used - freed + cost > self._limits.max_tokens:
            return False
        self._used += cost - freed
        first = self._kept.index(group[0])  # the best of them
        self._kept[first] = _Kept(whole, cost, _grams(whole.text))
        self._kept = [each for each in self._kept if each not in group[1:]]
        return True

    def _least_cost(self, passage: Passage) -> int:
        return tokens.count(labels.block(self._code, passage.document_id, passage.start, passage.end, "", ""))

    def _cost(self, passage: Passage) -> int:
        return tokens.count(block(self._code, passage))

    def finish(self) -> Selected:
        """Return what was chosen. The tokens of the whole are counted once more, and never exceed the budget."""
        chosen = tuple(Chosen(each.passage, each.tokens) for each in self._kept)
        text = assembled(self._code, [each.passage for each in chosen])
        found = Selected(chosen, tuple(self._dropped), tokens.count(text), self._code, text)
        return found.within(self._limits.max_tokens)


def _grams(text: str) -> "Grams":
    from findspot.words.likeness import Grams

    return Grams(text)


def block(code: str, passage: Passage) -> str:
    """Return a passage as a labelled block, with placeholders for private values."""
    return labels.block(code, passage.document_id, passage.start, passage.end, passage.place, passage.shown_text)


def assembled(code: str, passages: Sequence[Passage]) -> str:
    """Return all passages as the text that a model is given; nothing without passages."""
    if not passages:
        return ""
    return labels.head(code) + "".join(block(code, passage) for passage in passages)
