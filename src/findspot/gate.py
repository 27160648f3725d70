"""Who may come in, and for how long: so many searches at once in a project, so many rebuilds, and deadlines."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from findspot.errors import FindspotError

SEARCHES = 64  # in flight in one project
REBUILDS = 2  # at once in one project
RETRY_AFTER_MS = 200


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
