"""Progress of a long operation: a bar on a terminal, a line every few seconds elsewhere, nothing with --json."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click

from findspot.surfaces.cli.formatting import size

_LINE_EVERY_S = 5.0


def _echo(line: str) -> None:
    click.echo(line, err=True)


@dataclass(frozen=True, slots=True)
class Progress:
    """Call it with the number done so far. `print_line` prints a line, above the bar if there is one."""

    update: Callable[[int], None]
    print_line: Callable[[str], None] = _echo

    def __call__(self, done: int) -> None:
        self.update(done)


@contextlib.contextmanager
def show_progress(what: str, total: int | None, *, unit: str = "files", silent: bool) -> Iterator[Progress]:
    if silent:
        yield Progress(lambda done: None)
    elif sys.stderr.isatty():
        with _bar(what, total, unit) as progress:
            yield progress
    else:
        yield Progress(_lines(what, total, unit))


@contextlib.contextmanager
def _bar(what: str, total: int | None, unit: str) -> Iterator[Progress]:
    from rich import progress as parts
    from rich.console import Console
    from rich.text import Text

    numbers = (
        (parts.DownloadColumn(), parts.TransferSpeedColumn()) if unit == "bytes" else (parts.MofNCompleteColumn(),)
    )
    columns = (parts.TextColumn("{task.description}"), parts.BarColumn(), *numbers, parts.TimeRemainingColumn())
    with parts.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield Progress(
            lambda done: bar.update(task, completed=done),
            lambda line: bar.console.print(Text.from_ansi(line), soft_wrap=True),
        )


def _lines(what: str, total: int | None, unit: str) -> Callable[[int], None]:
    printed_at = time.monotonic()

    def update(done: int) -> None:
        nonlocal printed_at
        if time.monotonic() - printed_at >= _LINE_EVERY_S:
            printed_at = time.monotonic()
            click.echo(
                f"{what}: {_amount(done, unit)}{'' if total is None else f' of {_amount(total, unit)}'}", err=True
            )

    return update


def _amount(number: int, unit: str) -> str:
    return size(number) if unit == "bytes" else f"{number:,} {unit}"
