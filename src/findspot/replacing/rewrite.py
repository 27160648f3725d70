"""Writes replacements into the content of a document. Everything else in the content stays byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from findspot.replacing.edits import Edit, apply_edits
from findspot.sources import Extract, Format

if TYPE_CHECKING:
    from findspot.replacing.matching import Match


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The new content, and the matches that were left as they are because replacing them would change other text."""

    content: str
    left: tuple[Match, ...] = ()


def rewrite(content: str, format: Format, extract: Extract, matches: Sequence[Match]) -> Rewrite:
    """Return the content with the matches replaced.

    `extract` is the extract of the content; the matches are in order and do not overlap.
    """
    if not matches:
        return Rewrite(content)
    if format == "tiptap":
        from findspot.replacing.tree_text import rewrite_tree

        return Rewrite(rewrite_tree(content, extract, matches))
    if format == "markdown":
        from findspot.replacing.markdown_text import rewrite_markdown

        return Rewrite(*rewrite_markdown(content, extract, matches))
    return Rewrite(apply_edits(content, (Edit(each.start, each.end, each.replacement) for each in matches)))
