"""Makes glibc's allocator return memory to the system. Other systems are left as they are."""

import ctypes
from collections.abc import Mapping

ARENAS, MMAP_THRESHOLD, TRIM_THRESHOLD = -8, -3, -1  # the options of mallopt(3)

_libc = ctypes.CDLL(None)


def tune(options: Mapping[int, int]) -> None:
    """Set options of the allocator."""
    if hasattr(_libc, "mallopt"):
        for option, value in options.items():
            _libc.mallopt(option, value)


def trim() -> None:
    """Return all free memory to the system. Other Python threads run meanwhile."""
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(0)
