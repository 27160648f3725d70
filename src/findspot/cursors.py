"""Rankings that are kept for those who read on: for five minutes after they were last asked for."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

KEPT_S = 300.0
MOST_HITS = 2_000_000  # of all rankings together, some 40 bytes each


class Sized(Protocol):
    def __len__(self) -> int: ...


T = TypeVar("T", bound=Sized)


class Cursors(Generic[T]):
    """What a project's cursors stand for. Another project's cursor is one that does not exist."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST_HITS) -> None:
        self._clock = clock
        self._most = most
        self._hits = 0
        self._kept: OrderedDict[tuple[int, str], tuple[float, int, T]] = OrderedDict()  # the longest unused first

    def keep(self, project_id: int, value: T) -> str:
        """A new name for it."""
        name = secrets.token_urlsafe(12)
        self._put((project_id, name), value)
        return name

    def get(self, project_id: int, name: str) -> T | None:
        """What a name stands for; None if it stands for nothing (any more)."""
        until, value = self._take((project_id, name))
        if value is None or until <= self._clock():
            return None
        self._put((project_id, name), value)
        return value

    def _put(self, key: tuple[int, str], value: T) -> None:
        self._kept[key] = (self._clock() + KEPT_S, len(value), value)
        self._hits += len(value)
        while len(self._kept) > 1 and (self._hits > self._most or self._oldest() <= self._clock()):
            self._take(next(iter(self._kept)))

    def _take(self, key: tuple[int, str]) -> tuple[float, T | None]:
        until, size, value = self._kept.pop(key, (0.0, 0, None))
        self._hits -= size
        return until, value

    def _oldest(self) -> float:
        return next(iter(self._kept.values()))[0]

    def __len__(self) -> int:
        return len(self._kept)
