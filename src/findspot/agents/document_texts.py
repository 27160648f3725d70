"""Texts of documents for agents: a slice of one, and the lines of passages. Runs in helper processes."""

import msgspec

from findspot.agents.budget import encode
from findspot.agents.reading import Heading, Slice, cut_slice
from findspot.runtime import messages
from findspot.sources.extract import Extract
from findspot.sources.stored import read_stored


class Passage(msgspec.Struct, frozen=True, array_like=True):
    """A passage that was found: the number of its document in the call, its start, and its text."""

    document: int
    start: int
    text: str


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a passage is in its document now. `line` counts from 1 in the source; a rich text has none."""

    start: int
    line: int | None


class Reading(msgspec.Struct, frozen=True, array_like=True):
    """A part of a document to read."""

    document_id: int
    title: str
    path: str | None
    format: str
    wanted: Slice
    budget: int
    language: str


def read_part(call: Reading, content: bytes) -> bytes:
    """Return the JSON text of the answer of a tool that reads a document."""
    extract = read_stored(content, call.format)
    named = {"document_id": call.document_id, "title": call.title, "path": call.path}
    answer = cut_slice(extract.text, call.wanted, _headings(extract), call.budget, **named)
    if "truncated" in answer:
        answer["notice"] = messages.read_on(answer["next_start"], call.language)
    return encode(answer)


def places(passages: list[Passage], formats: list[str], contents: list[bytes]) -> list[Place]:
    """Return where each passage is: its document may have changed since it was indexed."""
    extracts = [read_stored(content, form) for form, content in zip(formats, contents, strict=True)]
    found = []
    for passage in passages:
        extract, source = extracts[passage.document], contents[passage.document]
        start = _nearest(extract.text, passage)
        line = None
        if formats[passage.document] != "tiptap" and start < len(extract.text):
            line = source.decode(errors="replace").count("\n", 0, extract.place(start).start) + 1
        found.append(Place(start, line))
    return found


def _headings(extract: Extract) -> list[Heading]:
    return [
        Heading(block.start, block.level, " ".join(extract.text[block.start : block.end].split()))
        for block in extract.blocks
        if block.kind == "heading"
    ]


def _nearest(text: str, passage: Passage) -> int:
    """Return the occurrence of a passage nearest to where it was indexed; that place if there is none."""
    if text.startswith(passage.text, passage.start):
        return passage.start
    after = text.find(passage.text, passage.start)
    before = text.rfind(passage.text, 0, passage.start + len(passage.text))
    found = [place for place in (before, after) if place >= 0]
    return min(found, key=lambda place: abs(place - passage.start), default=passage.start)
