"""The SQLite connection: results of any length, however they are fetched, and errors."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from findspot.store.sqlite_connection import connector

LENGTHS = [0, 1, 31, 32, 33, 64, 500]


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine("sqlite+aiosqlite:///", async_creator=connector(tmp_path / "some.db", 1.0))
    async with engine.begin() as connection:
        await connection.execute(sa.text("CREATE TABLE numbers (n INTEGER PRIMARY KEY)"))
    yield engine
    await engine.dispose()


async def fill(engine: AsyncEngine, length: int) -> None:
    async with engine.begin() as connection:
        await connection.exec_driver_sql("INSERT INTO numbers VALUES (?)", [(n,) for n in range(length)])


@pytest.mark.parametrize("length", LENGTHS[1:])
async def test_all_rows_arrive_whether_they_are_fetched_at_once_or_streamed(engine: AsyncEngine, length: int) -> None:
    await fill(engine, length)
    query, expected = sa.text("SELECT n FROM numbers ORDER BY n"), [(n,) for n in range(length)]
    async with engine.connect() as connection:
        assert [tuple(row) for row in await connection.execute(query)] == expected
        for batch in (1, 7, 32, 100):
            async with connection.stream(query, execution_options={"yield_per": batch}) as rows:
                assert [tuple(row) async for row in rows] == expected


async def test_a_query_without_rows_has_its_columns(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        found = await connection.execute(sa.text("SELECT n FROM numbers"))
        assert (list(found.keys()), found.all()) == (["n"], [])


async def test_a_stream_that_is_abandoned_does_not_hold_a_lock(engine: AsyncEngine) -> None:
    await fill(engine, 200)
    async with engine.connect() as connection:
        async with connection.stream(sa.text("SELECT n FROM numbers"), execution_options={"yield_per": 1}) as rows:
            assert (await anext(rows)).n == 0
        await connection.rollback()
        async with engine.begin() as other:
            await other.execute(sa.text("DROP TABLE numbers"))


async def test_the_number_of_changed_rows_and_the_new_id_are_known(engine: AsyncEngine) -> None:
    await fill(engine, 40)
    async with engine.begin() as connection:
        assert (await connection.execute(sa.text("UPDATE numbers SET n = n + 1000"))).rowcount == 40
        assert (await connection.execute(sa.text("INSERT INTO numbers VALUES (7)"))).lastrowid == 7


async def test_errors_of_the_driver_are_raised_and_the_connection_goes_on(engine: AsyncEngine) -> None:
    await fill(engine, 1)
    async with engine.connect() as connection:
        with pytest.raises(IntegrityError):
            await connection.execute(sa.text("INSERT INTO numbers VALUES (0)"))
        with pytest.raises(OperationalError):
            await connection.execute(sa.text("SELECT * FROM missing"))
        assert (await connection.execute(sa.text("SELECT count(*) FROM numbers"))).scalar_one() == 1
