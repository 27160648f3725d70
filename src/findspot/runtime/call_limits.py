"""Limits of one call in a helper process: processor time and memory.

The kernel ends a process past its time (SIGPROF), so the limit also holds for native code that never returns to Python.
Processor time counts, not wall time: a busy machine does not make a call fail. The parent watches the memory: an
allocation that fails inside the process would crash native code.
"""

import resource
import signal
from pathlib import Path

import msgspec

from findspot.runtime import allocator

ENDED_BY_TIME = -signal.SIGPROF  # the exit code of a process that exceeded its time
WATCH_MS = 50  # between two looks at the memory of a process
KEPT_MEMORY = 160 << 20  # a process that takes more between two calls ends, and another one takes its place
_TRIM_FROM = 80 << 20


class CallLimits(msgspec.Struct, frozen=True):
    """The most that one call may take: seconds of processor time, and bytes of memory beyond twice its arguments."""

    seconds: float
    memory: int

    def times(self, factor: int) -> "CallLimits":
        """Return limits with so many times the processor time."""
        return CallLimits(self.seconds * factor, self.memory)


def memory_of(process_id: int | str) -> int:
    """Return the memory that a process takes in bytes; 0 if it has ended, or where the system does not tell."""
    try:
        return int(Path(f"/proc/{process_id}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


# ── inside the process ──


def limit_time(seconds: float) -> None:
    """End this process after so many seconds of processor time; 0 lifts the limit."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def return_large_buffers() -> None:
    """Have this process return large buffers to the system as soon as they are free."""
    allocator.tune({allocator.ARENAS: 1, allocator.MMAP_THRESHOLD: 1 << 20, allocator.TRIM_THRESHOLD: 8 << 20})


def return_free_memory() -> bool:
    """Return the memory of calls that are done to the system. False if this process still takes too much."""
    if memory_of("self") > _TRIM_FROM:
        allocator.trim()
    return memory_of("self") <= KEPT_MEMORY
