"""The memory that requests in flight share. Past the budget a request waits, then gets a retryable error.

Half of it is for the bodies of requests, half for the texts that requests load: to answer them, to query them or to
edit them. A request takes its body first and its text second, and never the other way round, so two requests cannot
wait for each other.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType

from findspot.errors import FindspotError
from findspot.runtime import allocator

UNCOUNTED = 64 * 1024  # smaller bodies and texts, such as searches, never wait behind large ones
STEP = 1024 * 1024  # by which a body of unknown length reserves more
WAIT_S = 10.0
TRIM_FROM = 16 * 1024 * 1024
TRIM_AFTER_S = 1.0
RETRY_AFTER_MS = 1000


class Memory:
    """The memory of all requests in flight of one process."""

    def __init__(self, budget: int) -> None:
        self.bodies = MemoryBudget(budget // 2, freed=self._trim_soon)
        self.texts = MemoryBudget(budget // 2, freed=self._trim_soon)
        self._trimming: asyncio.TimerHandle | None = None

    def _trim_soon(self) -> None:
        """Return free memory to the system, a moment after the last large request has ended."""
        if self._trimming is None:
            self._trimming = asyncio.get_running_loop().call_later(TRIM_AFTER_S, self._trim)

    def _trim(self) -> None:
        self._trimming = None
        asyncio.get_running_loop().run_in_executor(None, allocator.trim)


class MemoryBudget:
    """A budget of bytes. Reservations are granted in the order in which they were asked for."""

    def __init__(self, budget: int, wait_s: float = WAIT_S, freed: Callable[[], None] = lambda: None) -> None:
        """`freed` is called when large reservations have been given back and none is left."""
        self._freed = freed
        self._most = 0
        self._budget = budget
        self._wait_s = wait_s
        self._free = budget
        self._queue: deque[tuple[int, asyncio.Future[None]]] = deque()

    def reservation(self) -> "Reservation":
        """Return the (still empty) reservation of one request."""
        return Reservation(self)

    @contextlib.asynccontextmanager
    async def hold(self, size: int) -> AsyncIterator[None]:
        """Reserve bytes while the block runs."""
        with self.reservation() as mine:
            await mine.announce(size)
            yield

    async def take(self, size: int) -> int:
        """Reserve bytes and return how many: at most the whole budget. Wait for them if others hold them."""
        size = min(size, self._budget)
        if not self._queue and size <= self._free:
            self._free -= size
            return size
        granted = asyncio.get_running_loop().create_future()
        entry = (size, granted)
        self._queue.append(entry)
        try:
            async with asyncio.timeout(self._wait_s):
                await granted
        except TimeoutError:
            self._withdraw(entry)
            raise _busy() from None
        except asyncio.CancelledError:
            self._withdraw(entry)
            raise
        return size

    def grow(self, held: int, size: int) -> int:
        """Reserve more for a body that has `held` bytes already, and return how many.

        It does not wait: several half-received bodies that wait for each other would all time out.
        """
        size = min(size, self._budget - held)
        if size > self._free:
            raise _busy()
        self._free -= size
        return size

    def give_back(self, size: int) -> None:
        self._most = max(self._most, self._budget - self._free)
        self._free += size
        self._serve_queue()
        if self._free == self._budget and self._most >= TRIM_FROM:
            self._most = 0
            self._freed()

    def _withdraw(self, entry: tuple[int, asyncio.Future[None]]) -> None:
        size, granted = entry
        if granted.done() and not granted.cancelled():  # granted and timed out in the same step
            self._free += size
        elif entry in self._queue:
            self._queue.remove(entry)
        self._serve_queue()  # the next one may be smaller

    def _serve_queue(self) -> None:
        while self._queue and self._queue[0][0] <= self._free:
            size, granted = self._queue.popleft()
            if not granted.cancelled():
                self._free -= size
                granted.set_result(None)


class Reservation:
    """The bytes that one request holds of a budget, given back at the end of `with`."""

    def __init__(self, memory: MemoryBudget) -> None:
        self._memory = memory
        self._held = 0

    async def announce(self, length: int) -> None:
        """Reserve the announced length of a body, or the size of a text."""
        if length > UNCOUNTED:
            self._held = await self._memory.take(length)

    def received(self, seen: int) -> None:
        """Reserve more if more has arrived than was announced, as with chunked bodies."""
        if seen > max(self._held, UNCOUNTED):
            self._held += self._memory.grow(self._held, max(seen - self._held, STEP))

    def __enter__(self) -> "Reservation":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held:
            self._memory.give_back(self._held)
            self._held = 0


def _busy() -> FindspotError:
    message = "Other large requests use the memory that they share (FINDSPOT_BODY_MEMORY). Nothing was changed."
    return FindspotError("SERVER_BUSY", message, retryAfterMs=RETRY_AFTER_MS)
