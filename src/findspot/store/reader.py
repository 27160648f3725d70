"""A connection that only queries, whichever thread it runs in."""

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import sqlalchemy as sa

P = ParamSpec("P")
T = TypeVar("T")


class Reader(Protocol):
    """A connection that runs queries. `read`, `lookup` and `write` all give one."""

    async def execute(
        self, statement: sa.Executable, parameters: Mapping[str, Any] | None = None, /
    ) -> sa.CursorResult[*tuple[Any, ...]]: ...

    async def run_sync(self, fn: Callable[Concatenate[sa.Connection, P], T], *arg: P.args, **kw: P.kwargs) -> T:
        """Return what a function returns that queries a synchronous connection."""


class SameThreadReader:
    """A reader that runs its queries in the thread of the event loop."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    async def execute(
        self, statement: sa.Executable, parameters: Mapping[str, Any] | None = None, /
    ) -> sa.CursorResult[*tuple[Any, ...]]:
        return self._connection.execute(statement, parameters)

    async def run_sync(self, fn: Callable[Concatenate[sa.Connection, P], T], *arg: P.args, **kw: P.kwargs) -> T:
        return fn(self._connection, *arg, **kw)
