"""How much of something is in progress, by key: in this process, or in all API processes of one server together."""

import fcntl
import mmap
import tempfile
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Protocol

_SLOTS = 4096  # keys with something in progress at the same time
_WINDOW = 16  # slots that a key may be in
_KEY, _COUNT = 8, 2  # bytes
_LOCK_TRIES = 1000  # about a millisecond; the lock is held for microseconds


class Counts(Protocol):
    """Counts what is in progress. tests/runtime/test_counts.py holds every implementation to it."""

    def take(self, key: Hashable, limit: int) -> bool:
        """Count one more, or return False if there are `limit` already."""

    def give_back(self, key: Hashable) -> None:
        """Count one less."""


class LocalCounts:
    """The counts of a process that serves alone."""

    def __init__(self) -> None:
        self._counts: Counter[Hashable] = Counter()

    def take(self, key: Hashable, limit: int) -> bool:
        if self._counts[key] >= limit:
            return False
        self._counts[key] += 1
        return True

    def give_back(self, key: Hashable) -> None:
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]


class SharedCounts:
    """The counts of several processes, in memory that they inherit when they are forked.

    A slot has a key, and a count for each process, which only that process changes. So the counts of a killed process
    can be dropped. A slot whose counts are all 0 is free. Keys are compared by their hash, which is
    the same in processes that were forked from one.
    """

    def __init__(self, processes: int) -> None:
        self._memory = mmap.mmap(-1, _SLOTS * (_KEY + processes * _COUNT))
        view = memoryview(self._memory)
        self._keys, self._counts = view[: _SLOTS * _KEY].cast("q"), view[_SLOTS * _KEY :].cast("H")
        self._lock = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the counts
        self._mine = 0

    def close(self) -> None:
        self._lock.close()

    def become(self, process: int) -> None:
        """Count for the process with this number from now on, which has nothing in progress."""
        self._mine = process * _SLOTS
        self.forget(process)

    def forget(self, process: int) -> None:
        """Drop the counts of a process that has ended."""
        first = process * _SLOTS
        self._counts[first : first + _SLOTS] = memoryview(bytes(_SLOTS * _COUNT)).cast("H")

    def take(self, key: Hashable, limit: int) -> bool:
        with self._locked():
            slot = self._slot(hash(key))
            if slot is None or self._total(slot) >= limit:
                return False
            self._counts[self._mine + slot] += 1
            return True

    def give_back(self, key: Hashable) -> None:
        slot = self._slot(hash(key))  # the key keeps its slot as long as a count is above 0
        assert slot is not None
        self._counts[self._mine + slot] -= 1

    def _slot(self, key: int) -> int | None:
        """Return the slot of a key, or give it a free one. None if there is none."""
        first = key % (_SLOTS // _WINDOW) * _WINDOW
        keys = self._keys[first : first + _WINDOW].tolist()
        if key in keys:
            return first + keys.index(key)
        free = next((slot for slot in range(first, first + _WINDOW) if not self._total(slot)), None)
        if free is not None:
            self._keys[free] = key
        return free

    def _total(self, slot: int) -> int:
        return sum(self._counts[slot::_SLOTS])

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold a lock that ends with the process. If a stopped process holds it, go on without: then the limit may be
        exceeded by one for each other process."""
        is_held = any(self._try_lock() for _ in range(_LOCK_TRIES))
        try:
            yield
        finally:
            if is_held:
                fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def _try_lock(self) -> bool:
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
