"""How far something is: a bar on a terminal, a line now and then elsewhere, nothing for machines."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click

from findspot.surfaces.cli.wording import size

_EVERY_S = 5.0


def _echo(line: str) -> None:
    click.echo(line, err=True)


@dataclass(frozen=True, slots=True)
class Followed:
    """Is told how many are done. `say` prints a line meanwhile, above the bar if there is one."""

    moved: Callable[[int], None]
    say: Callable[[str], None] = _echo

    def __call__(self, done: int) -> None:
        self.moved(done)


@contextlib.contextmanager
def following(what: str, total: int | None, *, unit: str = "files", silent: bool) -> Iterator[Followed]:
    """Gives what is told how far it is."""
    if silent:
        yield Followed(lambda done: None)
    elif sys.stderr.isatty():
        with _bar(what, total, unit) as followed:
            yield followed
    else:
        yield Followed(_lines(what, total, unit))


@contextlib.contextmanager
def _bar(what: str, total: int | None, unit: str) -> Iterator[Followed]:
    from rich import progress as parts
    from rich.console import Console
    from rich.text import Text

    figures = (
        (parts.DownloadColumn(), parts.TransferSpeedColumn()) if unit == "bytes" else (parts.MofNCompleteColumn(),)
    )
    columns = (parts.TextColumn("{task.description}"), parts.BarColumn(), *figures, parts.TimeRemainingColumn())
    with parts.Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield Followed(
            lambda done: progress.update(task, completed=done),
            lambda line: progress.console.print(Text.from_ansi(line), soft_wrap=True),
        )


def _lines(what: str, total: int | None, unit: str) -> Callable[[int], None]:
    said = time.monotonic()

    def moved(done: int) -> None:
        nonlocal said
        if time.monotonic() - said >= _EVERY_S:
            said = time.monotonic()
            click.echo(f"{what}: {_said(done, unit)}{'' if total is None else f' of {_said(total, unit)}'}", err=True)

    return moved


def _said(figure: int, unit: str) -> str:
    return size(figure) if unit == "bytes" else f"{figure:,} {unit}"
