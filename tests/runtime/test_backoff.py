"""Backoff, retry schedule and circuit breaker, on a clock that the tests move."""

import pytest

from findspot.errors import FindspotError
from findspot.models import Backoff
from findspot.runtime.backoff import CircuitBreaker, RetrySchedule

LONGEST_S = 5.0


def test_delays_grow_up_to_the_longest_however_often_something_failed() -> None:
    backoff = Backoff(first_s=1, longest_s=30)
    assert [backoff.delay_s(failures) for failures in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]
    assert backoff.delay_s(100_000) == 30
    assert [Backoff(2, 100, factor=3).delay_s(failures) for failures in (1, 2, 3)] == [2, 6, 18]


def test_jitter_shortens_a_delay_by_a_random_share() -> None:
    backoff = Backoff(first_s=8, longest_s=60, jitter=0.5)
    delays = {backoff.delay_s(1) for _ in range(20)}
    assert len(delays) > 1
    assert all(4 <= delay <= 8 for delay in delays)


def test_a_key_that_keeps_failing_waits_longer_until_it_succeeds() -> None:
    now = [0.0]
    schedule: RetrySchedule[str] = RetrySchedule(Backoff(first_s=1, longest_s=4), lambda: now[0])
    assert not schedule.is_waiting("a")
    delays = []
    for _ in range(4):
        schedule.failed("a")
        assert schedule.is_waiting("a")
        assert not schedule.is_waiting("b")
        delays += schedule.remaining_s()
        now[0] += delays[-1]
        assert not schedule.is_waiting("a")
        assert schedule.remaining_s() == []
    assert delays == [1, 2, 4, 4]
    schedule.succeeded("a")
    assert schedule.next_delay_s("a") == 1


class Service:
    """A service behind a circuit breaker. It fails while `error` is set."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls = 0
        self.error: FindspotError | None = FindspotError("EMBEDDING_UNAVAILABLE", "down", host="here")
        self.breaker = CircuitBreaker(Backoff(1, LONGEST_S), ["EMBEDDING_UNAVAILABLE"], lambda: self.now)

    def call(self) -> None:
        with self.breaker.calling():
            self.calls += 1
            if self.error is not None:
                raise self.error

    def failure(self) -> FindspotError:
        with pytest.raises(FindspotError) as caught:
            self.call()
        return caught.value


def is_open(breaker: CircuitBreaker) -> bool:
    try:
        breaker.check()
    except FindspotError:
        return True
    return False


def test_an_open_breaker_repeats_the_error_and_probes_less_and_less_often() -> None:
    service, waits = Service(), []
    for calls in range(1, 7):
        service.failure()
        assert service.calls == calls
        began = service.now
        while is_open(service.breaker):
            error = service.failure()
            assert (error.code, error.message, error.fields) == ("EMBEDDING_UNAVAILABLE", "down", {"host": "here"})
            assert service.calls == calls
            service.now += 0.5  # a float holds this exactly
        waits.append(service.now - began)
    assert waits == [1, 2, 4, LONGEST_S, LONGEST_S, LONGEST_S]


def test_calls_that_fail_together_count_as_one_failure() -> None:
    service = Service()
    calls = [service.breaker.calling() for _ in range(4)]
    for call in calls:
        call.__enter__()
    for call in calls:
        call.__exit__(FindspotError, service.error, None)
    assert is_open(service.breaker)
    service.now += 1
    assert not is_open(service.breaker)


def test_the_first_success_closes_the_breaker_and_resets_the_backoff() -> None:
    service = Service()
    for _ in range(3):
        service.failure()
        service.now += LONGEST_S
    error, service.error = service.error, None
    for _ in range(3):
        service.call()
    assert service.calls == 6
    service.error = error
    service.failure()
    service.now += 1
    service.failure()
    assert service.calls == 8


def test_one_call_probes_while_the_others_fail_fast_and_a_probe_that_hangs_is_replaced() -> None:
    service = Service()
    service.failure()
    service.now += 1
    service.error = None
    with service.breaker.calling():
        for _ in range(3):
            assert service.failure().code == "EMBEDDING_UNAVAILABLE"
        assert service.calls == 1
        service.now += LONGEST_S
        service.call()
    assert service.calls == 2


def test_other_errors_do_not_open_the_breaker() -> None:
    service = Service()
    service.error = FindspotError("INVALID_ARGUMENT", "not this")
    for _ in range(3):
        assert service.failure().code == "INVALID_ARGUMENT"
    assert service.calls == 3


def test_a_probe_that_is_refused_for_another_reason_closes_the_breaker() -> None:
    service = Service()
    service.failure()
    service.now += 1
    service.error = FindspotError("INVALID_ARGUMENT", "not this text")
    for calls in (2, 3):
        assert service.failure().code == "INVALID_ARGUMENT"
        assert service.calls == calls
        assert not is_open(service.breaker)
