"""Reads a regular expression: names what linear-time engines lack, and measures its size. The engine checks the rest.

Engines name such constructs differently or not at all, and one of them reads `a*+` as `(a*)+`. Read here, every engine
refuses them with one message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_GROUPS = (
    ("(?<=", "look-behind"),
    ("(?<!", "look-behind"),
    ("(?=", "look-ahead"),
    ("(?!", "look-ahead"),
    ("(?>", "an atomic group"),
    ("(?(", "a conditional group"),
    ("(?P=", "a back-reference"),
    ("(?P>", "a subroutine call"),
    ("(?&", "a subroutine call"),
    ("(?|", "a branch reset group"),
    ("(?#", "a comment"),
)
_ESCAPES = {"k": "a back-reference", "g": "a back-reference", "K": "\\K", "G": "\\G", "X": "\\X", "R": "\\R"}
_ESCAPES |= dict.fromkeys("123456789", "a back-reference")
_ADVICE = {"Z": "write \\z for the end of the text", "0": "write \\x00 for this character"}

_COUNT = re.compile(r"\{\s*(\d{1,9})\s*(?:(,)\s*(\d{1,9})?\s*)?\}")
_ESCAPE = re.compile(
    r"\\(?:[pPxuU]\{[^}]*\}?|b\{[^}]*\}?|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL
)
_GROUP_START = re.compile(r"\((?:\?P?<\w[^>]*>|\?[a-zA-Z-]*:)?")
_FLAGS = re.compile(r"\(\?[a-zA-Z-]+\)")


class Unsupported(ValueError):
    """A construct that takes more than linear time, or that the engine does not have."""

    def __init__(self, construct: str, position: int, advice: str = "") -> None:
        super().__init__(construct)
        self.construct = construct
        self.position = position
        self.advice = advice


@dataclass(slots=True)
class _Group:
    """An open group: the size of its atoms so far, and the size of the last one, which a count multiplies."""

    size: int = 0
    last: int = 0

    def add(self, size: int) -> None:
        self.size += size
        self.last = size

    def repeat(self, times: int) -> None:
        self.size += self.last * (max(times, 1) - 1)
        self.last *= max(times, 1)


def expanded_size(source: str) -> int:
    """Return the number of atoms with counted repetitions written out. Raise Unsupported for such a construct."""
    open_groups = [_Group()]
    position = 0
    while position < len(source):
        group = open_groups[-1]
        character = source[position]
        if character == "\\":
            _require_escape(source, position)
            position = _end(_ESCAPE, source, position)
            group.add(1)
        elif character == "[":
            position = _class_end(source, position)
            group.add(1)
        elif character == "(":
            _require_group(source, position)
            flags = _FLAGS.match(source, position)
            position = flags.end() if flags else _end(_GROUP_START, source, position)
            if not flags:
                open_groups.append(_Group())
        elif character == ")":
            position += 1
            if len(open_groups) > 1:
                open_groups.pop()
                open_groups[-1].add(max(group.size, 1))
        elif character in "*+?" or (character == "{" and _COUNT.match(source, position)):
            position = _quantifier(source, position, group)
        else:
            position += 1
            if character != "|":
                group.add(1)
    return sum(group.size for group in open_groups)


def _quantifier(source: str, position: int, group: _Group) -> int:
    count = _COUNT.match(source, position)
    if count:
        group.repeat(int(count[3] or count[1]))
    end = count.end() if count else position + 1
    if source.startswith("+", end):
        raise Unsupported("a possessive quantifier", end)
    return end + 1 if source.startswith("?", end) else end


def _require_group(source: str, position: int) -> None:
    for start, construct in _GROUPS:
        if source.startswith(start, position):
            raise Unsupported(construct, position)


def _require_escape(source: str, position: int) -> None:
    escaped = source[position + 1 : position + 2]
    if escaped in _ESCAPES:
        raise Unsupported(_ESCAPES[escaped], position)
    if escaped in _ADVICE:
        raise Unsupported(f"\\{escaped}", position, _ADVICE[escaped])


def _class_end(source: str, position: int) -> int:
    """Return the end of a character class, which may contain classes."""
    depth = 0
    while position < len(source):
        character = source[position]
        if character == "\\":
            position = _end(_ESCAPE, source, position)
            continue
        if character == "[":
            depth += 1
            position += 1
            position += source.startswith("^", position)
            position += source.startswith("]", position)  # a first ] is a character
            continue
        position += 1
        if character == "]":
            depth -= 1
            if not depth:
                return position
    return position


def _end(part: re.Pattern[str], source: str, position: int) -> int:
    found = part.match(source, position)
    return found.end() if found else position + 1
