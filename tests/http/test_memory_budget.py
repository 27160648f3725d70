"""Request bodies in flight share a budget of memory: past it, requests wait, and then get a retryable error."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from fastapi import Request
from starlette.types import Message

from findspot.errors import FindspotError
from findspot.runtime.memory import STEP, UNCOUNTED, MemoryBudget
from findspot.settings import Settings
from findspot.surfaces.http import body
from tests.http.world import open_api

MiB = 1024 * 1024


async def test_reservations_wait_for_each_other_in_order() -> None:
    memory, done = MemoryBudget(10 * MiB), list[int]()

    async def hold(number: int, size: int) -> None:
        with memory.reservation() as mine:
            await mine.announce(size)
            done.append(number)

    with memory.reservation() as first:
        await first.announce(8 * MiB)
        waiting = [asyncio.create_task(hold(number, size * MiB)) for number, size in enumerate((9, 1, 10))]
        await asyncio.sleep(0)
        assert done == []  # the small one does not overtake: large ones would never get their turn
    await asyncio.gather(*waiting)
    assert done == [0, 1, 2]


async def test_small_bodies_never_wait() -> None:
    memory = MemoryBudget(MiB, wait_s=0)
    with memory.reservation() as large, memory.reservation() as small:
        await large.announce(MiB)
        await small.announce(UNCOUNTED)
        small.received(UNCOUNTED)


async def test_a_request_that_waits_too_long_gets_a_retryable_error_and_the_next_one_its_turn() -> None:
    memory = MemoryBudget(10 * MiB, wait_s=0.01)
    with memory.reservation() as first:
        await first.announce(6 * MiB)
        with memory.reservation() as second, pytest.raises(FindspotError) as busy:
            await second.announce(5 * MiB)
        assert (busy.value.code, busy.value.kind.retryable) == ("SERVER_BUSY", True)
        assert busy.value.fields["retryAfterMs"] > 0
        with memory.reservation() as third:
            await third.announce(4 * MiB)
    with memory.reservation() as everything:
        await everything.announce(10 * MiB)


async def test_a_cancelled_request_gives_its_turn_away() -> None:
    memory = MemoryBudget(MiB)

    async def hold() -> None:
        with memory.reservation() as mine:
            await mine.announce(MiB)

    with memory.reservation() as first:
        await first.announce(MiB)
        gone, stays = asyncio.create_task(hold()), asyncio.create_task(hold())
        await asyncio.sleep(0)
        gone.cancel()
    await stays
    assert gone.cancelled() or gone.cancelling()


async def test_a_body_of_unknown_length_reserves_more_as_it_arrives_and_fails_at_once_when_there_is_none() -> None:
    memory = MemoryBudget(2 * STEP)
    with memory.reservation() as one, memory.reservation() as other:
        one.received(UNCOUNTED)
        one.received(UNCOUNTED + 1)
        other.received(STEP)
        one.received(STEP)
        with pytest.raises(FindspotError, match="memory"):
            one.received(STEP + 1)
    with memory.reservation() as again:
        again.received(2 * STEP)


async def test_a_body_larger_than_the_budget_takes_all_of_it() -> None:
    memory = MemoryBudget(MiB)
    with memory.reservation() as mine:
        await mine.announce(5 * MiB)
        mine.received(5 * MiB)
    with memory.reservation() as streamed:
        streamed.received(3 * STEP)


async def test_parallel_large_bodies_never_take_more_than_the_budget(tmp_path: Path) -> None:
    size, began, going_on = 300_000, asyncio.Semaphore(0), asyncio.Event()

    async with open_api(Settings(data=tmp_path, body_memory=4 * size)) as owner:
        project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
        path = f"/api/v1/projects/{project}/tables"

        async def slow_body() -> AsyncIterator[bytes]:
            began.release()
            await going_on.wait()
            yield b'{"name":"t","data":"' + b"x" * (size - 22) + b'"}'

        async def upload() -> httpx2.Response:
            return await owner.post(path, content=slow_body(), headers={"Content-Length": str(size)})

        uploads = [asyncio.create_task(upload()) for _ in range(6)]
        await began.acquire()
        await began.acquire()
        assert (await owner.get(path)).status_code == 200
        found = await owner.post(f"/api/v1/projects/{project}/search/fts/query", json={"query": "x"})
        assert found.status_code == 200
        assert began.locked()  # the other four wait, and have sent nothing
        going_on.set()
        assert [answer.status_code for answer in await asyncio.gather(*uploads)] == [201] * 6


async def test_past_the_budget_a_request_gets_503_with_the_time_to_wait(
    tmp_path: Path,
) -> None:
    async with open_api(Settings(data=tmp_path, body_memory=4 * STEP)) as owner:
        project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
        memory: MemoryBudget = owner._transport.app.state.app.memory.bodies  # type: ignore[attr-defined]

        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(4):
                yield b" " * STEP

        with memory.reservation() as held:
            await held.announce(STEP)
            answer = await owner.post(f"/api/v1/projects/{project}/tables", content=chunks())
            assert (answer.status_code, answer.json()["code"]) == (503, "SERVER_BUSY")
            assert answer.headers["retry-after"] == "1"
        table = await owner.post(f"/api/v1/projects/{project}/tables", content=b'{"name":"t","data":1}')
        assert table.status_code == 201


async def test_a_body_that_stalls_is_refused_and_gives_its_memory_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "STALL_S", 0.01)

    async def half() -> AsyncIterator[bytes]:
        yield b'{"name":"t","data":"'
        await asyncio.Event().wait()

    async with open_api(Settings(data=tmp_path, body_memory=2 * MiB)) as owner:
        project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
        async with asyncio.timeout(60):
            answer = await owner.post(
                f"/api/v1/projects/{project}/tables", content=half(), headers={"Content-Length": str(MiB)}
            )
        assert (answer.status_code, answer.json()["code"]) == (503, "SERVER_BUSY")
        assert (answer.headers["retry-after"], answer.headers["connection"]) == ("1", "close")
        memory: MemoryBudget = owner._transport.app.state.app.memory.bodies  # type: ignore[attr-defined]
        with memory.reservation() as everything:
            await everything.announce(MiB)


async def test_a_body_that_trickles_is_refused_although_it_never_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "STALL_S", 0.1)
    monkeypatch.setattr(body, "MIN_RATE", 1 << 40)

    async def trickle() -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0)
            yield b" "

    async with open_api(Settings(data=tmp_path)) as owner:
        project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
        async with asyncio.timeout(60):
            answer = await owner.post(f"/api/v1/projects/{project}/tables", content=trickle())
        assert (answer.status_code, answer.json()["code"]) == (503, "SERVER_BUSY")
        assert answer.headers["connection"] == "close"


async def test_after_its_last_piece_a_body_cannot_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "STALL_S", 0)
    messages: list[Message] = [{"type": "http.request", "body": b"1"}, {"type": "http.disconnect"}]

    async def receive() -> Message:
        message = messages.pop(0)
        for _ in range(5 if message["type"] == "http.disconnect" else 0):
            await asyncio.sleep(0)
        return message

    with MemoryBudget(MiB).reservation() as mine:
        request = await body.limited(Request({"type": "http", "headers": []}, receive), MiB, mine)
        assert await request.body() == b"1"
        assert (await request.receive())["type"] == "http.disconnect"
