"""Who may come in, and for how long."""

import asyncio

import pytest

from findspot.errors import FindspotError
from findspot.gate import LONGEST_REST_S, Deadline, Gate, Rests


def test_one_search_too_many_is_refused_and_told_when_to_ask_again() -> None:
    gate = Gate(searches=2)
    with gate.search(1), gate.search(1):
        with pytest.raises(FindspotError) as caught, gate.search(1):
            pass
        with gate.search(2):
            pass
    assert (caught.value.code, caught.value.fields) == ("SEARCH_BACKPRESSURE", {"retryAfterMs": 200})


def test_a_search_that_fails_gives_its_place_back() -> None:
    gate = Gate(searches=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), gate.search(1):
            raise ZeroDivisionError
    with gate.search(1):
        pass


async def test_a_third_rebuild_waits_for_its_turn_and_another_project_does_not() -> None:
    gate = Gate(rebuilds=2)
    async with gate.rebuild(1), gate.rebuild(1):
        third = asyncio.create_task(gate.rebuild(1).acquire())
        async with gate.rebuild(2):
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


def test_what_fails_again_rests_for_longer_until_it_goes_well() -> None:
    now = [0.0]
    rests: Rests[str] = Rests(lambda: now[0])
    assert not rests.holds("a")
    lengths = []
    for _ in range(8):
        rests.begin("a")
        assert rests.holds("a")
        assert not rests.holds("b")
        lengths += rests.left_s()
        now[0] += lengths[-1]
        assert not rests.holds("a")
        assert rests.left_s() == []
    assert lengths == [1, 2, 4, 8, 16, LONGEST_REST_S, LONGEST_REST_S, LONGEST_REST_S]
    rests.end("a")
    assert rests.next_s("a") == 1
