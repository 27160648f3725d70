"""Edits the strings of a TipTap document in its JSON text. All other bytes stay as they are.

A replacement goes into the string of the match's first character, so it has that character's marks. A text node that
becomes empty is removed, because ProseMirror allows none. So is a hard break inside a match; if the match begins with
one, a text node with the break's marks takes its place.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from findspot.replacing.edits import Edit, apply_edits
from findspot.sources import Extract
from findspot.sources.runs import FIELDS

if TYPE_CHECKING:
    from findspot.replacing.matching import Match

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"(?P<colon>\s*:)?|[{}\[\]]')
_CHARACTERS = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]+", re.DOTALL
)
_TEXT = FIELDS.index("/text")
_TEXT_KEYS = frozenset(name.rpartition("/")[2] for name in FIELDS if name)
_Span = tuple[int, int]


def rewrite_tree(content: str, extract: Extract, matches: Sequence[Match]) -> str:
    """Return the JSON text of a document with the matches replaced."""
    changes = _changes(extract, matches)
    nodes = extract.nodes
    assert nodes is not None
    places = _Places(content)
    edits: list[Edit] = []
    removed: dict[str, set[int]] = defaultdict(set)
    for owner, (length, parts) in changes.items():
        pointer = nodes.pointer(owner)
        parent, _, step = pointer.rpartition("/")
        kept = length - sum(part.end - part.start for part in parts) + sum(len(part.text) for part in parts)
        if not kept and nodes.fields[owner] in (0, _TEXT):
            removed[parent].add(int(step))
        elif nodes.fields[owner]:
            edits += _string_edits(content, places.strings[pointer + nodes.field(owner)], parts)
        else:
            start, end = places.elements[parent][int(step)]
            edits.append(Edit(start, end, _text_node(parts[0].text, content, places.marks.get(pointer))))
    for array, steps in removed.items():
        edits += _removals(places.elements[array], steps)
    return apply_edits(content, edits)


def _changes(extract: Extract, matches: Sequence[Match]) -> dict[int, tuple[int, list[Edit]]]:
    """Return the edits of each node's string, with the length that the string has now."""
    runs = extract.runs
    changes: dict[int, tuple[int, list[Edit]]] = {}
    for match in matches:
        replacement = match.replacement
        for run in runs.covering(match.start, match.end):
            owner = runs.owners[run]
            text_start = runs.text_starts[run]
            start = runs.starts[run] + max(match.start - text_start, 0)
            end = min(runs.starts[run] + match.end - text_start, runs.ends[run])
            changes.setdefault(owner, (runs.ends[run], []))[1].append(Edit(start, end, replacement))
            replacement = ""
    return changes


def _text_node(text: str, content: str, marks: _Span | None) -> str:
    node = {"type": "text", "text": text}
    if marks is None:
        return json.dumps(node, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(node, ensure_ascii=False, separators=(",", ":"))[:-1] + f',"marks":{content[slice(*marks)]}}}'


def _string_edits(content: str, string: _Span, parts: Iterable[Edit]) -> Iterator[Edit]:
    """Yield edits of the JSON text for edits of one string, whose escapes stay as they are written."""
    first, last = string[0] + 1, string[1] - 1
    if content.find("\\", first, last) < 0:
        for start, end, text in parts:
            yield Edit(first + start, first + end, _escaped(text))
        return
    starts: list[int] = []
    for written in _CHARACTERS.finditer(content, first, last):
        starts += [written.start()] if written[0][0] == "\\" else range(written.start(), written.end())
    starts.append(last)
    for start, end, text in parts:
        yield Edit(starts[start], starts[end], _escaped(text))


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _removals(elements: Sequence[_Span], steps: set[int]) -> Iterator[Edit]:
    """Yield edits that remove elements of a list, each with one comma."""
    leading = 0
    while leading in steps:
        leading += 1
    for step in steps:
        start, end = elements[step]
        if step >= leading:
            start = elements[step - 1][1]
        elif step + 1 < len(elements):
            end = elements[step + 1][0]
        yield Edit(start, end, "")


@dataclass(slots=True)
class _Frame:
    """An open object or list. Only those that can contain text have a pointer."""

    role: str
    pointer: str
    start: int
    key: str = ""
    elements: list[_Span] = field(default_factory=list)


class _Places:
    """Where strings, marks and nodes are in the JSON text of a document, by JSON pointer."""

    def __init__(self, content: str) -> None:
        self.strings: dict[str, _Span] = {}
        self.marks: dict[str, _Span] = {}
        self.elements: dict[str, list[_Span]] = {}
        frames = [_Frame("top", "", 0)]
        for token in _TOKEN.finditer(content):
            start, end = token.span()
            frame = frames[-1]
            first = content[start]
            if first in "{[":
                frames.append(_opened(frame, start, first))
            elif first != '"':
                self._close(frames.pop(), frames[-1], end)
            elif token["colon"] is not None:
                frame.key = _key(content[start : token.start("colon")])
            elif frame.role in ("node", "attrs") and frame.key in _TEXT_KEYS:
                self.strings[f"{frame.pointer}/{frame.key}"] = (start, end)

    def _close(self, frame: _Frame, parent: _Frame, end: int) -> None:
        if frame.role == "node":
            parent.elements.append((frame.start, end))
        elif frame.role == "content":
            self.elements[frame.pointer] = frame.elements
        elif frame.role == "marks":
            self.marks[frame.pointer] = (frame.start, end)


def _opened(parent: _Frame, start: int, bracket: str) -> _Frame:
    if bracket == "{":
        if parent.role == "top":
            return _Frame("node", "", start)
        if parent.role == "content":
            return _Frame("node", f"{parent.pointer}/{len(parent.elements)}", start)
        if parent.role == "node" and parent.key == "attrs":
            return _Frame("attrs", f"{parent.pointer}/attrs", start)
    elif parent.role == "node" and parent.key == "content":
        return _Frame("content", f"{parent.pointer}/content", start)
    elif parent.role == "node" and parent.key == "marks":
        return _Frame("marks", parent.pointer, start)
    return _Frame("other", "", start)


def _key(written: str) -> str:
    return str(json.loads(written)) if "\\" in written else written[1:-1]
