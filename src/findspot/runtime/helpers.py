"""Helper processes for calculations that would block the event loop.

A JSON parser holds Python's global lock, so a thread would not help: while it reads 50 MB, every other request would
wait. A helper process has its own lock. Helpers start when first needed and are kept for the next call.

Every call has limits (`call_limits`). Projects take turns, and one project never uses all helpers (`turns`).
Calls with large arguments run one at a time: each of them may take a lot of memory.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from findspot.errors import FindspotError
from findspot.runtime.call_limits import CallLimits
from findspot.runtime.processes import MemoryExceeded, Process, ProcessEnded, TimeExceeded
from findspot.runtime.remote_calls import TOO_MUCH_MEMORY, joined_here, size
from findspot.runtime.threads import HELPERS, ThreadPool
from findspot.runtime.turns import Turns

SMALL = 128 * 1024  # bytes that are checked, read or set in about a millisecond
LARGE = 8 * 1024 * 1024  # bytes from which a call waits for other large ones
NO_PROJECT = 0  # for calls that belong to the installation
BULK = 30  # times as much processor time for imports and the index, whose calls take many files or a whole table
LIMITS = CallLimits(seconds=10, memory=512 << 20)
CANCEL_GRACE_S = 1.0  # a call that ends soon after its caller left keeps its helper: starting another one costs more

P = ParamSpec("P")
T = TypeVar("T")


class Helpers:
    """A pool of helper processes, each of which runs one call at a time."""

    def __init__(self, helpers: int = HELPERS, limits: CallLimits = LIMITS) -> None:
        self._limits = limits
        self._turns = Turns(helpers, per_project=max(1, helpers - 1))
        self._large = Turns(1)
        self._threads = ThreadPool("helpers", helpers)
        self._idle: list[Process] = []
        self._jobs: set[_Job] = set()
        self._closed = False

    async def run(self, project_id: int, function: Callable[P, T], *arguments: P.args, **nothing: P.kwargs) -> T:
        """Return `function(*arguments)`, calculated in a helper on behalf of a project.

        It must be a pure module-level function with type hints: if its helper is killed, it is called once more.
        """
        with contextlib.ExitStack() as unless_started:
            for turns in (self._large, self._turns) if sum(map(size, arguments)) > LARGE else (self._turns,):
                await turns.take(project_id)
                unless_started.callback(turns.give_back, project_id)
            held = unless_started.pop_all()
        return await self._run(function, arguments, held)

    async def run_unless_small(
        self, project_id: int, function: Callable[P, T], *arguments: P.args, **nothing: P.kwargs
    ) -> T:
        """Return `function(*arguments)`, calculated here and now if the arguments are small, otherwise in a helper."""
        if sum(map(size, arguments)) > SMALL:
            return await self.run(project_id, function, *arguments, **nothing)
        whole: Callable[..., T] = function
        return whole(*map(joined_here, arguments))

    async def close(self) -> None:
        """End all helpers. Calls in progress fail with INTERNAL."""
        self._closed = True
        while self._idle:
            self._idle.pop().stop()
        for job in self._jobs:
            job.abandon()
        self._threads.stop()

    async def _run(self, function: Callable[..., T], arguments: tuple[Any, ...], held: contextlib.ExitStack) -> T:
        if self._closed:
            held.close()
            raise _ended_early()
        job = _Job(self._idle.pop() if self._idle else None, self._limits)
        self._jobs.add(job)
        work = self._threads.submit(job.call, function, arguments)
        work.add_done_callback(lambda work: self._end(job, work, held))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            grace = asyncio.get_running_loop().call_later(CANCEL_GRACE_S, job.abandon)
            work.add_done_callback(lambda _: grace.cancel())
            raise

    def _end(self, job: "_Job", work: "asyncio.Future[Any]", held: contextlib.ExitStack) -> None:
        self._jobs.discard(job)
        held.close()
        if job.helper is not None:
            if self._closed:
                job.helper.stop()
            else:
                self._idle.append(job.helper)
        if not work.cancelled():
            work.exception()  # without this, asyncio warns about an error that no caller is left to receive


class _Job:
    """A call and the helper that it runs in."""

    def __init__(self, helper: Process | None, limits: CallLimits) -> None:
        self.helper = helper
        self._limits = limits
        self._abandoned = False

    def call(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        """Call the function in the helper. If the helper is killed, by whatever, call it once more in a new one."""
        given = [list(each) if isinstance(each, Iterator) else each for each in arguments]  # it may be sent twice
        try:
            return self._attempt(function, given)
        except ProcessEnded:
            if self._abandoned:
                raise _ended_early() from None
        try:
            return self._attempt(function, given)
        except ProcessEnded as error:
            raise _ended_early() from error

    def abandon(self) -> None:
        """End the helper: nobody waits for its answer."""
        self._abandoned = True
        helper = self.helper  # its thread may set it to None meanwhile
        if helper is not None:
            helper.kill()

    def _attempt(self, function: Callable[..., T], arguments: list[Any]) -> T:
        if self._abandoned:
            raise _ended_early()
        if self.helper is not None and self.helper.has_ended:
            self._discard(self.helper)
        helper = self.helper = self.helper or Process(limits=self._limits)
        try:
            return helper.call(function, *arguments)
        except FindspotError:  # the reply of the helper, which can go on
            raise
        except TimeExceeded as error:
            self._discard(helper)
            raise _too_slow(self._limits.seconds) from error
        except MemoryExceeded as error:
            self._discard(helper)
            raise FindspotError("CONTENT_TOO_LARGE", TOO_MUCH_MEMORY) from error
        except BaseException:  # part of the call or of its reply may be left in the connection
            self._discard(helper)
            raise

    def _discard(self, helper: Process) -> None:
        self.helper = None
        helper.kill()
        helper.stop()


def _ended_early() -> FindspotError:
    return FindspotError("INTERNAL", "A helper process ended early. Nothing was changed; try again.")


def _too_slow(seconds: float) -> FindspotError:
    message = (
        f"This takes more than {seconds:g} seconds of processor time, the limit of one operation "
        "(FINDSPOT_HELPER_SECONDS). Nothing was changed."
    )
    return FindspotError("CONTENT_TOO_LARGE", message)
