"""Random documents for property tests, and what a reader expects of a replacement."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from findspot.replacing.matching import Match, Matcher
from findspot.replacing.rule import ReplaceRule
from findspot.sources import Extract, Format, extract
from tests.sources.test_markdown import sources as markdown_sources
from tests.sources.test_tiptap import documents as trees

plain_sources = st.lists(
    st.sampled_from(
        ["word", "Word ", "林小雨", "鵝", "e\u0301", "é", "👨‍👩‍👧", "👨", " ", "\t", "\n", "\n\n", "\r\n", "\r\n \r\n"]
    )
    | st.text(max_size=3),
    max_size=20,
).map("".join)

contents = st.one_of(
    st.tuples(st.just("text"), plain_sources),
    st.tuples(st.just("markdown"), markdown_sources),
    st.tuples(st.just("tiptap"), trees.map(lambda tree: json.dumps(tree, ensure_ascii=False))),
)

REPLACEMENTS = (
    *("", "x", "中", "林小溪", "X y", " ", "  ", " a", "a ", "e\u0301", "👨‍👩‍👧", "é", "。", "“q”", "\t", "a\nb", "$1"),
    *(
        "*",
        "_a_",
        "# h",
        "- i",
        "1. n",
        "a|b",
        "`",
        "``",
        "[l](u)",
        "<b>",
        "&amp;",
        "\\",
        "> q",
        "~~",
        "**b**",
        "===",
        "---",
    ),
    *("!", "```", "~~~", "<br>", "&", "foo_bar", "C#", "[^1]", "![", "http://z", '"', ":"),
)
replacements = st.sampled_from(REPLACEMENTS)


def read(content: str, format: Format) -> Extract:
    return extract(json.loads(content) if format == "tiptap" else content, format)


def a_part_of(draw: Any, text: str) -> str:
    """Draw a short part of a text, so that there is something to find; any text if there is none."""
    if not text:
        return str(draw(st.text(min_size=1, max_size=2)))
    start = draw(st.integers(0, len(text) - 1))
    return text[start : start + draw(st.sampled_from([1, 1, 2, 3, 6]))]


def found(extracted: Extract, search: str, replace: str, **options: bool) -> list[Match]:
    return list(Matcher(ReplaceRule(search, replace, **options)).matches(extracted))


def replaced_text(extracted: Extract, matches: Sequence[Match]) -> str:
    """Return the text with the matches replaced."""
    text = extracted.text
    for match in reversed(matches):
        text = text[: match.start] + match.replacement + text[match.end :]
    return text


def replaced_blocks(extracted: Extract, matches: Sequence[Match]) -> list[tuple[str, int, str]]:
    """Return kind, level and text of each block with the matches replaced, as Markdown shows them."""
    blocks = []
    for block in extracted.blocks:
        text = extracted.text[block.start : block.end]
        for match in reversed(matches):
            if block.start <= match.start < block.end:
                text = text[: match.start - block.start] + match.replacement + text[match.end - block.start :]
        blocks.append((block.kind, block.level, _shown(block.kind, text)))
    return [block for block in blocks if block[2].strip()]


def _shown(kind: str, text: str) -> str:
    """Return a block's text without what Markdown does not show: white space at its edges, and more of it in HTML."""
    if kind == "code":
        return re.sub(r"\A(?:[ \t]*\n)+|(?:\n[ \t]*)+\Z", "", text)
    return re.sub(r"\s+", " ", text).strip() if kind == "html" else text.strip()
