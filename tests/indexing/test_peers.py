"""Messages between the index worker and the API processes of one server."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from findspot.engines.opening import unavailable
from findspot.indexing import peers as messages
from findspot.indexing.peers import IndexPeers
from findspot.indexing.status import IndexStatus
from findspot.runtime.peers import WORKER, Team
from findspot.settings import Settings
from findspot.store import projects
from findspot.store.database import Store

pytestmark = pytest.mark.one_database


@dataclass
class Process:
    store: Store
    status: IndexStatus


@pytest.fixture
async def processes(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Process, Process]]:
    """A worker's process and an API process, each with its own connections, in one event loop."""
    monkeypatch.setattr(messages, "PASS_ON_S", 0.01)
    team, opened, made = Team(1), list[IndexPeers](), list[Process]()
    for number in (WORKER, 1):
        store = await Store.open(None, settings.data / "findspot.db")
        made.append(Process(store, IndexStatus(store, unavailable("none"), settings)))
        opened.append(IndexPeers(team.member(number), store, made[-1].status))
        opened[-1].start()
    yield made[0], made[1]
    for each in opened:
        await each.close()
    for process in made:
        await process.store.close()
    team.close()


async def test_a_write_in_an_api_process_wakes_the_worker(processes: tuple[Process, Process]) -> None:
    worker, api = processes
    for name in ("first", "second"):
        worker.store.written.clear()
        async with api.store.write() as connection:
            await projects.create(connection, name)
        async with asyncio.timeout(120):
            await worker.store.written.wait()


async def test_progress_of_the_worker_wakes_a_request_that_waits_for_it(
    processes: tuple[Process, Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.indexing.status.CHECK_EVERY_S", 3600.0)
    worker, api = processes
    checked, is_done = asyncio.Event(), False

    async def done() -> bool:
        checked.set()
        return is_done

    waiting = asyncio.create_task(api.status.wait_until(done))
    await checked.wait()
    is_done = True
    await worker.status.announce()
    async with asyncio.timeout(120):
        await waiting


async def test_what_searches_find_is_known_to_the_worker_which_evicts_vectors(
    processes: tuple[Process, Process],
) -> None:
    worker, api = processes

    async def known() -> bool:
        return worker.status.recent_hits()[-2:] == [7, 2**40]

    api.status.note_hits([*range(1, 2501), 7, 2**40])
    async with asyncio.timeout(120):
        await worker.status.wait_until(known)
    assert len(worker.status.recent_hits()) == 2501
