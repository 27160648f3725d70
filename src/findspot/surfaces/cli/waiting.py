"""A word on the terminal when something takes longer than a second."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator

import click

_SILENT_S = 1.0
_CLEAR = "\r\x1b[K"


@contextlib.asynccontextmanager
async def patience(text: str, silent: bool = False) -> AsyncIterator[None]:
    """After a second, and only on a terminal, say what is being done and for how long; then take it away again."""
    if silent or not sys.stderr.isatty():
        yield
        return
    speaker = asyncio.create_task(_speak(text))
    try:
        yield
    finally:
        speaker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await speaker


async def _speak(text: str) -> None:
    await asyncio.sleep(_SILENT_S)
    seconds = 1
    try:
        while True:
            click.echo(f"{_CLEAR}… {text} ({seconds} s)", err=True, nl=False)
            await asyncio.sleep(1)
            seconds += 1
    finally:
        click.echo(_CLEAR, err=True, nl=False)
