"""Turns that projects share fairly, so that the backlog of one project does not delay another.

The projects that wait are served in rotation, one turn each. Within a project the first to come is the first served.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class Turns:
    """A number of turns for one kind of work. One project never holds more than `per_project` of them."""

    def __init__(self, count: int, per_project: int | None = None) -> None:
        self._count = count
        self._per_project = count if per_project is None else per_project
        self._held: Counter[int] = Counter()  # by project
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
        if project_id not in self._waiting and self._may_take(project_id):
            self._held[project_id] += 1
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(project_id, deque()).append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # granted and cancelled in the same step
                self.give_back(project_id)
            raise

    def give_back(self, project_id: int) -> None:
        """Pass the turn of a project on to the next one that waits."""
        self._held[project_id] -= 1
        if not self._held[project_id]:
            del self._held[project_id]
        self._serve()

    def _may_take(self, project_id: int) -> bool:
        free = max(1, self._count - self._yielded) - self._held.total()
        return free > 0 and self._held[project_id] < self._per_project

    def _serve(self) -> None:
        while (project_id := next(filter(self._may_take, self._waiting), None)) is not None:
            queue = self._waiting.pop(project_id)
            granted = queue.popleft()
            if queue:
                self._waiting[project_id] = queue  # to the end of the rotation
            if not granted.done():  # its caller may be gone
                granted.set_result(None)
                self._held[project_id] += 1


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
            self._turns.give_back(self._project_id)

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Let others have the turn meanwhile, for example while a service is asked."""
        self.give_back()
        try:
            yield
        finally:
            await self.take()
