"""A page, a table and plain text in Markdown, for the reference pages."""

import re
from collections.abc import Iterable, Sequence

_MADE = "<!-- Made by `make docs`; change the source, not this page. -->"
_SPECIAL = re.compile(r"([|<>*_])")


def page(title: str, *parts: str) -> str:
    return "\n\n".join((f"# {title}", _MADE, *parts)) + "\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def text(plain: str) -> str:
    """Text that Markdown leaves as it is; what stands between backticks already is."""
    parts = plain.split("`")
    return "`".join(part if number % 2 else _SPECIAL.sub(r"\\\1", part) for number, part in enumerate(parts))
