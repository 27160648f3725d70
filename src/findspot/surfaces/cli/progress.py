"""How far something is: a bar on a terminal, a line now and then elsewhere, nothing for machines."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

import click

_EVERY_S = 5.0


@contextlib.contextmanager
def following(what: str, total: int | None, *, unit: str = "files", silent: bool) -> Iterator[Callable[[int], None]]:
    """Gives a function that is told how many are done."""
    if silent:
        yield lambda done: None
    elif sys.stderr.isatty():
        with _bar(what, total) as moved:
            yield moved
    else:
        yield _lines(what, total, unit)


@contextlib.contextmanager
def _bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)


def _lines(what: str, total: int | None, unit: str) -> Callable[[int], None]:
    said = time.monotonic()

    def moved(done: int) -> None:
        nonlocal said
        if time.monotonic() - said >= _EVERY_S:
            said = time.monotonic()
            of_all = "" if total is None else f" of {total:,}"
            click.echo(f"{what}: {done:,}{of_all} {unit}", err=True)

    return moved
