"""The thread pools of a process."""

import asyncio
import re
import threading
from pathlib import Path

import pytest

import findspot
from findspot.runtime.threads import SHORT, STAGE_POOLS, ThreadPool, Threads

SOURCE = Path(findspot.__file__).parent


def test_every_thread_pool_is_listed() -> None:
    holders = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if re.search(r"\bThreadPoolExecutor\(", file.read_text(encoding="utf-8"))
    }
    assert holders == {"runtime/threads.py", *STAGE_POOLS}


async def test_a_full_pool_does_not_delay_another_one(threads: Threads) -> None:
    release = threading.Event()
    slow = [asyncio.create_task(threads.embed_texts.run(release.wait)) for _ in range(20)]
    assert await threads.search.run(max, 1, 2) == 2
    release.set()
    assert await asyncio.gather(*slow) == [True] * 20


async def test_a_call_that_is_cancelled_while_it_waits_never_begins() -> None:
    pool, release = ThreadPool("test", 1), threading.Event()
    began: list[int] = []
    running = asyncio.create_task(pool.run(release.wait))
    waiting = asyncio.create_task(pool.run(began.append, 1))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()
    await running
    await pool.close()
    assert began == []


async def test_closing_waits_for_calls_and_cancelling_drops_those_that_wait() -> None:
    pool, release = ThreadPool("test", 1), threading.Event()
    began: list[int] = []
    running = asyncio.create_task(pool.run(release.wait))
    waiting = asyncio.create_task(pool.run(began.append, 1))
    await asyncio.sleep(0)
    pool.cancel_waiting()
    release.set()
    await pool.close()
    assert await running
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert began == []


async def test_only_work_on_long_texts_leaves_the_thread_of_the_event_loop(threads: Threads) -> None:
    here, long = threading.current_thread(), "长" * (SHORT // 2)
    assert await threads.search.run_if_long([long, long], threading.current_thread) is here
    assert await threads.search.run_if_long([long, long, "x"], threading.current_thread) is not here
