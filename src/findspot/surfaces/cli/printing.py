"""Print the result of a command: styled text for people, JSON for programs."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import click

from findspot.surfaces.cli.terminal import columns, lines, visible

if TYPE_CHECKING:
    from rich.console import JustifyMethod

Style: TypeAlias = dict[str, Any]  # arguments of `click.style`

_MIN_COLUMNS, _MAX_COLUMNS = 20, 120
_GAP = 2  # columns of the terminal between two columns of a table
_SHORT = 14  # a column of a table up to this wide is not wrapped; a wider one keeps at least this width


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
    shown = (" " * indent + f"{name:<{width}}  " + hang(text, indent + width + 2) for name, text in rows)
    return "\n".join(line.rstrip() for line in shown)


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
    """Return rows in columns under their headings. On a terminal too narrow for them, each row is a block of lines."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text  # not markup: '[b]' in a name stays '[b]'

    cells = [[visible(str(cell)) for cell in row] for row in rows]
    widths = [max(map(columns, column)) for column in zip(headings, *cells, strict=True)]
    if sum(min(width, _SHORT) for width in widths) + _GAP * (len(widths) - 1) > terminal_width(sys.stdout):
        return "\n\n".join(facts(zip(headings, row, strict=True), indent=0) for row in cells)
    style = "bold" if allows_colours() else "none"
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=style)
    for heading, first, width in zip(headings, rows[0], widths, strict=True):
        right, least = isinstance(first, int) or heading == "size", min(width, _SHORT)
        justify: JustifyMethod = "right" if right else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=width <= _SHORT, min_width=least)
    for row in cells:
        table.add_row(*map(Text, row))
    console = Console(width=min(terminal_width(sys.stdout), 10_000), highlight=False)
    with console.capture() as drawn:
        console.print(table)
    return "\n".join(line.rstrip() for line in drawn.get().splitlines())
