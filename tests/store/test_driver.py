"""Statements for many rows, on both databases: COPY and arrays on PostgreSQL, lists of values on SQLite."""

import pytest
import sqlalchemy as sa

from findspot.store import driver, embeddings
from findspot.store.database import Store
from findspot.store.schema import document_lines, documents, projects

MANY = 1100  # more than fit into one statement
COLUMNS = ("document_id", "number", "lines")


@pytest.fixture
async def filled(store: Store) -> Store:
    """A project with one document."""
    async with store.write() as connection:
        await connection.execute(sa.insert(projects), {"name": "p"})
        new = {"project_id": 1, "title": "标题", "type": "d", "format": "text", "revision": 1, "content": b"x"}
        await connection.execute(sa.insert(documents), new)
    return store


async def numbers(store: Store) -> list[int]:
    async with store.read() as connection:
        query = sa.select(document_lines.c.number).order_by(document_lines.c.number)
        return list((await connection.execute(query)).scalars())


async def test_many_rows_are_inserted_and_found_again_by_their_keys(filled: Store) -> None:
    rows = [(1, number, f"行 {number} \0".encode()) for number in range(MANY)]
    query = "SELECT number, lines FROM document_lines WHERE document_id = ? AND number IN (??)"
    async with filled.write() as connection:
        await driver.insert(connection, document_lines, COLUMNS, rows)
        await driver.insert(connection, document_lines, COLUMNS, [])
        found = await driver.run(connection, query, 1, among=range(0, MANY * 2, 2))
    assert sorted((number, bytes(lines)) for number, lines in found) == [row[1:] for row in rows[::2]]
    async with filled.lookup() as reader:
        assert len(await reader.run_sync(lambda sync: driver.rows(sync, query, 1, among=[0, MANY - 1, MANY]))) == 2


async def test_rows_that_break_a_rule_are_refused_and_nothing_of_their_transaction_stays(filled: Store) -> None:
    same_key = [(1, 0, b"line"), (1, 1, b"another"), (1, 1, b"same key")]
    with pytest.raises(sa.exc.IntegrityError):
        async with filled.write() as connection:
            await driver.insert(connection, document_lines, COLUMNS, same_key)
    assert await numbers(filled) == []
    async with filled.write() as connection:
        await driver.insert(connection, document_lines, COLUMNS, [(1, 7, b"line")])
    assert await numbers(filled) == [7]


async def test_rows_that_exist_are_skipped(filled: Store) -> None:
    hashes = [number.to_bytes(32) for number in range(MANY)]
    async with filled.write() as connection:
        await embeddings.put(connection, "one", dict.fromkeys(hashes[:2], b"first"))
        await embeddings.put(connection, "one", dict.fromkeys(hashes, b"second"))
        await embeddings.put(connection, "one", {})
        found = await embeddings.get(connection, "one", hashes)
        assert await embeddings.get(connection, "two", hashes) == {}
    assert [found[each] for each in hashes] == [b"first"] * 2 + [b"second"] * (MANY - 2)
