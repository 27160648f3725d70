"""Admission and deadlines."""

import asyncio

import pytest

from findspot.errors import FindspotError
from findspot.runtime.limits import Deadline, Gate


def test_a_search_over_the_limit_is_refused_with_the_time_to_retry() -> None:
    gate = Gate(searches=2)
    with gate.admit_search(1), gate.admit_search(1):
        with pytest.raises(FindspotError) as caught, gate.admit_search(1):
            pass
        with gate.admit_search(2):
            pass
    assert (caught.value.code, caught.value.fields) == ("SEARCH_BACKPRESSURE", {"retryAfterMs": 200})


def test_a_search_that_fails_frees_its_slot() -> None:
    gate = Gate(searches=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), gate.admit_search(1):
            raise ZeroDivisionError
    with gate.admit_search(1):
        pass


async def test_an_admitted_search_waits_for_its_turn_and_other_projects_come_first() -> None:
    gate, served = Gate(running=1), list[int]()

    async def search(project_id: int) -> None:
        async with gate.search(project_id):
            served.append(project_id)

    async with gate.search(1):
        waiting = [asyncio.create_task(search(project_id)) for project_id in (1, 1, 2)]
        await asyncio.sleep(0)
        assert served == []
    await asyncio.gather(*waiting)
    assert served == [1, 2, 1]


async def test_a_search_that_waits_too_long_for_its_turn_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("findspot.runtime.limits.WAIT_S", 0.0)
    gate = Gate(running=1)
    async with gate.search(1):
        with pytest.raises(FindspotError) as caught:
            async with gate.search(2):
                pass
    assert (caught.value.code, caught.value.fields) == ("SEARCH_BACKPRESSURE", {"retryAfterMs": 200})
    async with gate.search(2):
        pass


async def test_while_a_change_is_saved_fewer_searches_run() -> None:
    gate = Gate(running=2)
    with gate.saving():
        async with gate.search(1):
            second = asyncio.create_task(gate.search(1).__aenter__())
            await asyncio.sleep(0)
            assert not second.done()
    await second


async def test_a_third_rebuild_waits_for_a_slot_and_another_project_does_not() -> None:
    gate = Gate(rebuilds=2)
    async with gate.rebuild_slot(1), gate.rebuild_slot(1):
        third = asyncio.create_task(gate.rebuild_slot(1).acquire())
        async with gate.rebuild_slot(2):
            await asyncio.sleep(0)
        assert not third.done()
    assert await third


def test_a_deadline_stops_work_once_it_has_passed() -> None:
    now = [10.0]
    deadline = Deadline.within(5, lambda: now[0])
    assert deadline.left_s == 5
    deadline.check()
    now[0] = 15.0
    assert deadline.left_s == 0
    with pytest.raises(FindspotError) as caught:
        deadline.check()
    assert caught.value.code == "SEARCH_TIMEOUT"
