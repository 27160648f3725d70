"""Opening the store, and looking up rows."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.errors import FindspotError
from findspot.store import projects as rows
from findspot.store.database import Store
from findspot.store.reader import Reader
from findspot.store.schema import projects


async def test_a_lookup_sees_committed_rows_only(store: Store) -> None:
    async with store.write() as connection:
        made = await rows.create(connection, "项目")
        async with store.lookup() as reader:
            assert await rows.get(reader, made.id) is None
    async with store.lookup() as reader:
        assert await rows.get(reader, made.id) == made
    async with store.write() as connection:
        await rows.delete(connection, made.id)
    async with store.lookup() as reader:
        assert await rows.get(reader, made.id) is None


async def test_many_lookups_run_while_others_write(store: Store) -> None:
    async def create() -> int:
        async with store.write() as connection:
            return (await rows.create(connection, "p")).id

    async def exists(id: int) -> bool:
        async with store.lookup() as reader:
            return await rows.get(reader, id) is not None

    async def create_and_find() -> bool:
        return await exists(await create())

    assert await asyncio.gather(*(create_and_find() for _ in range(30))) == [True] * 30


async def test_a_failed_or_empty_lookup_does_not_affect_the_next(store: Store) -> None:
    with pytest.raises((FindspotError, sa.exc.ProgrammingError)):
        async with store.lookup() as reader:
            await reader.execute(sa.text("SELECT * FROM nowhere"))
    async with store.lookup():
        pass
    async with store.lookup() as reader:
        assert (await reader.execute(sa.text("SELECT :n"), {"n": 1})).scalar_one() == 1


@pytest.mark.parametrize("database_url", [None], ids=["sqlite"])
async def test_a_broken_connection_is_replaced(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    def driver(connection: sa.Connection) -> Any:
        return connection.connection.dbapi_connection

    async def break_and_fail(reader: Reader) -> None:
        (await reader.run_sync(driver)).close()
        raise LookupError("the first error")

    caplog.set_level("WARNING", "findspot")
    with pytest.raises(LookupError, match="the first error"):
        async with store.lookup() as reader:
            await break_and_fail(reader)
    assert "could not be rolled back" in caplog.text
    async with store.lookup() as reader:
        pooled = await reader.run_sync(driver)
    pooled.close()
    with pytest.raises(FindspotError) as refused:
        async with store.lookup():
            pass
    assert refused.value.code == "STORE_UNAVAILABLE"
    async with store.lookup() as reader:
        assert await rows.get(reader, 1) is None


async def test_a_lookup_waits_in_another_thread_while_the_database_is_locked(tmp_path: Path) -> None:
    file = tmp_path / "findspot.db"
    await (await Store.open(None, file)).close()
    store = Store.unprepared(None, file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")

    async def find() -> bool:
        async with store.lookup() as reader:
            return await rows.get(reader, 1) is not None

    finding = asyncio.create_task(find())
    await asyncio.sleep(0)
    other.close()
    assert await finding is False
    assert await find() is False
    await store.close()


async def test_a_durable_write_waits_for_the_disk_whatever_came_before(tmp_path: Path) -> None:
    store = await Store.open(None, tmp_path / "findspot.db")

    async def synchronous(*, durable: bool) -> int:
        async with store.write(durable=durable) as connection:
            return int((await connection.execute(sa.text("PRAGMA synchronous"))).scalar_one())

    normal, full = 1, 2
    try:
        assert [await synchronous(durable=each) for each in (True, False, False, True)] == [full, normal, normal, full]
        store.stop_waiting(0)
        other = sqlite3.connect(tmp_path / "findspot.db", isolation_level=None)
        for durable in (False, True):
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(FindspotError):
                await synchronous(durable=durable)
            other.execute("ROLLBACK")
            assert [await synchronous(durable=each) for each in (True, False)] == [full, normal]
        other.close()
    finally:
        await store.close()


async def test_all_queries_of_a_lookup_see_the_same_state(store: Store) -> None:
    query = sa.select(sa.func.count()).select_from(projects)
    for number in range(3):
        async with store.lookup() as reader:
            before = (await reader.execute(query)).scalar_one()
            async with store.write() as connection:
                await connection.execute(sa.insert(projects).values(name=f"p{number}"))
            assert (await reader.execute(query)).scalar_one() == before
        async with store.lookup() as reader:
            assert (await reader.execute(query)).scalar_one() == before + 1


async def test_only_the_user_can_read_the_database_file(tmp_path: Path) -> None:
    store = await Store.open(None, tmp_path / "findspot.db")
    async with store.write() as connection:
        await rows.create(connection, "p")
    modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    await store.close()
    assert modes == dict.fromkeys(("findspot.db", "findspot.db-wal", "findspot.db-shm"), 0o600)


async def test_a_store_that_cannot_be_opened_raises_store_unavailable(tmp_path: Path) -> None:
    (tmp_path / "findspot.db").write_bytes(b"this is not a database, but long enough to be read" * 100)
    with pytest.raises(Exception, match=r"database") as refused:
        await Store.open(None, tmp_path / "findspot.db")
    assert "SELECT" not in str(refused.value)
    with pytest.raises(FindspotError) as unreachable:
        await Store.open("postgresql://nobody@127.0.0.1:1/none", tmp_path / "unused.db")
    assert unreachable.value.code == "STORE_UNAVAILABLE"
