"""Markdown: CommonMark with GitHub's tables, strikethrough, task lists, footnotes and alerts.

The parser (pulldown-cmark, through pyromark) gives the source span of every piece of inline text, so places are read,
not guessed. What the text of a document is, and why, stands in docs/documents-as-text.md. Characters of the text that
differ from the source character at their place are exactly these:

* an entity, a line break with the markers of the next line, a run of white space in raw HTML: the place is the whole;
* an escaped character: the place is the backslash and the character;
* spaces that a tab stands for in front of code: the place is the tab;
* a soft break, which reads as a space (and as nothing between Chinese or Japanese characters);
* inserted breaks between paragraphs, cells and lines of raw HTML: the place is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyromark

from findspot.sources.code_span import Piece, code_span_pieces
from findspot.sources.errors import SourceError, require_scalar_text
from findspot.sources.extract import CELL_BREAK, LINE_BREAK, BlockKind, Extract
from findspot.sources.front_matter import body_start
from findspot.sources.html_text import shown_parts
from findspot.sources.writer import SOFT_BREAK, TextWriter

_EXTENSIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_GFM
)
_PARSER = pyromark.Markdown(options=_EXTENSIONS)

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
_LONE_RETURN = re.compile(r"\r(?!\n)")
_ENTITY = re.compile(r"&#?[0-9A-Za-z]+;")
_LINE_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
_ESCAPABLE = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def extract(source: str) -> Extract:
    """The text of a Markdown document and where it stands in the source, in code points."""
    require_scalar_text(source)
    body = body_start(source)
    # The parser knows a carriage return alone as a line end only in places; as a line feed it keeps every offset.
    source = _LONE_RETURN.sub("\n", source)
    walk = _Walk(source, _CodePoints(source, body))
    try:
        for event, span in _PARSER.events_with_range(source[body:]):
            walk.take(event, span["start"], span["end"])
    except BaseException as fault:
        # A panic of the parser is no Exception, and one document must not end the process that reads it.
        if type(fault).__name__ != "PanicException":
            raise
        raise SourceError("the Markdown parser failed on this source") from fault
    return walk.writer.extract()


class _CodePoints:
    """Turns the parser's UTF-8 byte offsets into code points of the source.

    Each call counts from the last one, in either direction: offsets come nearly in order, so the whole is linear.
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
    """Takes the parser's events one by one and writes the text."""

    def __init__(self, source: str, points: _CodePoints) -> None:
        self.writer = TextWriter()
        self._source = source
        self._points = points
        self._kinds: list[BlockKind] = ["paragraph"]
        self._verbatim: list[Piece] = []
        self._done = 0
        self._after_break = False

    def take(self, event: Any, first_byte: int, last_byte: int) -> None:
        if isinstance(event, str):
            if event != "Rule":
                self._take_break(event, first_byte, last_byte)
            return
        ((name, value),) = event.items()
        if name == "Start":
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
            # An item's own paragraphs are items: that is what a reader sees them as.
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
            self.writer.stretch(start)
            self._after_break = False

    def _take_leaf(self, name: str, value: str, start: int, end: int) -> None:
        kind = self._kinds[-1]
        if kind == "code" or kind == "html":
            self._verbatim.append(self._verbatim_piece(value, start, end))
        elif name == "Text":
            self._write_text(value, start, end)
        elif name == "Code":
            self._end_break(start)
            for piece in code_span_pieces(self._source, start, end, value, kind == "row"):
                self.writer.write(*piece, kind)
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
        """Where a text ends: at the end of a heading or paragraph its span takes in the white space behind it."""
        if end - start <= len(text):
            return end
        entity = _ENTITY.match(self._source, start, end)
        if entity:
            return entity.end()
        return start + len(text) if self._source.startswith(text, start) else end

    def _verbatim_piece(self, text: str, start: int, end: int) -> Piece:
        # Columns left over from a tab that also indents the block come without a span: the tab stands before them.
        if start == end and self._source[start - 1 : start] == "\t":
            return text, start - 1, end
        return text, start, end

    def _write_code(self) -> None:
        pieces = _joined_lines(self._verbatim)
        if pieces and pieces[-1][0].endswith("\n"):
            _split_line_end(pieces)
            pieces.pop()
        for piece in pieces:
            self.writer.write(*piece, "code")

    def _write_html(self) -> None:
        block = "".join(text for text, _, _ in self._verbatim)
        places = _BlockPlaces(self._verbatim)
        spaced = False
        for part in shown_parts(block):
            start, end = places.source(part.start, part.end)
            if part.kind == "text" and part.text != block[part.start : part.end]:
                self.writer.write(part.text, start, end, "html")
            elif part.kind == "text":
                for piece in places.pieces(part.start, part.end):
                    self.writer.write(*piece, "html")
            elif part.kind == "tag":
                self.writer.separate(LINE_BREAK)
            elif part.kind == "line end":
                self.writer.hold(LINE_BREAK, start, end)
            elif not spaced:
                self.writer.hold(SOFT_BREAK, start, end)
            spaced = part.kind == "space"


class _BlockPlaces:
    """Where a raw HTML block, put together from its lines, stands in the source. Asked from left to right."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces
        self._piece = 0
        self._piece_start = 0

    def source(self, start: int, end: int) -> tuple[int, int]:
        first, _ = self._at(start)
        piece, piece_start = self._piece, self._piece_start
        _, last = self._at(end - 1)
        self._piece, self._piece_start = piece, piece_start
        return first, last

    def pieces(self, start: int, end: int) -> Iterator[Piece]:
        """Block text `start:end`, cut where its lines are cut."""
        while start < end:
            first, _ = self._at(start)
            text, _, piece_end = self._pieces[self._piece]
            stop = min(end, self._piece_start + len(text))
            shown = text[start - self._piece_start : stop - self._piece_start]
            yield shown, first, min(first + len(shown), piece_end)
            start = stop

    def _at(self, index: int) -> tuple[int, int]:
        while index >= self._piece_start + len(self._pieces[self._piece][0]):
            self._piece_start += len(self._pieces[self._piece][0])
            self._piece += 1
        _, start, end = self._pieces[self._piece]
        # Spaces that a tab stands for have one source character between them.
        first = min(start + index - self._piece_start, max(start, end - 1))
        return first, min(first + 1, end)


def _joined_lines(pieces: list[Piece]) -> list[Piece]:
    """Lines of code with nothing between them: what lies between two lines is part of the break that parts them."""
    joined: list[Piece] = []
    for text, start, end in pieces:
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


def _split_line_end(pieces: list[Piece]) -> None:
    """Make the line end that closes the last piece a piece of its own."""
    text, start, end = pieces[-1]
    if len(text) > 1:
        pieces[-1:] = [(text[:-1], start, end - 1), ("\n", end - 1, end)]
