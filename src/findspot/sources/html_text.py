"""The visible text of a raw HTML block.

Tags with their attributes, comments, declarations, scripts and styles are removed. A tag that is not phrasing content
(a cell, a paragraph, a line break) separates lines, so that words do not run together. White space becomes one space;
inside `pre` it is kept.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# Every unclosed alternative matches to the end of the block, so the scan is linear for any input.
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
"""Elements inside a line of text. Any other tag ends the line."""


@dataclass(frozen=True, slots=True)
class HtmlPart:
    """What `block[start:end]` contributes: text (decoded if an entity), a space, a line end, or a tag's line end."""

    kind: Literal["text", "space", "line end", "tag"]
    start: int
    end: int
    text: str = ""


def visible_parts(block: str) -> Iterator[HtmlPart]:
    """Yield the visible parts of an HTML block in order."""
    done = 0
    preformatted = False
    for markup in _MARKUP.finditer(block):
        yield from _text_parts(block, done, markup.start(), preformatted)
        done = markup.end()
        name = (markup["name"] or "").lower()
        if name == "pre":
            preformatted = not markup["slash"]
        if name and not _PHRASING.fullmatch(name):
            yield HtmlPart("tag", markup.start(), markup.end())
    yield from _text_parts(block, done, len(block), preformatted)


def _text_parts(block: str, start: int, end: int, preformatted: bool) -> Iterator[HtmlPart]:
    gaps = _LINE_END if preformatted else _SPACE
    for gap in gaps.finditer(block, start, end):
        yield from _decoded(block, start, gap.start())
        yield HtmlPart("line end" if preformatted else "space", gap.start(), gap.end())
        start = gap.end()
    yield from _decoded(block, start, end)


def _decoded(block: str, start: int, end: int) -> Iterator[HtmlPart]:
    for entity in _ENTITY.finditer(block, start, end):
        character = html.unescape(entity[0])
        # An unknown name is kept as it is. A forbidden number decodes to nothing and is kept too.
        if not character or character == entity[0]:
            continue
        if entity.start() > start:
            yield HtmlPart("text", start, entity.start(), block[start : entity.start()])
        yield HtmlPart("text", entity.start(), entity.end(), character)
        start = entity.end()
    if end > start:
        yield HtmlPart("text", start, end, block[start:end])
