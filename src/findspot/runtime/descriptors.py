"""File descriptors: how many a process may open, and how many of them client connections may take."""

import contextlib
import resource
import sys
from dataclasses import dataclass

_WANTED = 65_536
_MOST_RESERVED = 2_048  # for the engine's files, the database and helper processes
_MOST_BACKLOG = 2_048


@dataclass(frozen=True, slots=True)
class DescriptorLimit:
    """The soft and the hard limit on open file descriptors (RLIMIT_NOFILE)."""

    soft: int
    hard: int

    @property
    def raised(self) -> "DescriptorLimit":
        """The limit that a server sets at its start."""
        return DescriptorLimit(max(self.soft, min(self.hard, _WANTED)), self.hard)

    def connections(self, wanted: int) -> int:
        """Return how many client connections may be open. The rest is reserved for the engine and the database."""
        return min(self.soft - min(self.soft // 2, _MOST_RESERVED), wanted)

    @property
    def backlog(self) -> int:
        """Connections accepted in one step of the event loop, before the limit can be applied to them."""
        return min(max(self.soft // 16, 1), _MOST_BACKLOG)


def current() -> DescriptorLimit:
    soft, hard = (sys.maxsize if each == resource.RLIM_INFINITY else each for each in _rlimit())
    return DescriptorLimit(soft, hard)


def raise_limit() -> None:
    """Raise the soft limit as far as the hard limit and the system allow."""
    limit = current()
    if limit.raised == limit:
        return
    with contextlib.suppress(OSError, ValueError):  # macOS has a lower limit that it does not report
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit.raised.soft, _rlimit()[1]))


def _rlimit() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_NOFILE)
