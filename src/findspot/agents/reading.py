"""A slice of a long text, with its offsets and where to read on. For strings of tables and for documents.

Pure functions that run in a helper process.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from findspot.agents.budget import encode, token_cost
from findspot.errors import invalid

LENGTH = 4000  # characters of a slice whose end is not given, and of one around a place
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_MAX_HEADING = 120  # characters


class Slice(msgspec.Struct, frozen=True, array_like=True):
    """A part of a text to read. Offsets count code points; with `around`, the part around that place."""

    start: int | None = None
    end: int | None = None
    around: int | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> "Slice":
        """Return the slice that arguments ask for. Raise INVALID_ARGUMENT if they contradict each other."""
        start, end, around = (_whole(arguments, name) for name in ("start", "end", "around"))
        if around is not None and (start is not None or end is not None):
            raise invalid("around", "cannot be combined with 'start' and 'end'; give one or the other")
        if end is not None and end <= (start or 0):
            raise invalid("end", f"must be greater than 'start', which is {start or 0}")
        return cls(start, end, around)

    def bounds(self, length: int) -> tuple[int, int]:
        """Return where the slice begins and ends in a text of this length. Raise an error if it begins past its end."""
        wanted = self.around if self.around is not None else self.start or 0
        if wanted > length or (wanted == length and length > 0):
            field = "around" if self.around is not None else "start"
            usable = f"use 0 to {length - 1}" if length > 1 else "use 0"
            raise invalid(field, f"is past the end of the text, which has {length:,} characters; {usable}")
        if self.around is not None:
            return max(0, self.around - LENGTH // 2), min(length, self.around + LENGTH // 2)
        return wanted, min(length, self.end if self.end is not None else wanted + LENGTH)


def _whole(arguments: Mapping[str, Any], name: str) -> int | None:
    value = arguments.get(name)
    return None if value is None else int(value)


class Heading(NamedTuple):
    """A heading in a text: where it stands, its level from 1, and its words."""

    at: int
    level: int
    text: str


def cut_slice(text: str, wanted: Slice, headings: Iterable[Heading], budget: int, **more: Any) -> dict[str, Any]:
    """Return the answer of a reading tool: as much of the slice as fits, whole grapheme clusters where it may choose.

    `more` are other fields of the answer.
    """
    from findspot.chunking.graphemes import last_boundary

    start, end = wanted.bounds(len(text))
    if wanted.end is None and end < len(text):
        end = last_boundary(text, start, end)
    asked, path = end, heading_path(headings, start)
    while True:
        answer = {
            **more,
            "text": text[start:end],
            "start": start,
            "end": end,
            "length": len(text),
            "next_start": end if end < len(text) else None,
            "heading_path": path,
        }
        spent = token_cost(encode(answer))
        if spent <= budget or end - start <= 1:
            return answer if end == asked else {**answer, "truncated": True}
        end = start + max(1, min(end - start - 1, int((end - start) * 0.95 * budget / spent)))


def heading_path(headings: Iterable[Heading], place: int) -> list[str]:
    """Return the headings above a place, outermost first."""
    path: list[Heading] = []
    for heading in headings:
        if heading.at > place:
            break
        path = [each for each in path if each.level < heading.level] + [heading]
    return [heading.text[:_MAX_HEADING] for heading in path]


def markdown_headings(text: str, before: int) -> list[Heading]:
    """Return the headings of a Markdown text up to a place. Lines in code blocks are none."""
    above = text[: text.find("\n", before) if "\n" in text[before:] else len(text)]
    above = _FENCE.sub(lambda code: " " * len(code[0]), above)
    return [Heading(found.start(), len(found[1]), found[2]) for found in _HEADING.finditer(above)]


def readable_slice(answer: Mapping[str, Any]) -> str:
    """Return a slice as text to read. Its first line says where it is, how to read on, and the headings above it.

    Everything after that line is the text, so that no text can pose as advice.
    """
    following = answer["next_start"]
    more = "this is the end" if following is None else f"read on with start={following}"
    said = [f"Characters {answer['start']}-{answer['end']} of {answer['length']}; {more}."]
    if "notice" in answer:
        said.append(answer["notice"])
    named = [str(answer["title"])] if answer.get("title") else []
    where = " > ".join([*named, *answer["heading_path"]])
    return f"{' '.join([*said, where]).rstrip()}\n\n{answer['text']}"
