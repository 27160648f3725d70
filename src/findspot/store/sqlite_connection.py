"""An aiosqlite connection that runs a statement, with its first rows, in one trip to its thread.

aiosqlite makes four trips: open a cursor, execute, fetch, close. Each waits for Python's global lock and for the event
loop, which takes milliseconds while searches run.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

T = TypeVar("T")

_FIRST_ROWS = 32  # fetched with the statement; a result with more takes another trip


def connector(
    file: Path, wait_s: float, check: Callable[[], None] = lambda: None
) -> Callable[[], aiosqlite.Connection]:
    """Return a function that opens connections which wait this long for a lock. It calls `check` before each."""

    def connect() -> aiosqlite.Connection:
        check()
        connection = _Connection(lambda: sqlite3.connect(file, timeout=wait_s), 64)
        connection._thread.daemon = True  # as SQLAlchemy does for connections that it opens itself
        return connection

    return connect


class _Connection(aiosqlite.Connection):
    def cursor(self) -> Any:
        return _Cursor(self)

    async def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns in the connection's thread."""
        result: T = await self._execute(call)  # type: ignore[no-untyped-call]
        return result

    async def execute_all(self, statements: Sequence[str]) -> None:
        """Execute statements that return no rows, in one trip."""

        def run() -> None:
            for statement in statements:
                self._conn.execute(statement)

        await self.run(run)


class _Cursor:
    """A cursor as SQLAlchemy uses it. The driver's cursor is opened with the statement."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._cursor: sqlite3.Cursor | None = None
        self._rows: list[Any] = []
        self._more = False
        self.arraysize = 1

    async def __aenter__(self) -> "_Cursor":
        return self

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> "_Cursor":
        def run() -> None:
            cursor = self._cursor = self._connection._conn.cursor()
            cursor.execute(sql, parameters)
            self._rows = cursor.fetchmany(_FIRST_ROWS) if cursor.description else []
            self._more = len(self._rows) == _FIRST_ROWS

        await self._connection.run(run)
        return self

    async def executemany(self, sql: str, parameters: Iterable[Sequence[Any]]) -> "_Cursor":
        def run() -> None:
            self._cursor = self._connection._conn.executemany(sql, parameters)

        await self._connection.run(run)
        return self

    async def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows, []
        if self._more and self._cursor is not None:
            self._more = False
            rows += await self._connection.run(self._cursor.fetchall)
        return rows

    async def fetchmany(self, size: int | None = None) -> list[Any]:
        wanted = size or self.arraysize
        rows, self._rows = self._rows[:wanted], self._rows[wanted:]
        if self._more and len(rows) < wanted and self._cursor is not None:
            found = await self._connection.run(partial(self._cursor.fetchmany, wanted - len(rows)))
            self._more = len(found) == wanted - len(rows)
            rows += found
        return rows

    async def fetchone(self) -> Any:
        return next(iter(await self.fetchmany(1)), None)

    async def close(self) -> None:
        if self._more and self._cursor is not None:  # a cursor that was read to its end holds nothing
            self._more = False
            await self._connection.run(self._cursor.close)

    @property
    def description(self) -> Any:
        return self._cursor.description if self._cursor else None

    @property
    def rowcount(self) -> int:
        return self._cursor.rowcount if self._cursor else -1

    @property
    def lastrowid(self) -> int | None:
        return self._cursor.lastrowid if self._cursor else None
