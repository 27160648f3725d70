"""Replaces letters by letters in a Markdown source, where this cannot change any markup.

Most replacements are of this kind: a name by another name. They need no parser to check the result, which takes most of
the time of a replacement. In doubt the answer is None, and the result is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from findspot.replacing.edits import Edit, apply_edits
from findspot.sources import Extract
from findspot.sources.front_matter import body_start
from findspot.sources.writer import joins_lines

if TYPE_CHECKING:
    from findspot.replacing.matching import Match

# Tags, entities, references, alerts: letters beside these characters may be markup.
_MARKUP_OF_LETTERS = ("<", "&", "]:", "[!")
_HAN = "\u4e00"  # any character of a script without spaces


def replace_letters(source: str, extract: Extract, matches: Sequence[Match]) -> str | None:
    """Return the source with the matches replaced; None if they are not only letters, or could change markup."""
    if any(each in source for each in _MARKUP_OF_LETTERS) or source.startswith("---", body_start(source)):
        return None
    edits: list[Edit] = []
    alike: dict[tuple[str, str], bool] = {}
    for match in matches:
        pair = extract.text[match.start : match.end], match.replacement
        if pair not in alike:
            alike[pair] = _are_alike(*pair)
        run = extract.runs.at(match.start)
        if not alike[pair] or match.end > extract.runs.text_end(run, len(extract.text)):
            return None
        start, end = extract.runs.source(run, match.start, match.end, len(extract.text))
        # `[x]` is the box of a task. A place that is not the text itself is an entity or an escape.
        if source[start:end] != pair[0] or source[start - 1 : start] == "[" or source[end : end + 1] == "]":
            return None
        edits.append(Edit(start, end, match.replacement))
    return apply_edits(source, edits)


def _are_alike(old: str, new: str) -> bool:
    """Return whether both are letters, and of the same kind at their edges, where line ends depend on it."""
    if not (old.isalpha() and new.isalpha()):
        return False
    edges = ((old[0], new[0]), (old[-1], new[-1]))
    return all(joins_lines(one, _HAN) == joins_lines(other, _HAN) for one, other in edges)
