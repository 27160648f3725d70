"""How many bytes have passed, and how quickly: one line on a terminal, nothing elsewhere."""

import sys
import time
from types import TracebackType
from typing import Self

import click

from findspot.surfaces.cli.wording import size

_CLEAR = "\r\x1b[K"
_EVERY_S = 0.2


class Meter:
    """Told how far something is; shows it a few times a second, and takes it away in the end."""

    def __init__(self, doing: str, total: int | None = None, silent: bool = False) -> None:
        self._doing = doing
        self._of = f" of {size(total)}" if total is not None else ""
        self._shown = not silent and sys.stderr.isatty()
        self._began = self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def at(self, position: int) -> None:
        """So many bytes have passed in all."""
        now = time.monotonic()
        if self._shown and now - self._last >= _EVERY_S:
            rate = size(int(position / (now - self._began)))
            click.echo(f"{_CLEAR}… {self._doing} {size(position)}{self._of}, {rate}/s", err=True, nl=False)
            self._last = now

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            click.echo(_CLEAR, err=True, nl=False)
