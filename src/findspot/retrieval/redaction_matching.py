"""Applies the rules of redaction to a folded text, and resolves overlaps between their findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from findspot.chunking.graphemes import cluster_end, is_boundary, last_boundary
from findspot.patterns import Occurrence, Pattern, compile_pattern
from findspot.retrieval.redaction_folding import Folded, allowed_form
from findspot.retrieval.redaction_rule import Rule
from findspot.retrieval.redaction_rules import Rules

_GROUP = re.compile("[0-9A-Za-z]")
_SEPARATOR = re.compile("[^0-9A-Za-z]")
_META = frozenset(r"\.+*?()|[]{}^$#&-~")


@dataclass(frozen=True, slots=True)
class Finding:
    """A private value at `text[start:end]`."""

    start: int
    end: int
    kind: str


class RuleMatcher:
    """Compiled rules."""

    def __init__(self, rules: Rules) -> None:
        self._allowed = rules.allowed
        self._rules = [_compiled(rule) for rule in rules.rules]

    def findings(self, folded: Folded) -> Iterator[Finding]:
        """Yield the findings of every rule, with offsets of the original text. They may overlap."""
        text = folded.text
        for each in self._rules:
            if each.keywords and not each.keywords.occurs_in(text):
                continue
            for start, end in each.spans(text):
                if not (self._allowed and allowed_form(text[start:end]) in self._allowed):
                    yield Finding(*folded.original(start, end), each.rule.kind)


@dataclass(frozen=True, slots=True)
class _CompiledRule:
    rule: Rule
    pattern: Pattern
    keywords: Pattern | None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the ranges to redact. After a match that the check has shortened or refused, search on inside it."""
        begin = 0
        while begin >= 0:
            again = -1
            for occurrence in self.pattern.finditer(text, begin):
                found = list(self._accepted(text, *_value(occurrence)))
                yield from found
                if found and _GROUP.search(text, found[-1][1], occurrence.end):
                    again = found[-1][1]
                elif not found and not self.keywords:  # a number may have begun too early: 2026 4111 1111 …
                    again = _next_group(text, occurrence)
                if again >= 0:
                    break
            begin = again

    def _accepted(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        for first, last in self.rule.check(text, start, end) if self.rule.check else [(start, end)]:
            if first < last and (self.rule.delimited or _stands_alone(text, first, last)):
                yield first, last


@lru_cache(maxsize=64)
def rule_matcher(rules: Rules) -> RuleMatcher:
    """Return the compiled rules. Those of a project are kept for its next answer."""
    return RuleMatcher(rules)


def widened(finding: Finding, text: str) -> Finding:
    """Return the finding with the rest of the grapheme clusters at its ends: placeholders never split a cluster."""
    start = last_boundary(text, 0, finding.start)
    end = finding.end
    if not is_boundary(text, 0, end):
        end = cluster_end(text, last_boundary(text, 0, end))
    return Finding(start, end, finding.kind)


def merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings in order and without overlaps. Overlapping ones become one range with the kind of the longest.

    Among findings of equal length, the first of the table decides.
    """
    group: list[Finding] = []
    end = 0
    for finding in sorted(findings, key=lambda each: each.start):
        if group and finding.start >= end:
            yield _union(group)
            group = []
        end = max(end, finding.end) if group else finding.end
        group.append(finding)
    if group:
        yield _union(group)


def _union(group: list[Finding]) -> Finding:
    longest = max(group, key=lambda each: each.end - each.start)
    return Finding(group[0].start, max(each.end for each in group), longest.kind)


@lru_cache(maxsize=1024)
def _compiled(rule: Rule) -> _CompiledRule:
    return _CompiledRule(rule, compile_pattern(rule.pattern), _keywords(rule.keywords) if rule.keywords else None)


def _keywords(words: tuple[str, ...]) -> Pattern:
    """Return a pattern that finds any of the words in any case."""
    escaped = ("".join(c if c.isalnum() else f"\\{c}" if c in _META else c for c in word) for word in words)
    return compile_pattern("|".join(escaped), case_sensitive=False)


def _value(occurrence: Occurrence) -> tuple[int, int]:
    taken = (span for span in occurrence.groups if span)
    return next(taken, (occurrence.start, occurrence.end))


def _next_group(text: str, occurrence: Occurrence) -> int:
    """Return where the second group of letters or digits of a match begins, or -1."""
    separator = _SEPARATOR.search(text, occurrence.start + 1, occurrence.end)
    return separator.end() if separator and separator.end() < occurrence.end else -1


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether the value neither begins nor ends inside a word of ASCII letters and digits."""
    return not (_joined(text, start) or _joined(text, end))


def _joined(text: str, at: int) -> bool:
    around = text[at - 1 : at + 1] if at else ""
    return len(around) == 2 and around.isascii() and around.isalnum()
