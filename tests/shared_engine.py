"""An engine that several workers of one test share, as they would share a service."""

import contextlib
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.protocol import Batch, StaleFence


class SharedEngine:
    """Holds every write to the rules: none beside one with another fence, and none with a lower fence than before."""

    def __init__(self, folder: Path) -> None:
        self._engine = EmbeddedEngine(folder)
        self._lock = threading.Lock()
        self._running: Counter[tuple[str, int]] = Counter()  # by namespace and fence
        self.fences: defaultdict[str, list[int]] = defaultdict(list)  # of the writes to each namespace, in order
        self.refused: list[tuple[str, int]] = []
        self.overlaps: list[str] = []
        self.before_write: Callable[[str, int], None] = lambda namespace, fence: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def write(self, namespace: str, fingerprint: str, batch: Batch) -> None:
        with self._checked(namespace, batch.fence):
            self._engine.write(namespace, fingerprint, batch)

    def delete(self, namespace: str, ids: Sequence[int], *, fence: int = 0) -> None:
        with self._checked(namespace, fence):
            self._engine.delete(namespace, ids)

    def drop(self, namespace: str, *, fence: int = 0) -> None:
        with self._checked(namespace, fence):
            self._engine.drop(namespace)

    def close(self) -> None:
        """Stay open: other workers go on."""

    def end(self) -> None:
        self._engine.close()

    @contextlib.contextmanager
    def _checked(self, namespace: str, fence: int) -> Iterator[None]:
        self.before_write(namespace, fence)
        with self._lock:
            if fence < max(self.fences[namespace], default=0):
                self.refused.append((namespace, fence))
                raise StaleFence(f"{namespace} has been written by another worker")
            self.fences[namespace].append(fence)
            self._running[namespace, fence] += 1
            if len([each for each in +self._running if each[0] == namespace]) > 1:
                self.overlaps.append(namespace)
        try:
            yield
        finally:
            with self._lock:
                self._running[namespace, fence] -= 1
