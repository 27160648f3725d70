"""Admission and deadlines: how many searches and rebuilds a project may run at once, and how long a search may take."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from findspot.errors import FindspotError

SEARCHES = 64  # per project at the same time
REBUILDS = 2  # per project at the same time
RETRY_AFTER_MS = 200
TIMEOUT_S = 5.0  # of a search


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time at which a search gives up. Long work calls `check` between two slices."""

    at: float
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def within(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> "Deadline":
        return cls(clock() + seconds, clock)

    @property
    def left_s(self) -> float:
        return max(0.0, self.at - self.clock())

    def before(self, seconds: float) -> "Deadline":
        """Return an earlier deadline that leaves this many seconds for later steps."""
        return Deadline(self.at - seconds, self.clock)

    def check(self) -> None:
        """Raise SEARCH_TIMEOUT if the deadline has passed."""
        if self.clock() >= self.at:
            raise FindspotError("SEARCH_TIMEOUT", "The search took too long and was stopped.")


class Gate:
    """Admission control per project. A search over the limit is refused at once; a rebuild over the limit waits."""

    def __init__(self, searches: int = SEARCHES, rebuilds: int = REBUILDS) -> None:
        self._searches = searches
        self._rebuilds = rebuilds
        self._running: Counter[int] = Counter()  # searches, by project
        self._rebuild_slots: dict[int, asyncio.Semaphore] = {}

    @contextmanager
    def admit_search(self, project_id: int) -> Iterator[None]:
        """Hold one of the project's search slots, or raise SEARCH_BACKPRESSURE if none is free."""
        if self._running[project_id] >= self._searches:
            message = f"{self._searches} searches are already running in this project. Try again shortly."
            raise FindspotError("SEARCH_BACKPRESSURE", message, retryAfterMs=RETRY_AFTER_MS)
        self._running[project_id] += 1
        try:
            yield
        finally:
            self._running[project_id] -= 1
            if not self._running[project_id]:
                del self._running[project_id]

    def rebuild_slot(self, project_id: int) -> asyncio.Semaphore:
        """Return the project's rebuild slots; `async with` waits for one."""
        return self._rebuild_slots.setdefault(project_id, asyncio.Semaphore(self._rebuilds))
