"""Turns: projects share them in rotation, and none is lost."""

import asyncio
import contextlib

import pytest

from findspot.runtime.turns import Turns


async def in_order(turns: Turns, projects: list[int]) -> list[int]:
    """Let callers of these projects wait while the only turn is held. Return the order in which they were served."""
    served: list[int] = []

    async def call(project_id: int) -> None:
        async with turns.turn(project_id):
            served.append(project_id)
            await asyncio.sleep(0)

    async with turns.turn(0):
        waiting = [asyncio.create_task(call(project_id)) for project_id in projects]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    return served


async def test_projects_are_served_in_rotation_however_long_the_backlog_of_one_is() -> None:
    assert await in_order(Turns(1), [1, 1, 1, 1, 2, 3, 3]) == [1, 2, 3, 1, 3, 1, 1]


async def test_no_more_than_the_given_number_run_at_the_same_time() -> None:
    turns, running, most = Turns(2), 0, 0

    async def call(project_id: int) -> None:
        nonlocal running, most
        async with turns.turn(project_id):
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(call(number % 3) for number in range(20)))
    assert most == 2


async def test_a_caller_that_is_cancelled_while_it_waits_takes_no_turn() -> None:
    turns = Turns(1)
    async with turns.turn(1):
        gone = asyncio.create_task(turns.take(2))
        await asyncio.sleep(0)
        gone.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone
    assert await in_order(turns, [1]) == [1]


async def test_a_turn_that_is_granted_to_a_cancelled_caller_is_passed_on() -> None:
    turns = Turns(1)
    async with turns.turn(1):
        gone = asyncio.create_task(turns.take(2))
        await asyncio.sleep(0)
    gone.cancel()  # its turn has been granted, but it has not run since
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert await in_order(turns, [1]) == [1]


async def test_a_paused_turn_serves_others_and_is_taken_again() -> None:
    turns = Turns(1)
    async with turns.turn(1) as turn:
        async with turn.paused(), turns.turn(2):
            pass
        other = asyncio.create_task(turns.take(2))
        await asyncio.sleep(0)
        assert not other.done()
    await other


async def test_a_turn_is_given_back_once_if_the_caller_is_cancelled_while_it_is_paused() -> None:
    turns = Turns(1)

    async def call() -> None:
        async with turns.turn(1) as turn, turn.paused():
            await asyncio.Event().wait()

    paused = asyncio.create_task(call())
    await asyncio.sleep(0)
    async with turns.turn(2):  # so that the paused one cannot take it again
        paused.cancel()
        await asyncio.sleep(0)
        paused.cancel()
        with pytest.raises(asyncio.CancelledError):
            await paused
        other = asyncio.create_task(turns.take(3))
        await asyncio.sleep(0)
        assert not other.done()
    await other


async def test_urgent_work_leaves_fewer_turns_but_always_one() -> None:
    turns = Turns(2)
    with turns.yielding(), turns.yielding(), turns.yielding():
        async with turns.turn(1):
            second = asyncio.create_task(turns.take(1))
            await asyncio.sleep(0)
            assert not second.done()
        await second
        third = asyncio.create_task(turns.take(1))
        await asyncio.sleep(0)
        assert not third.done()
    await third
