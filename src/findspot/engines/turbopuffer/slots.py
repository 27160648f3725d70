"""Limits the queries that are in flight in one namespace of the service."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Slots:
    """The service runs 16 queries of a namespace at once; the others wait here, where they can give up in time.

    A query counts as much as its weight. Those that wait are served in order, so that a heavy one is not passed over.
    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, list[object]] = {}

    @contextmanager
    def take(self, name: str, weight: int, timeout_s: float) -> Iterator[bool]:
        """Hold slots of a namespace; yield whether they could be had in time."""
        weight = min(weight, self._most)
        got = self._acquire(name, weight, time.monotonic() + timeout_s)
        try:
            yield got
        finally:
            if got:
                self._release(name, weight)

    def waiting(self, name: str) -> int:
        """Return how many wait for slots of a namespace."""
        with self._changed:
            return len(self._waiting.get(name, ()))

    def _acquire(self, name: str, weight: int, until: float) -> bool:
        ticket = object()
        with self._changed:
            queue = self._waiting.setdefault(name, [])
            queue.append(ticket)
            try:
                while queue[0] is not ticket or self._taken[name] + weight > self._most:
                    if not self._changed.wait(max(0.0, until - time.monotonic())) and time.monotonic() >= until:
                        return False
                self._taken[name] += weight
                return True
            finally:
                queue.remove(ticket)
                if not queue:
                    del self._waiting[name]
                self._changed.notify_all()

    def _release(self, name: str, weight: int) -> None:
        with self._changed:
            self._taken[name] -= weight
            if not self._taken[name]:
                del self._taken[name]
            self._changed.notify_all()
