"""Statements that go to the driver as they are, where there are so many rows that SQLAlchemy's care for each of them
would take longer than the database does."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

_AT_ONCE = 500  # rows in one statement, which is one moment of the event loop


async def insert(
    connection: AsyncConnection, table: sa.Table, columns: Sequence[str], rows: Sequence[Any], *, if_new: bool = False
) -> None:
    """Add rows, each a tuple of values as the driver takes them; with `if_new`, only those that are not there yet."""
    places = ", ".join([_place(connection)] * len(columns))
    query = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({places})"
    if if_new:
        query += " ON CONFLICT DO NOTHING"
    for start in range(0, len(rows), _AT_ONCE):
        await connection.exec_driver_sql(query, list(rows[start : start + _AT_ONCE]))


async def run(connection: AsyncConnection, query: str, *values: Any, among: Sequence[Any]) -> list[Any]:
    """The rows of a statement, `?` standing for a value each and `(??)` for those to look among."""
    found: list[Any] = []
    for statement in _statements(connection, query, values, among):
        answer = await connection.exec_driver_sql(*statement)
        if answer.returns_rows:
            found += answer
    return found


def rows(connection: sa.Connection, query: str, *values: Any, among: Sequence[Any]) -> list[Any]:
    """The same, for a question that is asked in one go."""
    statements = _statements(connection, query, values, among)
    return [row for statement in statements for row in connection.exec_driver_sql(*statement).fetchall()]


def _statements(
    connection: AsyncConnection | sa.Connection, query: str, values: tuple[Any, ...], among: Sequence[Any]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for start in range(0, len(among), _AT_ONCE):
        some = among[start : start + _AT_ONCE]
        written = query.replace("(??)", f"({', '.join('?' * len(some))})").replace("?", _place(connection))
        yield written, (*values, *some)


def _place(connection: AsyncConnection | sa.Connection) -> str:
    """What stands in a statement for a value."""
    return "?" if connection.dialect.paramstyle == "qmark" else "%s"
