"""Finds the inline markup and the code blocks of a Markdown source: what an edit of the text must not break."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from findspot.sources.front_matter import body_start
from findspot.sources.markdown import LONE_RETURN, PARSER, CodePoints

MarkKind = Literal[
    "Emphasis", "Strong", "Strikethrough", "Link", "Image", "Code", "CodeBlock", "InlineHtml", "Footnote"
]

_SPANS: dict[str, MarkKind] = {
    "Emphasis": "Emphasis",
    "Strong": "Strong",
    "Strikethrough": "Strikethrough",
    "Link": "Link",
    "Image": "Image",
}
_LEAVES: dict[str, MarkKind] = {"Code": "Code", "InlineHtml": "InlineHtml", "FootnoteReference": "Footnote"}


@dataclass(frozen=True, slots=True)
class Mark:
    """Markup at `source[start:end]`, with the text inside it. `style` is the type of a link or of a code block."""

    kind: MarkKind
    start: int
    end: int
    style: str = ""


def marks(source: str) -> list[Mark]:
    """Return the marks of a Markdown source in order, outer ones first. The source must be one that can be parsed."""
    body = body_start(source)
    source = LONE_RETURN.sub("\n", source)
    points = CodePoints(source, body)
    found: list[Mark] = []
    for event, span in PARSER.events_with_range(source[body:]):
        if isinstance(event, str):
            continue
        ((name, value),) = event.items()
        kind, style = _start(value) if name == "Start" else (_LEAVES.get(name), "")
        if kind:
            start, end = points.at(span["start"]), points.at(span["end"])
            # The parser leaves the brackets of a collapsed reference out.
            end += 2 if style == "Collapsed" and source.startswith("[]", end) else 0
            found.append(Mark(kind, start, end, style))
    return found


def _start(value: Any) -> tuple[MarkKind | None, str]:
    """Return the kind and the style of the tag that starts; None if it is no mark."""
    tag = value if isinstance(value, str) else next(iter(value))
    detail: Any = value[tag] if isinstance(value, dict) else ""
    if tag == "CodeBlock":
        return "CodeBlock", "Fenced" if isinstance(detail, dict) else "Indented"
    return _SPANS.get(tag), str(detail["link_type"]) if tag in ("Link", "Image") else ""
