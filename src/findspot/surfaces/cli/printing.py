"""Print the result of a command: styled text for people, JSON for programs."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO, TypeAlias

import click

from findspot.surfaces.cli.terminal import lines, visible

Style: TypeAlias = dict[str, Any]  # arguments of `click.style`

_MIN_COLUMNS, _MAX_COLUMNS = 20, 120


def emit(text: str | bytes) -> None:
    """Print. A closed pipe is no failure: the work is done, and `head` needs no more of its output."""
    try:
        click.echo(text)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def emit_content(content: str | bytes) -> None:
    """Print stored content unchanged. On a terminal, show control characters instead of sending them."""
    data = content.encode(errors="replace") if isinstance(content, str) else content
    emit(visible(data.decode(errors="replace")) if sys.stdout.isatty() else data)


def show(value: Any, as_json: bool, text: str) -> None:
    """Print a result: the value as JSON, or the text."""
    emit(_to_json(value) if as_json else text)


def show_rows(value: Any, as_json: bool, headings: Sequence[str], rows: Sequence[Sequence[Any]], empty: str) -> None:
    """Print a list: the value as JSON, or a table, or the sentence `empty` if there are no rows."""
    show(value, as_json, "" if as_json else table_of(headings, rows) if rows else empty)


def styled(text: str, **style: Any) -> str:
    """Return the text in colour, bold or dim, unless NO_COLOR is set."""
    return click.style(visible(text), **style) if allows_colours() else visible(text)


def allows_colours() -> bool:
    """Return whether the user allows colours."""
    return not os.environ.get("NO_COLOR")


def is_coloured() -> bool:
    """Return whether output has colours: on a terminal, if the user allows them."""
    return allows_colours() and sys.stdout.isatty()


def done(text: str) -> str:
    return styled("✓ ", fg="green") + hang(text, 2)


def facts(pairs: Iterable[tuple[str, str]], indent: int = 2) -> str:
    """Return names and their values in two columns."""
    rows = list(pairs)
    width = max(len(name) for name, _ in rows)
    return "\n".join(" " * indent + f"{name:<{width}}  " + hang(text, indent + width + 2) for name, text in rows)


def hang(text: str, indent: int, stream: TextIO | None = None, spans: Sequence[tuple[int, int, Style]] = ()) -> str:
    """Wrap text to the terminal, with following lines indented by `indent` columns. `spans` are styled ranges of the
    text, in order."""
    width = max(terminal_width(stream or sys.stdout) - indent, _MIN_COLUMNS)
    shown = visible(text).replace("\t", " ")
    return f"\n{' ' * indent}".join(_styled_line(shown, start, end, spans) for start, end in lines(shown, width))


def _styled_line(text: str, start: int, end: int, spans: Sequence[tuple[int, int, Style]]) -> str:
    parts = []
    for first, last, style in spans:
        first, last = max(first, start), min(last, end)
        if first < last:
            parts += [text[start:first], styled(text[first:last], **style)]
            start = last
    return "".join([*parts, text[start:end]])


def terminal_width(stream: TextIO) -> int:
    """Return the columns to fill. Without a terminal there is no limit, so that a line stays one line for `grep`."""
    return min(shutil.get_terminal_size().columns, _MAX_COLUMNS) if stream.isatty() else sys.maxsize


def _to_json(value: Any) -> bytes:
    """Return JSON in UTF-8, whatever the encoding of the terminal."""
    return json.dumps(value, ensure_ascii=False).encode()


def table_of(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows in columns under their headings."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text  # not markup: '[b]' in a name stays '[b]'

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold" if allows_colours() else "none")
    for heading, first in zip(headings, rows[0], strict=True):
        right = isinstance(first, int) or heading == "size"
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(str(cell))) for cell in row))
    console = Console(width=min(terminal_width(sys.stdout), 10_000), highlight=False)
    with console.capture() as drawn:
        console.print(table)
    return "\n".join(line.rstrip() for line in drawn.get().splitlines())
