"""Rows of line indexes, on both databases."""

from typing import Any

import sqlalchemy as sa

from findspot.store import document_lines as rows
from findspot.store import documents, projects
from findspot.store.database import Store


async def test_pieces_are_read_by_document_and_number_and_replaced_together(store: Store) -> None:
    async with store.write() as connection:
        project = await projects.create(connection, "p")
        new = documents.NewDocument("t", "document", "text", b"x", 1)
        first, second = [(await documents.create(connection, project.id, new)).id for _ in range(2)]
        await rows.replace(connection, {first: [b"a", b"b", b"c"], second: [b"d"]})
        await rows.replace(connection, {first: [b"e", b"f"]})
    wanted = [(first, 1), (first, 2), (second, 0), (second + 1, 0)]
    async with store.lookup() as connection:
        assert await connection.run_sync(rows.read, wanted) == {(first, 1): b"f", (second, 0): b"d"}
        assert await connection.run_sync(rows.read, []) == {}


async def test_the_pieces_of_many_hits_are_found_without_reading_all_rows(store: Store) -> None:
    if store.kind != "sqlite":
        return
    async with store.lookup() as connection:

        def plan(direct: sa.Connection) -> str:
            statements: list[str] = []
            driver: Any = direct.connection.dbapi_connection
            driver.set_trace_callback(statements.append)
            rows.read(direct, [(1, 0), (2, 5)])
            driver.set_trace_callback(None)
            return " ".join(str(row[3]) for row in driver.execute(f"EXPLAIN QUERY PLAN {statements[0]}"))

        assert "SEARCH found USING" in await connection.run_sync(plan)
