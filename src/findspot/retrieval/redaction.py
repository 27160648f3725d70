"""Redaction: replaces private values in a text by typed placeholders such as `[EMAIL_1]`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from findspot.patterns import compile_pattern
from findspot.retrieval.redaction_folding import Folded, fold
from findspot.retrieval.redaction_matching import Finding, merged, rule_matcher, widened
from findspot.retrieval.redaction_rules import DEFAULT_RULES, Rules

_LITERAL = compile_pattern(r"\[([A-Z][A-Z0-9_]{0,40})_[0-9]{1,9}\]")  # a text may contain a placeholder itself


@dataclass(frozen=True, slots=True)
class Redaction:
    """One redacted range of the original text."""

    start: int
    end: int
    kind: str
    placeholder: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text with placeholders, and the ranges of the original text that they stand for, in order."""

    text: str
    redactions: tuple[Redaction, ...]


class Redactor:
    """Redacts the texts of one answer. A value has the same placeholder in all of them.

    A placeholder that a document contains as text is never used for a value.
    """

    def __init__(self, rules: Rules = DEFAULT_RULES) -> None:
        self._matcher = rule_matcher(rules)
        self._placeholders: dict[tuple[str, str], str] = {}  # by kind and value
        self._values: set[str] = set()  # the placeholders that stand for values
        self._literals: set[str] = set()  # the placeholders that a text contains itself
        self._last: Counter[str] = Counter()  # the last number by kind
        self.counts: Counter[str] = Counter()

    def redact(self, text: str) -> Redacted:
        """Return the text with placeholders. Offsets of redactions refer to the original text."""
        folded = fold(text)
        found = [*self._matcher.findings(folded), *self._posing(text, folded)]
        if not found:
            return Redacted(text, ())
        parts, redactions, at = [], [], 0
        for finding in merged(widened(finding, text) for finding in found):
            placeholder = self._placeholder(finding.kind, text[finding.start : finding.end])
            redactions.append(Redaction(finding.start, finding.end, finding.kind, placeholder))
            parts += [text[at : finding.start], placeholder]
            at = finding.end
            self.counts[finding.kind] += 1
        return Redacted("".join([*parts, text[at:]]), tuple(redactions))

    def _posing(self, text: str, folded: Folded) -> Iterator[Finding]:
        """Reserve the placeholders that a text contains itself; find those that stand for a value already."""
        if "[" not in text:
            return
        for literal in _LITERAL.finditer(folded.text):
            start, end = folded.original(literal.start, literal.end)
            if text[start:end] in self._values:
                yield Finding(start, end, text[start + 1 : end].rpartition("_")[0].lower())
            else:
                self._literals.add(text[start:end])

    def _placeholder(self, kind: str, value: str) -> str:
        key = (kind, _identity(kind, value))
        if key not in self._placeholders:
            placeholder = ""
            while not placeholder or placeholder in self._literals:
                self._last[kind] += 1
                placeholder = f"[{kind.upper()}_{self._last[kind]}]"
            self._placeholders[key] = placeholder
            self._values.add(placeholder)
        return self._placeholders[key]


def load_redaction() -> None:
    """Compile the rules and load the metadata of phone numbers, so that the first answer need not wait for them."""
    Redactor().redact("+44 20 7946 0018")


def _identity(kind: str, value: str) -> str:
    """Return what two spellings of one value have in common."""
    value = fold(value).text
    if kind in ("phone", "card", "id_number"):
        return "".join(character for character in value.upper() if character.isalnum())
    return value.casefold() if kind == "email" else value
