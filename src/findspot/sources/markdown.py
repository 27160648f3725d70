"""Extracts the text of Markdown: CommonMark with GitHub's tables, strikethrough, task lists, footnotes and alerts.

The parser (pulldown-cmark, through pyromark) returns the source span of every part of inline text, so places are exact.
docs/documents-as-text.md has the rules and their reasons. Only these characters of the text differ from the source
character at their place:

* an entity, a line break with the markers of the next line, a run of white space in raw HTML: the place is all of it;
* an escaped character: the place is the backslash and the character;
* spaces that replace a tab in front of code: the place is the tab;
* a soft break, which becomes a space (and nothing between Chinese or Japanese characters);
* inserted breaks between paragraphs, cells and lines of raw HTML: the place is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyromark

from findspot.sources.code_span import Segment, code_span_segments
from findspot.sources.errors import SourceError, require_scalar_text
from findspot.sources.extract import CELL_BREAK, LINE_BREAK, BlockKind, Extract
from findspot.sources.front_matter import body_start
from findspot.sources.html_text import visible_parts
from findspot.sources.writer import SOFT_BREAK, TextWriter

EXTENSIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_GFM
)
PARSER = pyromark.Markdown(options=EXTENSIONS)

_BLOCK_KINDS: dict[str, BlockKind] = {
    "Paragraph": "paragraph",
    "Heading": "heading",
    "BlockQuote": "paragraph",
    "CodeBlock": "code",
    "HtmlBlock": "html",
    "List": "paragraph",
    "Item": "item",
    "FootnoteDefinition": "paragraph",
    "Table": "row",
    "TableHead": "row",
    "TableRow": "row",
}
LONE_RETURN = re.compile(r"\r(?!\n)")
_ENTITY = re.compile(r"&#?[0-9A-Za-z]+;")
_LINE_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
_ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def extract(source: str) -> Extract:
    """Return the text of a Markdown document with its places in the source, in code points."""
    require_scalar_text(source)
    body = body_start(source)
    # The parser does not treat a lone carriage return as a line end everywhere. A line feed has the same length.
    source = LONE_RETURN.sub("\n", source)
    walk = _Walk(source, CodePoints(source, body))
    try:
        for event, span in PARSER.events_with_range(source[body:]):
            walk.take(event, span["start"], span["end"])
    except BaseException as fault:
        # A panic of the parser is not an Exception. One document must not end the process that reads it.
        if type(fault).__name__ != "PanicException":
            raise
        raise SourceError("the Markdown parser failed on this source") from fault
    return walk.writer.extract()


class CodePoints:
    """Converts the parser's UTF-8 byte offsets to code points of the source.

    Each call counts from the previous one, in either direction. Offsets come nearly in order, so all calls together
    take linear time.
    """

    def __init__(self, source: str, body: int) -> None:
        self._ascii = source.isascii()
        self._bytes = b"" if self._ascii else source[body:].encode()
        self._byte = 0
        self._point = self._body = body

    def at(self, byte: int) -> int:
        if self._ascii:
            return self._body + byte
        if byte >= self._byte:
            self._point += len(self._bytes[self._byte : byte].decode())
        else:
            self._point -= len(self._bytes[byte : self._byte].decode())
        self._byte = byte
        return self._point


class _Walk:
    """Writes the text from the parser's events."""

    def __init__(self, source: str, points: CodePoints) -> None:
        self.writer = TextWriter()
        self._source = source
        self._points = points
        self._kinds: list[BlockKind] = ["paragraph"]
        self._verbatim: list[Segment] = []
        self._done = 0
        self._after_break = False

    def take(self, event: Any, first_byte: int, last_byte: int) -> None:
        if isinstance(event, str):
            if event == "Rule":
                self.writer.rule()
            else:
                self._take_break(event, first_byte, last_byte)
            return
        ((name, value),) = event.items()
        if name == "Start":
            if isinstance(value, dict) and "Heading" in value:
                self.writer.level = int(value["Heading"]["level"].lstrip("H"))
            self._take_start(value if isinstance(value, str) else next(iter(value)), first_byte)
        elif name == "End":
            self._take_end(value if isinstance(value, str) else next(iter(value)))
        elif name == "FootnoteReference":
            self._end_break(self._points.at(first_byte))
        elif name != "TaskListMarker":
            self._take_leaf(name, value, self._points.at(first_byte), self._points.at(last_byte))

    def _take_start(self, name: str, first_byte: int) -> None:
        if name == "TableCell":
            self.writer.separate(CELL_BREAK)
        elif name in _BLOCK_KINDS:
            self.writer.close()
            inside = self._kinds[-1]
            # Readers see the paragraphs of a list item as part of the item.
            self._kinds.append("item" if name == "Paragraph" and inside == "item" else _BLOCK_KINDS[name])
        elif self._after_break:
            self._end_break(self._points.at(first_byte))

    def _take_end(self, name: str) -> None:
        if name not in _BLOCK_KINDS:
            return
        if name == "CodeBlock":
            self._write_code()
        elif name == "HtmlBlock":
            self._write_html()
        self._verbatim.clear()
        self._after_break = False
        self.writer.close()
        self._kinds.pop()

    def _take_break(self, event: str, first_byte: int, last_byte: int) -> None:
        start, end = self._points.at(first_byte), self._points.at(last_byte)
        self.writer.hold(SOFT_BREAK if event == "SoftBreak" else LINE_BREAK, start, end)
        self._done = end
        self._after_break = True

    def _end_break(self, start: int) -> None:
        if self._after_break:
            self.writer.extend_break(start)
            self._after_break = False

    def _take_leaf(self, name: str, value: str, start: int, end: int) -> None:
        kind = self._kinds[-1]
        if kind == "code" or kind == "html":
            self._verbatim.append(self._verbatim_segment(value, start, end))
        elif name == "Text":
            self._write_text(value, start, end)
        elif name == "Code":
            self._end_break(start)
            for segment in code_span_segments(self._source, start, end, value, kind == "row"):
                self.writer.write(*segment, kind)
        else:
            self._end_break(start)
            if _LINE_TAG.fullmatch(value):
                self.writer.hold(LINE_BREAK, start, end)
        self._done = end

    def _write_text(self, text: str, start: int, end: int) -> None:
        kind = self._kinds[-1]
        source = self._source
        escaped = start > self._done and source[start - 1] == "\\" and text[0] in _ESCAPABLE
        if escaped and source.startswith(text, start):
            self._end_break(start - 1)
            self.writer.write(text[0], start - 1, start + 1, kind)
            self.writer.write(text[1:], start + 1, end, kind)
            return
        self._end_break(start)
        self.writer.write(text, start, self._text_end(text, start, end), kind)

    def _text_end(self, text: str, start: int, end: int) -> int:
        """Return the end of a text without the white space that the parser includes at the end of a block."""
        if end - start <= len(text):
            return end
        entity = _ENTITY.match(self._source, start, end)
        if entity:
            return entity.end()
        return start + len(text) if self._source.startswith(text, start) else end

    def _verbatim_segment(self, text: str, start: int, end: int) -> Segment:
        # The remaining columns of a tab that also indents the block have an empty span after the tab.
        if start == end and self._source[start - 1 : start] == "\t":
            return text, start - 1, end
        return text, start, end

    def _write_code(self) -> None:
        segments = _joined_lines(self._verbatim)
        if segments and segments[-1][0].endswith("\n"):
            _split_line_end(segments)
            segments.pop()
        for segment in segments:
            self.writer.write(*segment, "code")

    def _write_html(self) -> None:
        block = "".join(text for text, _, _ in self._verbatim)
        places = _BlockPlaces(self._verbatim)
        spaced = False
        for part in visible_parts(block):
            start, end = places.source(part.start, part.end)
            if part.kind == "text" and part.text != block[part.start : part.end]:
                self.writer.write(part.text, start, end, "html")
            elif part.kind == "text":
                for segment in places.segments(part.start, part.end):
                    self.writer.write(*segment, "html")
            elif part.kind == "tag":
                self.writer.separate(LINE_BREAK)
            elif part.kind == "line end":
                self.writer.hold(LINE_BREAK, start, end)
            elif not spaced:
                self.writer.hold(SOFT_BREAK, start, end)
            spaced = part.kind == "space"


class _BlockPlaces:
    """Maps offsets of a raw HTML block, joined from its lines, to the source. Offsets must come in ascending order."""

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments
        self._current = 0
        self._current_start = 0

    def source(self, start: int, end: int) -> tuple[int, int]:
        first, _ = self._at(start)
        current, current_start = self._current, self._current_start
        _, last = self._at(end - 1)
        self._current, self._current_start = current, current_start
        return first, last

    def segments(self, start: int, end: int) -> Iterator[Segment]:
        """Yield `block[start:end]` line by line."""
        while start < end:
            first, _ = self._at(start)
            text, _, segment_end = self._segments[self._current]
            stop = min(end, self._current_start + len(text))
            part = text[start - self._current_start : stop - self._current_start]
            yield part, first, min(first + len(part), segment_end)
            start = stop

    def _at(self, index: int) -> tuple[int, int]:
        while index >= self._current_start + len(self._segments[self._current][0]):
            self._current_start += len(self._segments[self._current][0])
            self._current += 1
        _, start, end = self._segments[self._current]
        # Spaces that replace a tab share one source character.
        first = min(start + index - self._current_start, max(start, end - 1))
        return first, min(first + 1, end)


def _joined_lines(segments: list[Segment]) -> list[Segment]:
    """Make lines of code adjacent: source text between two lines becomes part of the line break between them."""
    joined: list[Segment] = []
    for text, start, end in segments:
        if joined and joined[-1][2] < start:
            if joined[-1][0].endswith("\n"):
                _split_line_end(joined)
                joined[-1] = ("\n", joined[-1][1], start)
            elif text.startswith("\n"):
                joined.append(("\n", joined[-1][2], start + 1))
                text, start = text[1:], start + 1
        if text:
            joined.append((text, start, end))
    return joined


def _split_line_end(segments: list[Segment]) -> None:
    """Split the line end off the last segment."""
    text, start, end = segments[-1]
    if len(text) > 1:
        segments[-1:] = [(text[:-1], start, end - 1), ("\n", end - 1, end)]
