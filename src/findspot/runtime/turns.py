"""Turns that projects share fairly, so that the backlog of one project does not delay another.

The projects that wait are served in rotation, one turn each. Within a project the first to come is the first served.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class Turns:
    """A number of turns for one kind of work."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._held = 0
        self._yielded = 0
        self._waiting: dict[int, deque[asyncio.Future[None]]] = {}  # by project, the next one first

    @asynccontextmanager
    async def turn(self, project_id: int) -> AsyncIterator["Turn"]:
        """Wait for a turn and hold it."""
        turn = Turn(self, project_id)
        await turn.take()
        try:
            yield turn
        finally:
            turn.give_back()

    @contextmanager
    def yielding(self) -> Iterator[None]:
        """Have one turn fewer while more urgent work runs. One turn always remains."""
        self._yielded += 1
        try:
            yield
        finally:
            self._yielded -= 1
            self._serve()

    async def take(self, project_id: int) -> None:
        """Wait for a turn, which the caller gives back."""
        if self._has_free and not self._waiting:
            self._held += 1
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(project_id, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # granted and cancelled in the same step
                self.give_back()
            raise

    def give_back(self) -> None:
        """Pass a turn on to the next project that waits."""
        self._held -= 1
        self._serve()

    @property
    def _has_free(self) -> bool:
        return self._held < max(1, self._count - self._yielded)

    def _serve(self) -> None:
        while self._waiting and self._has_free:
            project_id = next(iter(self._waiting))
            queue = self._waiting.pop(project_id)
            granted = queue.popleft()
            if queue:
                self._waiting[project_id] = queue  # to the end of the rotation
            if not granted.done():  # its caller may be gone
                granted.set_result(None)
                self._held += 1


class Turn:
    """The turn that one caller holds."""

    def __init__(self, turns: Turns, project_id: int) -> None:
        self._turns = turns
        self._project_id = project_id
        self._held = False

    async def take(self) -> None:
        await self._turns.take(self._project_id)
        self._held = True

    def give_back(self) -> None:
        if self._held:
            self._held = False
            self._turns.give_back()

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Let others have the turn meanwhile, for example while a service is asked."""
        self.give_back()
        try:
            yield
        finally:
            await self.take()
