"""Admission and deadlines: how many searches and rebuilds a project may run at once, and how long a search may take."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass

from findspot.errors import FindspotError
from findspot.runtime.counts import Counts, LocalCounts
from findspot.runtime.turns import Turn, Turns

SEARCHES = 64  # per project at the same time, waiting for their turn or running
RUNNING = 3  # searches that run, in all projects: more would only delay each other and all other requests
WAIT_S = 10.0  # the longest time that a search waits for its turn
REBUILDS = 2  # per project at the same time
RETRY_AFTER_MS = 200
TIMEOUT_S = 5.0  # of a search

_TOO_LONG = "The search took too long and was stopped."


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
            raise FindspotError("SEARCH_TIMEOUT", _TOO_LONG)

    @asynccontextmanager
    async def enforced(self) -> AsyncIterator[None]:
        """Cancel the block when the deadline has passed, and raise SEARCH_TIMEOUT."""
        try:
            async with asyncio.timeout(self.left_s):
                yield
        except TimeoutError:
            raise FindspotError("SEARCH_TIMEOUT", _TOO_LONG) from None


class Gate:
    """Admission control per project. A search over the limit is refused at once; a rebuild over the limit waits.

    An admitted search waits for its turn to run. Projects get their turns in rotation.
    """

    def __init__(
        self,
        searches: int = SEARCHES,
        rebuilds: int = REBUILDS,
        running: int = RUNNING,
        admitted: Counts | None = None,
    ) -> None:
        """`admitted` counts searches by project, if other processes have some in progress too."""
        self._searches = searches
        self._rebuilds = rebuilds
        self._admitted = admitted or LocalCounts()
        self._turns = Turns(running)
        self._rebuild_slots: dict[int, asyncio.Semaphore] = {}

    @contextmanager
    def admit_search(self, project_id: int) -> Iterator[None]:
        """Hold one of the project's search slots, or raise SEARCH_BACKPRESSURE if none is free."""
        if not self._admitted.take(project_id, self._searches):
            message = f"{self._searches} searches are already running in this project. Try again shortly."
            raise FindspotError("SEARCH_BACKPRESSURE", message, retryAfterMs=RETRY_AFTER_MS)
        try:
            yield
        finally:
            self._admitted.give_back(project_id)

    @asynccontextmanager
    async def search(self, project_id: int) -> AsyncIterator[Turn]:
        """Admit a search, or raise SEARCH_BACKPRESSURE; then wait for its turn and hold it while the search runs."""
        with self.admit_search(project_id):
            async with self.search_turn(project_id) as turn:
                yield turn

    @asynccontextmanager
    async def search_turn(self, project_id: int) -> AsyncIterator[Turn]:
        """Wait for the turn of an admitted search, and hold it while the search runs."""
        turn = Turn(self._turns, project_id)
        try:
            async with asyncio.timeout(WAIT_S):
                await turn.take()
        except TimeoutError:
            message = "The server is busy with other searches. Try again shortly."
            raise FindspotError("SEARCH_BACKPRESSURE", message, retryAfterMs=RETRY_AFTER_MS) from None
        try:
            yield turn
        finally:
            turn.give_back()

    def saving(self) -> AbstractContextManager[None]:
        """Let fewer searches run while somebody waits for a change to be saved."""
        return self._turns.yielding()

    def rebuild_slot(self, project_id: int) -> asyncio.Semaphore:
        """Return the project's rebuild slots; `async with` waits for one."""
        return self._rebuild_slots.setdefault(project_id, asyncio.Semaphore(self._rebuilds))
