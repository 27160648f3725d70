"""Rankings that are kept for those who read on: for five minutes after they were last asked for."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

KEPT_S = 300.0
MOST = 8_000_000  # of all rankings together, by their weights: some ten bytes each
MOST_OF_PROJECT = 2_000_000  # so that who searches much in one does not cost others what they read


class Weighed(Protocol):
    @property
    def weight(self) -> int: ...


T = TypeVar("T", bound=Weighed)


class Cursors(Generic[T]):
    """What a project's cursors stand for. Another project's cursor is one that does not exist."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, most: int = MOST, most_of_project: int = MOST_OF_PROJECT
    ) -> None:
        self._clock = clock
        self._most, self._most_of_project = most, most_of_project
        self._weights: dict[int | None, int] = {None: 0}  # by project, and all together
        self._kept: OrderedDict[tuple[int, str], tuple[float, int, T]] = OrderedDict()  # the longest unused first

    def keep(self, project_id: int, value: T, name: str = "") -> str:
        """A name for it, a new one unless it has one; what it weighs is looked at again."""
        name = name or secrets.token_urlsafe(12)
        key = project_id, name
        self._take(key)
        self._kept[key] = self._clock() + KEPT_S, value.weight, value
        self._weigh(key, value.weight)
        self._make_room(key)
        return name

    def get(self, project_id: int, name: str) -> T | None:
        """What a name stands for; None if it stands for nothing (any more)."""
        value = self._take((project_id, name))
        if value is not None:
            self.keep(project_id, value, name)
        return value

    def _make_room(self, newest: tuple[int, str]) -> None:
        project_id, now = newest[0], self._clock()
        mine = (key for key in list(self._kept) if key[0] == project_id and key != newest)
        while self._weights[project_id] > self._most_of_project and (key := next(mine, None)):
            self._take(key)
        while (oldest := next(iter(self._kept))) != newest:
            if self._weights[None] <= self._most and self._kept[oldest][0] > now:
                return
            self._take(oldest)

    def _take(self, key: tuple[int, str]) -> T | None:
        until, weight, value = self._kept.pop(key, (0.0, 0, None))
        self._weigh(key, -weight)
        return value if until > self._clock() else None

    def _weigh(self, key: tuple[int, str], weight: int) -> None:
        for each in (None, key[0]):
            self._weights[each] = self._weights.get(each, 0) + weight
        if not self._weights[key[0]]:
            del self._weights[key[0]]

    def __len__(self) -> int:
        return len(self._kept)
