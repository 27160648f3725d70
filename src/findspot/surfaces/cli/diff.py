"""Render a word diff: changes are marked in place, with a few unchanged lines around them."""

from collections.abc import Sequence
from typing import Any

from findspot.surfaces.cli.printing import styled
from findspot.surfaces.cli.terminal import visible

_CONTEXT_LINES = 2  # unchanged lines shown before and after a change
_MARKS = {"delete": ("[-", "-]"), "insert": ("{+", "+}")}
_STYLES: dict[str, dict[str, Any]] = {
    "delete": {"fg": "red", "strikethrough": True},
    "insert": {"fg": "green", "bold": True},
}


def render_diff(changes: Sequence[dict[str, Any]], *, colour: bool, whole: bool) -> str:
    """Return the new text with deletions and insertions marked, or '' if nothing changed."""
    if all(change["op"] == "equal" for change in changes):
        return ""
    parts, last = [], len(changes) - 1
    for number, change in enumerate(changes):
        text = visible(change["text"])
        if change["op"] != "equal":
            parts.append(_marked(change["op"], text, colour))
        elif whole:
            parts.append(text)
        else:
            parts.append(_shortened(text, head=number > 0, tail=number < last, colour=colour))
    return "".join(parts)


def _marked(op: str, text: str, colour: bool) -> str:
    """Mark each line separately: some pagers end a colour at the end of a line."""
    before, after = _MARKS[op]
    lines = (styled(line, **_STYLES[op]) if colour else f"{before}{line}{after}" for line in text.split("\n"))
    return "\n".join(lines)


def _shortened(text: str, *, head: bool, tail: bool, colour: bool) -> str:
    """Return unchanged text: the lines next to a change, and the number of lines left out."""
    lines = text.split("\n")
    above, below = (_CONTEXT_LINES + 1 if near else 0 for near in (head, tail))
    hidden = len(lines) - above - below
    if hidden < 2:
        return text
    note = f"⋯ {hidden} lines ⋯"
    return "\n".join([*lines[:above], styled(note, dim=True) if colour else note, *lines[len(lines) - below :]])
