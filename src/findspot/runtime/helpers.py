"""Helper processes for calculations that would block the event loop.

A JSON parser holds Python's global lock, so a thread would not help: while it reads 50 MB, every other request would
wait. A helper process has its own lock. Helpers start when first needed and are kept for the next call.
"""

import asyncio
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from findspot.errors import FindspotError
from findspot.runtime.processes import Process, ProcessEnded
from findspot.runtime.remote_calls import joined_here, size

HELPERS = 2
SMALL = 128 * 1024  # bytes that are checked, read or set in about a millisecond

P = ParamSpec("P")
T = TypeVar("T")


class Helpers:
    """A pool of helper processes, each of which runs one call at a time."""

    def __init__(self, helpers: int = HELPERS) -> None:
        self._free = asyncio.Semaphore(helpers)
        self._idle: list[Process] = []
        self._jobs: set[_Job] = set()
        self._closed = False

    async def run(self, function: Callable[P, T], *arguments: P.args, **nothing: P.kwargs) -> T:
        """Return `function(*arguments)`, calculated in a helper. It must be a module-level function with type hints."""
        await self._free.acquire()
        job = _Job(self._idle.pop() if self._idle else None)
        self._jobs.add(job)
        work = asyncio.get_running_loop().run_in_executor(None, job.call, function, arguments)
        work.add_done_callback(lambda work: self._end(job, work))  # the helper works on if the caller is cancelled
        return await asyncio.shield(work)

    async def run_unless_small(self, function: Callable[P, T], *arguments: P.args, **nothing: P.kwargs) -> T:
        """Return `function(*arguments)`, calculated here and now if the arguments are small, otherwise in a helper."""
        if sum(map(size, arguments)) > SMALL:
            return await self.run(function, *arguments, **nothing)
        whole: Callable[..., T] = function
        return whole(*map(joined_here, arguments))

    async def close(self) -> None:
        """End all helpers. Calls in progress fail with INTERNAL."""
        self._closed = True
        while self._idle:
            self._idle.pop().stop()
        for job in self._jobs:
            helper = job.helper  # its thread may set it to None meanwhile
            if helper is not None:
                helper.kill()

    def _end(self, job: "_Job", work: "asyncio.Future[Any]") -> None:
        self._jobs.discard(job)
        self._free.release()
        if job.helper is not None:
            if self._closed:
                job.helper.stop()
            else:
                self._idle.append(job.helper)
        if not work.cancelled():
            work.exception()  # without this, asyncio warns about an error that no caller is left to receive


class _Job:
    """A call and the helper that it runs in."""

    def __init__(self, helper: Process | None) -> None:
        self.helper = helper

    def call(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        helper = self.helper = self.helper or Process()
        try:
            return helper.call(function, *arguments)
        except FindspotError:  # the reply of the helper, which can go on
            raise
        except ProcessEnded as error:
            self._discard(helper)
            raise FindspotError("INTERNAL", "A helper process ended early. Nothing was changed; try again.") from error
        except BaseException:  # part of the call or of its reply may be left in the connection
            self._discard(helper)
            raise

    def _discard(self, helper: Process) -> None:
        self.helper = None
        helper.kill()
        helper.stop()
