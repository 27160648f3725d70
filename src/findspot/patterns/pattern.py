"""Compiled patterns. The only module that knows the engine: rurex, the bindings of Rust's `regex`.

The engine has no backtracking, so one search takes linear time for any pattern. A pattern may be compiled once and used
by several threads. tests/contracts/test_patterns.py is the contract for another engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from findspot.errors import FindspotError, invalid
from findspot.patterns.syntax import Unsupported, expanded_size

MAX_SOURCE: Final = 2_000
"""Code points of a pattern."""

MAX_EXPANDED: Final = 2_000
"""Atoms of a pattern after counted repetitions are written out: `(ab){50}` has 100. The cost of a character."""

_META = frozenset(r"\.+*?()|[]{}^$#&-~")
_LINE_FLAGS = "mR"  # ^ and $ at every line, which may end with CRLF
_LEADING_FLAGS = re.compile(r"\(\?(?P<flags>[A-Za-z-]+)\)")


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A match: `text[start:end]`, in code points, and the spans of groups 1, 2, …; None if a group took no part."""

    start: int
    end: int
    groups: tuple[tuple[int, int] | None, ...] = ()


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_compiled", "group_count", "group_names", "source")

    def __init__(self, source: str, compiled: Any) -> None:
        self.source = source
        self._compiled = compiled
        self.group_count: int = compiled.groups
        self.group_names: dict[str, int] = dict(compiled.groupindex)

    def finditer(self, text: str, start: int = 0) -> Iterator[Occurrence]:
        """Yield the occurrences from `start` on, from left to right; they do not overlap. Empty ones are included.

        Each step is one linear search: a caller with a deadline checks it between two steps.
        """
        groups = range(1, self.group_count + 1)
        for match in self._compiled.finditer(text, start):
            first, last = match.span()
            yield Occurrence(first, last, tuple(_span(match.span(group)) for group in groups) if groups else ())

    def occurs_in(self, text: str) -> bool:
        """Return whether the pattern occurs in the text. Faster than the first step of `finditer`."""
        found: bool = self._compiled.is_match(text)
        return found


def compile_pattern(
    source: str,
    *,
    case_sensitive: bool = True,
    literal: bool = False,
    multiline: bool = False,
    field: str = "pattern",
) -> Pattern:
    """Compile a pattern. Raise INVALID_ARGUMENT, with `position` and `construct` where known, if it cannot be used.

    `literal` takes every character as itself; `multiline` lets ^ and $ match at every line. `field` is the name of the
    argument in messages.
    """
    if len(source) > MAX_SOURCE:
        raise invalid(field, f"has {len(source):,} characters; {MAX_SOURCE:,} are allowed", limit=MAX_SOURCE)
    _require_scalars(source, field)
    if literal:
        expression = "".join(f"\\{character}" if character in _META else character for character in source)
    else:
        _require_supported(source, field)
        expression = source
    return Pattern(source, _compiled(expression, case_sensitive, multiline, field))


def _compiled(expression: str, case_sensitive: bool, multiline: bool, field: str) -> Any:
    import rurex

    flagged = _with_line_flags(expression) if multiline else expression
    try:
        return rurex.compile(flagged, 0 if case_sensitive else rurex.IGNORECASE)
    except rurex.PatternError as error:
        message, position = _located(expression, error)
        if position is None:
            raise _too_large(field) from None
        raise _refused(field, message, position) from None


def _located(expression: str, error: Any) -> tuple[str, int | None]:
    """Return the message of an error and its position in the expression; None if it is the size of the whole.

    The engine counts from behind flags at the start, so the rest is compiled again to find the position.
    """
    import rurex

    if error.pos is None:
        return error.msg, None
    leading = _LEADING_FLAGS.match(expression)
    start = leading.end() if leading else 0
    try:
        rurex.compile(expression[start:])
    except rurex.PatternError as found:
        return found.msg, start + found.pos if found.pos is not None else None
    return error.msg, 0  # the flags themselves


def _with_line_flags(expression: str) -> str:
    """Set flags for lines at the start, together with those that are there: only one group of flags may come first."""
    leading = _LEADING_FLAGS.match(expression)
    if not leading:
        return f"(?{_LINE_FLAGS}){expression}"
    missing = "".join(flag for flag in _LINE_FLAGS if flag not in leading["flags"])
    return f"(?{missing}{expression[2:]}"


def _require_scalars(source: str, field: str) -> None:
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise _refused(field, "there is half of a character (a lone surrogate)", error.start) from None


def _require_supported(source: str, field: str) -> None:
    try:
        size = expanded_size(source)
    except Unsupported as found:
        message = f"{found.construct} is not supported, because patterns must run in linear time"
        raise _refused(field, found.advice or message, found.position, construct=found.construct) from None
    if size > MAX_EXPANDED:
        raise _too_large(field)


def _too_large(field: str) -> FindspotError:
    message = "the regular expression is too large; use smaller repetition counts or fewer alternatives"
    return invalid(field, message, limit=MAX_EXPANDED)


def _refused(field: str, message: str, position: int, **fields: str) -> FindspotError:
    text = f"the regular expression is invalid at character {position + 1}: {message}"
    return invalid(field, text, position=position, **fields)


def _span(span: tuple[int, int]) -> tuple[int, int] | None:
    return span if span[0] >= 0 else None
