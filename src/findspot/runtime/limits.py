"""Who may come in, and for how long: so many searches at once in a project, so many rebuilds, deadlines, rests and
outages."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from findspot.errors import FindspotError

SEARCHES = 64  # in flight in one project
REBUILDS = 2  # at once in one project
RETRY_AFTER_MS = 200
TIMEOUT_S = 5.0  # of a search
FIRST_REST_S = 1.0
LONGEST_REST_S = 30.0
LONGEST_OUTAGE_REST_S = 5.0  # short: who searches notices when meaning is back

AWAY = ("EMBEDDING_UNAVAILABLE", "EMBEDDING_DIMENSION_MISMATCH")

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Deadline:
    """When an answer is no longer waited for. Work asks between two slices whether to go on."""

    at: float
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def within(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> "Deadline":
        return cls(clock() + seconds, clock)

    @property
    def left_s(self) -> float:
        return max(0.0, self.at - self.clock())

    def before(self, seconds: float) -> "Deadline":
        """One that leaves so much time for what is to be done afterwards."""
        return Deadline(self.at - seconds, self.clock)

    def check(self) -> None:
        if self.clock() >= self.at:
            raise FindspotError("SEARCH_TIMEOUT", "The search took too long and was stopped.")


class Gate:
    """Admission. A search beyond the limit is refused at once; a rebuild beyond it waits for its turn."""

    def __init__(self, searches: int = SEARCHES, rebuilds: int = REBUILDS) -> None:
        self._searches = searches
        self._rebuilds = rebuilds
        self._in_flight: Counter[int] = Counter()
        self._turns: dict[int, asyncio.Semaphore] = {}

    @contextmanager
    def search(self, project_id: int) -> Iterator[None]:
        if self._in_flight[project_id] >= self._searches:
            message = f"{self._searches} searches are running in this project already. Ask again in a moment."
            raise FindspotError("SEARCH_BACKPRESSURE", message, retryAfterMs=RETRY_AFTER_MS)
        self._in_flight[project_id] += 1
        try:
            yield
        finally:
            self._in_flight[project_id] -= 1
            if not self._in_flight[project_id]:
                del self._in_flight[project_id]

    def rebuild(self, project_id: int) -> asyncio.Semaphore:
        """A turn to rebuild something of a project; `async with` waits for it."""
        return self._turns.setdefault(project_id, asyncio.Semaphore(self._rebuilds))


class Rests(Generic[T]):
    """How long what has failed is left alone: each time for longer, so that it never takes all the time there is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[T, tuple[int, float]] = {}  # how often it failed, and until when it rests

    def begin(self, what: T) -> None:
        self._kept[what] = self._failed(what) + 1, self._clock() + self.next_s(what)

    def end(self, what: T) -> None:
        """It went well: the next rest is a short one again."""
        self._kept.pop(what, None)

    def holds(self, what: T) -> bool:
        return what in self._kept and self._kept[what][1] > self._clock()

    def next_s(self, what: T) -> float:
        """How long a rest would be that begins now."""
        return min(LONGEST_REST_S, FIRST_REST_S * 2.0 ** min(self._failed(what), 16))

    def left_s(self) -> list[float]:
        """How long the rests still are that have not passed."""
        now = self._clock()
        return [until - now for _, until in self._kept.values() if until > now]

    def _failed(self, what: T) -> int:
        return self._kept[what][0] if what in self._kept else 0


class Outage:
    """Whether a service is away. If so it is left alone for a while, each time for longer; then one asks for all, and
    the others are told at once what is known. Threads may share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._error: FindspotError | None = None
        self._rest_s = FIRST_REST_S
        self._until = 0.0

    def check(self) -> None:
        """Fail as the service did, for as long as it is left alone."""
        with self._lock:
            self._check()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around a call of the service, in the thread that makes it: who had to wait for one may be told by now."""
        self._begin()
        try:
            yield
        except FindspotError as error:
            if error.code in AWAY:
                self._rest(error)
            raise
        self.end()

    def end(self) -> None:
        """The service has answered."""
        with self._lock:
            self._error, self._rest_s = None, FIRST_REST_S

    def _begin(self) -> None:
        with self._lock:
            self._check()
            if self._error is not None:  # this one asks for all; if it takes too long, another may
                self._rest_s = min(2 * self._rest_s, LONGEST_OUTAGE_REST_S)
                self._until = self._clock() + LONGEST_OUTAGE_REST_S

    def _rest(self, error: FindspotError) -> None:
        with self._lock:
            self._error, self._until = error, self._clock() + self._rest_s

    def _check(self) -> None:
        if self._error is not None and self._clock() < self._until:
            raise FindspotError(self._error.code, self._error.message, **self._error.fields)
