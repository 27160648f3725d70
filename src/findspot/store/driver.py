"""Sends statements for many rows directly to the driver, because SQLAlchemy's work per row would take too long."""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

_BATCH = 500  # rows in one statement, so that the event loop is not blocked for long


async def insert(
    connection: AsyncConnection, table: sa.Table, columns: Sequence[str], rows: Sequence[Any], *, if_new: bool = False
) -> None:
    """Insert rows, each a tuple of driver values. With `if_new`, skip rows that already exist."""
    places = ", ".join([_placeholder(connection)] * len(columns))
    query = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({places})"
    if if_new:
        query += " ON CONFLICT DO NOTHING"
    for start in range(0, len(rows), _BATCH):
        await connection.exec_driver_sql(query, list(rows[start : start + _BATCH]))


async def run(connection: AsyncConnection, query: str, *values: Any, among: Sequence[Any]) -> list[Any]:
    """Run a statement and return its rows. `?` stands for a value, and `(??)` for the list `among`.

    `VALUES (??)` stands for a list of tuples. Long lists are split over several statements.
    """
    found: list[Any] = []
    for statement in _statements(connection, query, values, among):
        answer = await connection.exec_driver_sql(*statement)
        if answer.returns_rows:
            found += answer
    return found


def rows(connection: sa.Connection, query: str, *values: Any, among: Sequence[Any]) -> list[Any]:
    """Run a query on a synchronous connection, like `run`."""
    statements = _statements(connection, query, values, among)
    direct = connection.connection.dbapi_connection
    if isinstance(direct, sqlite3.Connection):  # a lookup: SQLAlchemy's result would take longer than the query
        return [row for statement in statements for row in direct.execute(*statement).fetchall()]
    return [row for statement in statements for row in connection.exec_driver_sql(*statement).fetchall()]


def _statements(
    connection: AsyncConnection | sa.Connection, query: str, values: tuple[Any, ...], among: Sequence[Any]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for start in range(0, len(among), _BATCH):
        some = among[start : start + _BATCH]
        places = f"({', '.join('?' * len(some))})"
        if isinstance(some[0], tuple):
            places = ", ".join([f"({', '.join('?' * len(some[0]))})"] * len(some))
            some = list(chain.from_iterable(some))
        yield query.replace("(??)", places).replace("?", _placeholder(connection)), (*values, *some)


def _placeholder(connection: AsyncConnection | sa.Connection) -> str:
    """Return the placeholder of a value in the SQL of this driver."""
    return "?" if connection.dialect.paramstyle == "qmark" else "%s"
