"""Counts round trips to PostgreSQL on the wire, in the log of messages that the driver's library writes."""

from __future__ import annotations

import re
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import sqlalchemy as sa

# The server ends its answer to what it was sent with the first, and asks for the rows of a COPY with the second.
_AWAITED = ("ReadyForQuery", "CopyInResponse")
_ASKING = ("Query", "Parse", "Execute", "CopyDone")
_MESSAGE = re.compile(r"^(\d{4}-[^\t]*)\t([FB])\t\d+\t(\w+)(?:\t (.*))?$", re.MULTILINE)  # time, side, length, kind


class RoundTrips:
    """Watches the connections that SQLAlchemy uses in the block of this context manager.

    What a new connection is set up with does not count: a search opens one if others are in use.
    """

    def __init__(self) -> None:
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()
        self._logs: list[tuple[Any, IO[str]]] | None = None  # while round trips are counted

    def __enter__(self) -> RoundTrips:
        sa.event.listen(sa.Pool, "checkout", self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sa.event.remove(sa.Pool, "checkout", self._note)

    def _note(self, connection: Any, record: object, proxy: object) -> None:
        driver = getattr(connection, "driver_connection", None)
        if driver is not None and driver not in self._connections:
            self._connections.add(driver)
            self._trace(driver)

    def _trace(self, driver: Any) -> None:
        if self._logs is not None and not driver.closed:
            log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - see `counted`
            driver.pgconn.trace(log.fileno())
            self._logs.append((driver, log))

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        """List what each round trip in the block sent, in the order of the answers."""
        sent: list[str] = []
        found: list[tuple[str, str]] = []
        self._logs = []
        for driver in self._connections:
            self._trace(driver)
        yield sent
        with ExitStack() as closing:
            for driver, log in self._logs:
                closing.enter_context(log)
                if not driver.closed:
                    driver.pgconn.untrace()  # writes the rest of the log
                log.seek(0)
                found += _round_trips(log.read())
        self._logs = None
        sent += [what for _, what in sorted(found)]


def _round_trips(log: str) -> Iterator[tuple[str, str]]:
    """Return when each round trip of a connection ended, and what was sent."""
    asked: list[str] = []
    for at, side, kind, text in _MESSAGE.findall(log):
        if side == "F" and kind in _ASKING:
            asked.append(f"{kind} {text}")
        elif side == "B" and kind in _AWAITED:
            if not _is_preparation(asked):
                yield at, "; ".join(asked)
            asked = []


def _is_preparation(asked: Sequence[str]) -> bool:
    """Return whether a statement was prepared and not run, as the driver does once when a connection repeats it."""
    return len(asked) == 1 and asked[0].startswith('Parse "_pg')
