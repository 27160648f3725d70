"""The replacement of a match. In a regular expression's replacement `$1`, `$<name>`, `$&` and `$$` have a meaning."""

from __future__ import annotations

import re
from typing import Final

from findspot.errors import invalid, quoted
from findspot.patterns import Occurrence, Pattern
from findspot.replacing.casing import with_case_of
from findspot.replacing.rule import ReplaceRule

MAX_REPLACEMENT: Final = 10_000
"""Characters of a replacement, before and after its references are filled in."""

_WHOLE = 0
_REFERENCE = re.compile(r"\$(?:(?P<dollar>\$)|(?P<whole>&)|(?P<number>\d{1,2})|<(?P<name>[^<>]*)>)")


class Template:
    """The replacement text of a rule, compiled. Raises INVALID_ARGUMENT if it refers to a group that does not exist."""

    def __init__(self, rule: ReplaceRule, pattern: Pattern) -> None:
        self._preserve_case = rule.preserve_case
        _require_usable(rule.replace)
        self._parts: list[str | int] = _parts(rule.replace, pattern) if rule.regex else [rule.replace]

    def expand(self, text: str, found: Occurrence) -> str:
        """Return the replacement of an occurrence in `text`."""
        replacement = "".join([part if isinstance(part, str) else _group(text, found, part) for part in self._parts])
        if len(replacement) > MAX_REPLACEMENT:
            raise _too_long(len(replacement))
        return with_case_of(text[found.start : found.end], replacement) if self._preserve_case else replacement


def _parts(replace: str, pattern: Pattern) -> list[str | int]:
    """Return the text between references, and the numbers of the groups that they refer to."""
    parts: list[str | int] = []
    done = 0
    for reference in _REFERENCE.finditer(replace):
        parts.append(replace[done : reference.start()])
        done = reference.end()
        if reference["dollar"]:
            parts.append("$")
        elif reference["whole"]:
            parts.append(_WHOLE)
        elif reference["number"]:
            number, rest = _number(reference["number"], pattern.group_count, reference.start())
            parts += [number, rest]
        else:
            parts.append(_named(reference["name"], pattern.group_names, reference.start()))
    return [*parts, replace[done:]]


def _number(digits: str, groups: int, position: int) -> tuple[int, str]:
    """Read `$12` as group 12 if there is one, otherwise as group 1 and the digit 2."""
    for length in range(len(digits), 0, -1):
        if int(digits[:length]) <= groups:
            return int(digits[:length]), digits[length:]
    message = f"there is no group {digits} in the search; write $${digits} for the text '${digits}'"
    raise invalid("replace", message, position=position)


def _named(name: str, names: dict[str, int], position: int) -> int:
    if name not in names:
        raise invalid("replace", f"there is no group {quoted(name)} in the search", position=position)
    return names[name]


def _group(text: str, found: Occurrence, number: int) -> str:
    if number == _WHOLE:
        return text[found.start : found.end]
    span = found.groups[number - 1]
    return text[span[0] : span[1]] if span else ""


def _require_usable(replace: str) -> None:
    if len(replace) > MAX_REPLACEMENT:
        raise _too_long(len(replace))
    try:
        replace.encode()
    except UnicodeEncodeError as error:
        message = f"character {error.start + 1} is half of a character (a lone surrogate)"
        raise invalid("replace", message, position=error.start) from None


def _too_long(length: int) -> Exception:
    return invalid("replace", f"has {length:,} characters; {MAX_REPLACEMENT:,} are allowed", limit=MAX_REPLACEMENT)
