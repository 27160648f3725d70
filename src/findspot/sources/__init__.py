"""What text does a document or file contain, and at which offsets?

The formats `tiptap`, `markdown` and `plain` have a module each, with one function `extract` from content to Extract.
"""

from __future__ import annotations

from typing import Literal

from findspot.sources.errors import SourceError
from findspot.sources.extract import Block, BlockKind, Extract
from findspot.sources.runs import Span

__all__ = ["Block", "BlockKind", "Extract", "Format", "SourceError", "Span", "extract"]

Format = Literal["tiptap", "markdown", "text"]


def extract(content: object, format: Format) -> Extract:
    """Return the text of a document's content. Raise SourceError if the content is not in this format."""
    # Imported here so that a process that only reads tables does not load the Markdown parser.
    if format == "tiptap":
        from findspot.sources import tiptap

        return tiptap.extract(content)
    if not isinstance(content, str):
        raise SourceError(f"{format} content must be a string")
    if format == "markdown":
        from findspot.sources import markdown

        return markdown.extract(content)
    from findspot.sources import plain

    return plain.extract(content)
