"""Who may come in, and for how long."""

import asyncio

import pytest

from findspot.errors import FindspotError
from findspot.runtime.limits import LONGEST_OUTAGE_REST_S, LONGEST_REST_S, Deadline, Gate, Outage, Rests


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


# ── outages ──


class Service:
    """Something that is asked by way of an outage, and fails as it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked = 0
        self.error: FindspotError | None = FindspotError("EMBEDDING_UNAVAILABLE", "away", host="here")
        self.outage = Outage(lambda: self.now)

    def ask(self) -> None:
        with self.outage.asking():
            self.asked += 1
            if self.error is not None:
                raise self.error

    def fails(self) -> FindspotError:
        with pytest.raises(FindspotError) as caught:
            self.ask()
        return caught.value


def is_left_alone(service: Service) -> bool:
    try:
        service.outage.check()
    except FindspotError:
        return True
    return False


def test_a_service_that_is_away_is_left_alone_each_time_for_longer_but_never_for_long() -> None:
    service, rests = Service(), []
    for asked in range(1, 7):
        service.fails()
        assert service.asked == asked
        began = service.now
        while is_left_alone(service):
            told = service.fails()
            assert (told.code, told.message, told.fields) == ("EMBEDDING_UNAVAILABLE", "away", {"host": "here"})
            assert service.asked == asked
            service.now += 0.5  # which a float holds exactly
        rests.append(service.now - began)
    assert rests == [1, 2, 4, LONGEST_OUTAGE_REST_S, LONGEST_OUTAGE_REST_S, LONGEST_OUTAGE_REST_S]


def test_the_first_answer_ends_an_outage_and_the_next_begins_with_a_short_rest() -> None:
    service = Service()
    for _ in range(3):
        service.fails()
        service.now += LONGEST_OUTAGE_REST_S
    error, service.error = service.error, None
    for _ in range(3):
        service.ask()
    assert service.asked == 6
    service.error = error
    service.fails()
    service.now += 1
    service.fails()
    assert service.asked == 8


def test_one_asks_for_all_after_a_rest_and_if_that_takes_too_long_another_does() -> None:
    service = Service()
    service.fails()
    service.now += 1
    service.error = None
    with service.outage.asking():
        for _ in range(3):
            assert service.fails().code == "EMBEDDING_UNAVAILABLE"
        assert service.asked == 1
        service.now += LONGEST_OUTAGE_REST_S
        service.ask()
    assert service.asked == 2


def test_a_text_that_is_refused_is_no_outage() -> None:
    service = Service()
    service.error = FindspotError("INVALID_ARGUMENT", "not this")
    for _ in range(3):
        assert service.fails().code == "INVALID_ARGUMENT"
    assert service.asked == 3
