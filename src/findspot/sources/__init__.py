"""What text is there, and where exactly?

Each format has a module with one function, `extract`, from content to Extract: `tiptap`, `markdown` and `plain`.
"""

from __future__ import annotations

from typing import Literal

from findspot.sources.errors import SourceError
from findspot.sources.extract import Block, BlockKind, Extract
from findspot.sources.runs import Span

__all__ = ["Block", "BlockKind", "Extract", "Format", "SourceError", "Span", "extract"]

Format = Literal["tiptap", "markdown", "text"]


def extract(content: object, format: Format) -> Extract:
    """The text of a document's content; raises SourceError when it is not of its format."""
    # Imported where used: a process that only reads tables never loads the Markdown parser.
    if format == "tiptap":
        from findspot.sources import tiptap

        return tiptap.extract(content)
    if not isinstance(content, str):
        raise SourceError(f"{format} content is a string")
    if format == "markdown":
        from findspot.sources import markdown

        return markdown.extract(content)
    from findspot.sources import plain

    return plain.extract(content)
