"""A rule of redaction: one row of the table."""

from __future__ import annotations

from dataclasses import dataclass

from findspot.retrieval.redaction_checks import Check


@dataclass(frozen=True, slots=True)
class Rule:
    """Redacts what a pattern matches, if the text has one of the keywords and the check agrees.

    The pattern sees the folded text. Its first group that took part is the value; without groups, the whole match is.
    A value never begins or ends inside an ASCII word, unless it is `delimited` by its own pattern.
    """

    name: str
    kind: str
    keywords: tuple[str, ...]  # in lower case; none: the pattern always runs
    pattern: str  # for a linear-time engine
    example: str
    counter_example: str
    check: Check | None = None
    delimited: bool = False


def fake(length: int, of: str = "FakeKey0NotReal1") -> str:
    """Return a value for examples that nobody takes for a real key."""
    return (of * length)[:length]
