"""Decides when something that failed may be tried again.

`Backoff` (in `models`, because stages use it too) says how long to wait. `RetrySchedule` remembers the waits of many
things in one event loop. `CircuitBreaker` guards one service that many threads call.
"""

import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from findspot.errors import FindspotError
from findspot.models import Backoff

K = TypeVar("K", bound=Hashable)


class RetrySchedule(Generic[K]):
    """The failures in a row of each key, and the time before which it is not tried again."""

    def __init__(self, backoff: Backoff, clock: Callable[[], float] = time.monotonic) -> None:
        self._backoff = backoff
        self._clock = clock
        self._failures: dict[K, tuple[int, float]] = {}  # how many in a row, and when to retry

    def failed(self, key: K) -> None:
        delay_s = self.next_delay_s(key)
        self._failures[key] = self._count(key) + 1, self._clock() + delay_s

    def succeeded(self, key: K) -> None:
        self._failures.pop(key, None)

    def is_waiting(self, key: K) -> bool:
        return key in self._failures and self._failures[key][1] > self._clock()

    def next_delay_s(self, key: K) -> float:
        """Return how long the key would wait if it failed now."""
        return self._backoff.delay_s(self._count(key) + 1)

    def remaining_s(self) -> list[float]:
        """Return the remaining wait of every key that is waiting."""
        now = self._clock()
        return [retry_at - now for _, retry_at in self._failures.values() if retry_at > now]

    def _count(self, key: K) -> int:
        return self._failures[key][0] if key in self._failures else 0


class CircuitBreaker:
    """Stops calls to a service that is down, so that callers fail at once instead of waiting for it.

    An error with one of the codes `opens_on` opens the breaker: calls fail with that error until the backoff has
    passed. Then one call probes the service while the others still fail. A success closes the breaker; so does any
    other FindspotError, because the service answered. Threads may share it.
    """

    def __init__(
        self, backoff: Backoff, opens_on: Collection[str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._backoff = backoff
        self._opens_on = frozenset(opens_on)
        self._clock = clock
        self._lock = threading.Lock()
        self._error: FindspotError | None = None  # None: closed
        self._attempt = 1  # calls that fail together count as one attempt
        self._retry_at = 0.0

    def check(self) -> None:
        """Raise the error of the service if the breaker is open."""
        with self._lock:
            self._check()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Wrap a call of the service, in the thread that makes the call.

        The breaker is checked again here: it may have opened while the call waited for a thread.
        """
        self._begin()
        try:
            yield
        except FindspotError as error:
            if error.code in self._opens_on:
                self._open(error)
            else:
                self.succeeded()
            raise
        self.succeeded()

    def succeeded(self) -> None:
        """Close the breaker."""
        with self._lock:
            self._error, self._attempt = None, 1

    def _begin(self) -> None:
        with self._lock:
            self._check()
            if self._error is not None:  # this call is the probe; if it hangs, another one may probe later
                self._attempt += 1
                self._retry_at = self._clock() + self._backoff.longest_s

    def _open(self, error: FindspotError) -> None:
        with self._lock:
            self._error = error
            self._retry_at = self._clock() + self._backoff.delay_s(self._attempt)

    def _check(self) -> None:
        if self._error is not None and self._clock() < self._retry_at:
            raise FindspotError(self._error.code, self._error.message, **self._error.fields)
