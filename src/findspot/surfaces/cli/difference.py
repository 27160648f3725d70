"""Changes by word, for people to read: marked where they stand, with a little of what did not change around them."""

from collections.abc import Sequence
from typing import Any

from findspot.surfaces.cli.printing import styled
from findspot.surfaces.cli.terminal import visible

_AROUND = 2  # lines that stay in view before and after a change
_MARKS = {"delete": ("[-", "-]"), "insert": ("{+", "+}")}
_LOOKS: dict[str, dict[str, Any]] = {
    "delete": {"fg": "red", "strikethrough": True},
    "insert": {"fg": "green", "bold": True},
}


def rendered(changes: Sequence[dict[str, Any]], *, colour: bool, whole: bool) -> str:
    """The new text with what went and what came; '' when nothing did."""
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
    """Line by line, since a colour does not outlast the end of a line in every pager."""
    before, after = _MARKS[op]
    lines = (styled(line, **_LOOKS[op]) if colour else f"{before}{line}{after}" for line in text.split("\n"))
    return "\n".join(lines)


def _shortened(text: str, *, head: bool, tail: bool, colour: bool) -> str:
    """What did not change: the lines next to a change, and how many there are between."""
    lines = text.split("\n")
    above, below = (_AROUND + 1 if near else 0 for near in (head, tail))
    hidden = len(lines) - above - below
    if hidden < 2:
        return text
    note = f"⋯ {hidden} lines ⋯"
    return "\n".join([*lines[:above], styled(note, dim=True) if colour else note, *lines[len(lines) - below :]])
