"""Finds the matches of a rule in the text of a document. Preview, replace and the editor's find all use it.

A match lies in one segment: a block, or the part of it between two inserted characters (a table cell). Within a segment
marks and inline nodes make no difference. docs/replace-rules.md has the rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from findspot.chunking.graphemes import is_boundary
from findspot.errors import invalid
from findspot.patterns import Occurrence, compile_pattern
from findspot.replacing.rule import ReplaceRule
from findspot.replacing.template import Template
from findspot.replacing.whole_word import WholeWords
from findspot.sources import Extract

_SEPARATORS = frozenset("\n\r\t")  # what may separate two segments
_INDENT = re.compile(r"[^\S\r\n]+")


@dataclass(frozen=True, slots=True)
class Match:
    """A range of a document's text, in code points, and what replaces it."""

    start: int
    end: int
    replacement: str


class Matcher:
    """The matches of one rule. Raises INVALID_ARGUMENT if the rule cannot be used."""

    def __init__(self, rule: ReplaceRule) -> None:
        if not rule.search:
            raise invalid("search", "is empty")
        self._rule = rule
        self._pattern = compile_pattern(
            rule.search, case_sensitive=rule.case_sensitive, literal=not rule.regex, multiline=True, field="search"
        )
        self._template = Template(rule, self._pattern)
        # Such a text cannot reach from one segment into the next, so the whole document is searched at once.
        self._in_one_line = not rule.regex and _SEPARATORS.isdisjoint(rule.search)

    def ranges(self, extract: Extract, limit: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the matches in order, up to `limit` of them."""
        for number, (base, _, found) in enumerate(self._occurrences(extract)):
            if number == limit:
                return
            yield base + found.start, base + found.end

    def matches(self, extract: Extract) -> Iterator[Match]:
        """Yield the matches in order. They do not overlap. Raise INVALID_ARGUMENT if a replacement is too long."""
        for base, text, found in self._occurrences(extract):
            yield Match(base + found.start, base + found.end, self._template.expand(text, found))

    def _occurrences(self, extract: Extract) -> Iterator[tuple[int, str, Occurrence]]:
        """Yield each match with the text that it was found in, and where that text begins in the document."""
        if self._in_one_line:
            yield from ((0, extract.text, found) for found in self._found(extract.text))
            return
        for start, end in segments(extract):
            text = extract.text[start:end]
            yield from ((start, text, found) for found in self._found(text))

    def _found(self, text: str) -> Iterator[Occurrence]:
        words = WholeWords(text) if self._rule.whole_word else None
        only_ascii = text.isascii()
        for found in self._pattern.finditer(text):
            if found.start == found.end:
                continue
            if not (_is_edge(text, found.start, only_ascii) and _is_edge(text, found.end, only_ascii)):
                continue
            if words is None or words.is_whole(found.start, found.end):
                yield found


def segments(extract: Extract) -> Iterator[tuple[int, int]]:
    """Yield the ranges that are searched, in order. No match reaches from one into another."""
    if extract.nodes is None and len(extract.runs) == 1:
        yield from _paragraphs(extract)
        return
    for block in extract.blocks:
        if block.kind in ("row", "html"):
            yield from _cells(extract, block.start, block.end)
        else:
            yield block.start, block.end


def _paragraphs(extract: Extract) -> Iterator[tuple[int, int]]:
    """Yield the paragraphs of a plain text, with the indentation of their lines, and the line ends between them."""
    text, done = extract.text, 0
    for block in extract.blocks:
        start = block.start
        while start > done and _INDENT.match(text[start - 1]):
            start -= 1
        if start > done:
            yield done, start
        tail = _INDENT.match(text, block.end)
        done = tail.end() if tail else block.end
        yield start, done
    if done < len(text):
        yield done, len(text)


def _cells(extract: Extract, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a row or of raw HTML between the inserted breaks."""
    runs, nodes = extract.runs, extract.nodes
    for run in runs.covering(start, end):
        is_node = nodes is not None and not nodes.fields[runs.owners[run]]  # a hard break
        if runs.starts[run] == runs.ends[run] and not is_node:
            if start < runs.text_starts[run]:
                yield start, runs.text_starts[run]
            start = runs.text_end(run, len(extract.text))
    if start < end:
        yield start, end


def _is_edge(text: str, offset: int, only_ascii: bool) -> bool:
    """Return whether a match may begin or end here: not inside a character that a reader sees as one."""
    if 0 < offset < len(text) and text[offset] == "\n" and text[offset - 1] == "\r":
        return False
    return only_ascii or is_boundary(text, 0, offset)
