"""Limits of one call in a helper process: processor time and memory.

The kernel enforces them, so they also hold for native code that never returns to Python. Processor time counts, not
wall time: a busy machine does not make a call fail. Past its time the process ends with SIGPROF; past its memory an
allocation fails with MemoryError.
"""

import contextlib
import ctypes
import resource
import signal
from pathlib import Path

import msgspec

ENDED_BY_TIME = -signal.SIGPROF  # the exit code of a process that exceeded its time
KEPT_MEMORY = 160 << 20  # a process that takes more between two calls ends, and another one takes its place
_TRIM_FROM = 80 << 20
_MALLOC_OPTIONS = {-8: 1, -3: 1 << 20, -1: 8 << 20}  # M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD


class CallLimits(msgspec.Struct, frozen=True):
    """The most that one call may take: seconds of processor time, and bytes of memory beyond its arguments."""

    seconds: float
    memory: int

    def times(self, factor: int) -> "CallLimits":
        """Return limits with so many times the processor time."""
        return CallLimits(self.seconds * factor, self.memory)


class Enforcer:
    """Enforces limits on the calls of this process, one call after another."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._libc = ctypes.CDLL(None)
        if hasattr(self._libc, "mallopt"):  # glibc: return large buffers to the system as soon as they are free
            for option, value in _MALLOC_OPTIONS.items():
                self._libc.mallopt(option, value)

    def begin(self) -> None:
        """Start the limits of a call whose arguments have been received."""
        self._set_memory(_address_space() + self._limits.memory)
        signal.setitimer(signal.ITIMER_PROF, self._limits.seconds)

    def end(self) -> None:
        """Lift the limits."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._set_memory(resource.RLIM_INFINITY)

    def memory_is_free(self) -> bool:
        """Return the memory of the last call to the system. False if the process still takes too much."""
        if _resident() > _TRIM_FROM and hasattr(self._libc, "malloc_trim"):
            self._libc.malloc_trim(0)
        return _resident() <= KEPT_MEMORY

    def _set_memory(self, limit: int) -> None:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        if hard != resource.RLIM_INFINITY and (limit == resource.RLIM_INFINITY or limit > hard):
            limit = hard
        with contextlib.suppress(ValueError, OSError):  # macOS does not limit the address space
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _address_space() -> int:
    return _pages(0) or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # the maximum so far, if not on Linux


def _resident() -> int:
    return _pages(1)


def _pages(field: int) -> int:
    """Return a field of `/proc/self/statm` in bytes; 0 where there is no such file."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[field]) * resource.getpagesize() if statm.exists() else 0
