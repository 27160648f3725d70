"""The text a reader sees of a raw HTML block.

Tags, comments, declarations, scripts and styles are markup and vanish, attributes with them. A tag that is not
phrasing content (a cell, a paragraph, a line break) parts the text into lines, so that no two words run together.
White space reads as one space; inside `pre` it stays.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# Every alternative runs to the end of the block when it is not closed: so the scan is linear, whatever the input.
_MARKUP = re.compile(
    r"<!--(?:-?>|.*?(?:-->|\Z))"
    r"|<!\[CDATA\[.*?(?:\]\]>|\Z)"
    r"|<[?].*?(?:[?]>|\Z)"
    r"|<![a-z].*?(?:>|\Z)"
    r"|<(?P<hidden>script|style)\b.*?(?:</(?P=hidden)\s*>|\Z)"
    r"|<(?P<slash>/?)(?P<name>[a-z][a-z0-9:-]*)(?:[^\"'>]++|\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))*+(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_SPACE = re.compile(r"\s+")
_LINE_END = re.compile(r"\n")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")

_PHRASING = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|ins|kbd|label|mark|q|rp|rt|ruby|s|samp|small"
    "|span|strike|strong|sub|sup|time|tt|u|var|wbr"
)
"""Elements inside a line of text; any other tag ends the line."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What block text `start:end` shows: itself or a decoded entity, a space, a line end of its own, or a tag's."""

    kind: Literal["text", "space", "line end", "tag"]
    start: int
    end: int
    text: str = ""


def shown_parts(block: str) -> Iterator[Shown]:
    """What a reader sees of an HTML block, in order."""
    done = 0
    preformatted = False
    for markup in _MARKUP.finditer(block):
        yield from _text_parts(block, done, markup.start(), preformatted)
        done = markup.end()
        name = (markup["name"] or "").lower()
        if name == "pre":
            preformatted = not markup["slash"]
        if name and not _PHRASING.fullmatch(name):
            yield Shown("tag", markup.start(), markup.end())
    yield from _text_parts(block, done, len(block), preformatted)


def _text_parts(block: str, start: int, end: int, preformatted: bool) -> Iterator[Shown]:
    gaps = _LINE_END if preformatted else _SPACE
    for gap in gaps.finditer(block, start, end):
        yield from _decoded(block, start, gap.start())
        yield Shown("line end" if preformatted else "space", gap.start(), gap.end())
        start = gap.end()
    yield from _decoded(block, start, end)


def _decoded(block: str, start: int, end: int) -> Iterator[Shown]:
    for entity in _ENTITY.finditer(block, start, end):
        character = html.unescape(entity[0])
        # An unknown name stays as it is; a forbidden number decodes to nothing, and then stays as well.
        if not character or character == entity[0]:
            continue
        if entity.start() > start:
            yield Shown("text", start, entity.start(), block[start : entity.start()])
        yield Shown("text", entity.start(), entity.end(), character)
        start = entity.end()
    if end > start:
        yield Shown("text", start, end, block[start:end])
