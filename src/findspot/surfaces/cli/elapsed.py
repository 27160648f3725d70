"""A line on the terminal that shows how long an operation has been running."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

import click

_SHOW_AFTER_S = 1.0
_CLEAR_LINE = "\r\x1b[K"


@contextlib.asynccontextmanager
async def show_elapsed(text: str, silent: bool = False) -> AsyncIterator[None]:
    """After one second, and only on a terminal, show the text and the seconds so far. Remove the line at the end."""
    if silent or not sys.stderr.isatty():
        yield
        return
    task = asyncio.create_task(_update_line(text))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _update_line(text: str) -> None:
    await asyncio.sleep(_SHOW_AFTER_S)
    seconds = 1
    try:
        while True:
            click.echo(f"{_CLEAR_LINE}… {text} ({seconds} s)", err=True, nl=False)
            await asyncio.sleep(1)
            seconds += 1
    finally:
        click.echo(_CLEAR_LINE, err=True, nl=False)
