"""What a command prints: one style for people, JSON for machines."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO, TypeAlias

import click

from findspot.surfaces.cli.terminal import lines, visible

Look: TypeAlias = dict[str, Any]  # what `click.style` takes

_LEAST, _WIDE = 20, 120


def emit(text: str | bytes) -> None:
    """Print. A reader that has seen enough, such as `head`, is no failure: what was to be done is done."""
    try:
        click.echo(text)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def emit_content(content: str | bytes) -> None:
    """Print what is kept, to the letter; but a terminal gets nothing that it would obey."""
    data = content.encode(errors="replace") if isinstance(content, str) else content
    emit(visible(data.decode(errors="replace")) if sys.stdout.isatty() else data)


def show(value: Any, as_json: bool, text: str) -> None:
    """Print a result: the value for machines, the text for people."""
    emit(_for_machines(value) if as_json else text)


def show_rows(value: Any, as_json: bool, headings: Sequence[str], rows: Sequence[Sequence[Any]], empty: str) -> None:
    """Print a list: the value for machines, a table for people, and a sentence when there is nothing."""
    show(value, as_json, "" if as_json else _table(headings, rows) if rows else empty)


def styled(text: str, **look: Any) -> str:
    """Text in colour, bold or dim, unless NO_COLOR is set."""
    return click.style(visible(text), **look) if has_colours() else visible(text)


def has_colours() -> bool:
    """Whether colours are wanted where there can be some."""
    return not os.environ.get("NO_COLOR")


def is_coloured() -> bool:
    """Whether what is printed has colours: they are for terminals."""
    return has_colours() and sys.stdout.isatty()


def done(text: str) -> str:
    return styled("✓ ", fg="green") + hang(text, 2)


def facts(pairs: Iterable[tuple[str, str]], indent: int = 2) -> str:
    """Names and what there is to say about them, in two columns."""
    known = list(pairs)
    width = max(len(name) for name, _ in known)
    return "\n".join(" " * indent + f"{name:<{width}}  " + hang(text, indent + width + 2) for name, text in known)


def hang(text: str, indent: int, stream: TextIO | None = None, looks: Sequence[tuple[int, int, Look]] = ()) -> str:
    """Text that begins `indent` columns from the left and stays there when a line of the terminal is full. `looks`
    are spans of it in their order, and how each looks."""
    width = max(terminal_width(stream or sys.stdout) - indent, _LEAST)
    shown = visible(text).replace("\t", " ")
    return f"\n{' ' * indent}".join(_painted(shown, start, end, looks) for start, end in lines(shown, width))


def _painted(text: str, start: int, end: int, looks: Sequence[tuple[int, int, Look]]) -> str:
    parts = []
    for first, last, look in looks:
        first, last = max(first, start), min(last, end)
        if first < last:
            parts += [text[start:first], styled(text[first:last], **look)]
            start = last
    return "".join([*parts, text[start:end]])


def terminal_width(stream: TextIO) -> int:
    """Columns to fill. What is not a terminal has no edge, so that a line stays a line for `grep`."""
    return min(shutil.get_terminal_size().columns, _WIDE) if stream.isatty() else sys.maxsize


def _for_machines(value: Any) -> bytes:
    """JSON is UTF-8, whatever the terminal's encoding."""
    return json.dumps(value, ensure_ascii=False).encode()


def _table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text  # a name is text, not markup: '[b]' stays '[b]'

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold" if has_colours() else "none")
    for heading, first in zip(headings, rows[0], strict=True):
        right = isinstance(first, int) or heading == "size"
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(str(cell))) for cell in row))
    console = Console(width=min(terminal_width(sys.stdout), 10_000), highlight=False)
    with console.capture() as drawn:
        console.print(table)
    return "\n".join(line.rstrip() for line in drawn.get().splitlines())
