"""Look-ups that are remembered until the next commit, by whichever process."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from findspot.store import projects
from findspot.store.database import Store
from findspot.store.remembered import Remembered
from findspot.store.schema import projects as table

on_sqlite = pytest.mark.parametrize("database_url", [None], ids=["sqlite"])


class Names:
    """Looks up the names of all projects, and counts how often."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.lookups = 0

    async def look_up(self) -> list[str]:
        self.lookups += 1
        async with self._store.lookup() as connection:
            return [row[0] for row in await connection.execute(sa.select(table.c.name).order_by(table.c.id))]

    async def get(self) -> list[str]:
        return await self._store.remembered.get("names", self.look_up)


async def add(store: Store, name: str) -> None:
    async with store.write() as connection:
        await projects.create(connection, name)


async def test_a_commit_is_seen_by_the_next_call_on_both_databases(store: Store) -> None:
    names = Names(store)
    assert await names.get() == []
    for count, name in enumerate(["one", "二", "three"], 1):
        await add(store, name)
        assert len(await names.get()) == count
        assert (await names.get())[-1] == name


@on_sqlite
async def test_sqlite_looks_up_once_between_two_commits(store: Store) -> None:
    names = Names(store)
    await add(store, "one")
    assert [await names.get() for _ in range(5)] == [["one"]] * 5
    assert names.lookups == 1
    await add(store, "two")
    assert [await names.get() for _ in range(5)] == [["one", "two"]] * 5
    assert names.lookups == 2


@on_sqlite
async def test_a_commit_of_another_process_is_seen_at_once(store: Store, store_file: Path) -> None:
    names = Names(store)
    await add(store, "one")
    assert await names.get() == ["one"]
    script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('DELETE FROM projects'); c.commit()"
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", script, str(store_file)], check=True)
    assert await names.get() == []


@on_sqlite
async def test_an_answer_from_before_a_commit_is_not_kept(store: Store) -> None:
    names = Names(store)

    async def slow() -> list[str]:
        found = await names.look_up()
        await add(store, "one")  # and another request looks something up meanwhile
        await store.remembered.get("other", names.look_up)
        return found

    assert await store.remembered.get("names", slow) == []
    assert await names.get() == ["one"]


@on_sqlite
async def test_another_connection_that_counts_commits_starts_with_nothing_kept(store: Store) -> None:
    names = Names(store)
    assert await names.get() == []
    for _ in range(3):  # each new connection counts from the same number
        store.remembered.close()
        async with store.write() as connection:
            await projects.create(connection, "one")
        store.remembered.close()
        assert await names.get() == await names.look_up()


async def test_every_call_looks_up_if_the_commits_cannot_be_counted(tmp_path: Path) -> None:
    answers = iter(["one", "two"])

    async def look_up() -> str:
        return next(answers)

    remembered = Remembered(sa.create_engine(f"sqlite:///{tmp_path / 'missing' / 'some.db'}"))
    assert [await remembered.get("key", look_up) for _ in range(2)] == ["one", "two"]
