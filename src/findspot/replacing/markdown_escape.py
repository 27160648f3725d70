"""Writes text as Markdown that reads as typed.

There are two ways. The plain way escapes what has a meaning, with a backslash. The strict way writes every character
that is no letter or digit as a numeric entity, which no markup can be made of.
"""

from __future__ import annotations

import re

_ALWAYS = frozenset("\\`*[]<|~")
_ENTITY_START = re.compile(r"&(?=#|[A-Za-z])")
_LINE_START = re.compile(r"[-+=>#:]|\d{1,9}(?=[.)])")
_LINE_END = re.compile(r"\r\n|\r|\n")
_SPACES = re.compile(r"(?<=\s)\s|\A\s|\s\Z")
_BACKTICKS = re.compile("`+")


def entity(character: str) -> str:
    """Return the numeric entity of a character."""
    return f"&#{ord(character)};"


def escape_inline(text: str, at_line_start: bool, before_bracket: bool) -> str:
    """Escape text that stands among inline text. A line end becomes `<br>`."""
    return "<br>".join(
        _escaped_line(line, at_line_start and not number, before_bracket)
        for number, line in enumerate(_LINE_END.split(text))
    )


def _escaped_line(line: str, at_line_start: bool, before_bracket: bool) -> str:
    written: list[str] = []
    first = _LINE_START.match(line) if at_line_start else None
    for index, character in enumerate(line):
        if (
            character in _ALWAYS
            or (character in "_#" and not _is_inside_word(line, index))
            or (character == "&" and _ENTITY_START.match(line, index))
            or (character == "!" and before_bracket and index == len(line) - 1)
            or (first is not None and index == (first.end() if first[0].isdigit() else 0))
        ):
            written.append("\\")
        written.append(character)
    return "".join(written)


def _is_inside_word(line: str, index: int) -> bool:
    """Return whether a `_` stands between letters or digits, or a `#` after one: such characters mean themselves."""
    before = index > 0 and line[index - 1].isalnum()
    return before and (line[index] == "#" or line[index + 1 : index + 2].isalnum())


def with_entities(text: str) -> str:
    """Write everything that is no letter or digit as an entity, and a line end as `<br>`."""
    return "<br>".join(
        "".join(character if character.isalnum() else entity(character) for character in line)
        for line in _LINE_END.split(text)
    )


def escape_html(text: str) -> str:
    """Escape text in raw HTML. White space that a browser would drop becomes an entity."""
    text = _ENTITY_START.sub("&amp;", text).replace("<", "&lt;")
    return _SPACES.sub(lambda space: entity(space[0]), text).replace("\n", "<br>")


def code_span(value: str, in_table: bool) -> str:
    """Return a code span with this value: with enough backticks around it, and spaces where they are needed."""
    runs = {len(run) for run in _BACKTICKS.findall(value)}
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    padded = value[0] in "` " and value[-1] in "` " and value.strip(" ") != ""
    padding = " " if padded or value[0] == "`" or value[-1] == "`" else ""
    return fence + padding + (value.replace("|", "\\|") if in_table else value) + padding + fence


def longer_fence(fence: str, code: str) -> str:
    """Return a fence of this kind that no line of the code can close."""
    runs = re.findall(rf"^[ \t]*({re.escape(fence[0])}+)", code, re.MULTILINE)
    return fence[0] * max(len(fence), 1 + max(map(len, runs), default=0))
