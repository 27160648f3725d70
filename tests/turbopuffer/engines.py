"""Engines on a stand-in, with a catalogue in memory."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, replace
from functools import cache

from findspot.engines.protocol import StaleFence
from findspot.engines.turbopuffer.catalog import Placement
from findspot.engines.turbopuffer.engine import TurbopufferEngine
from findspot.engines.turbopuffer.transport import Patience, Transport
from tests.turbopuffer.server import StandIn

_installations = itertools.count(1)


@cache
def shared_stand_in() -> StandIn:
    """One stand-in for all tests of this process that do not change how it behaves."""
    return StandIn()


@dataclass(frozen=True)
class _Entry:
    namespace: str
    placement: Placement
    state: str  # serving, building, unwanted
    fence: int = 0


class MemoryCatalog:
    """A catalogue that several engines of one test share, as processes share the store."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: dict[str, _Entry] = {}
        self._installation = next(_installations)
        self._generation = 0

    def serving(self, namespace: str, *, fresh: bool = False) -> Placement | None:
        return next((each.placement for each in self._of(namespace, "serving")), None)

    def claim(self, namespace: str, fingerprint: str, dimension: int, fence: int) -> tuple[Placement, bool]:
        with self._lock:
            known = self.admit(namespace, fence)
            placement = known or self._add(namespace, fingerprint, dimension, "serving")
            self.admit(namespace, fence)
            return placement, known is None

    def admit(self, namespace: str, fence: int) -> Placement | None:
        with self._lock:
            for each in self._of(namespace, "serving"):
                if each.fence > fence:
                    raise StaleFence(namespace)
                self._entries[each.placement.name] = replace(each, fence=fence)
            return self.serving(namespace)

    def begin(self, namespace: str, fingerprint: str, dimension: int) -> Placement:
        with self._lock:
            for each in self._of(namespace, "building"):
                self.discard(each.placement.name)
            return self._add(namespace, fingerprint, dimension, "building")

    def switch(self, namespace: str, name: str) -> bool:
        with self._lock:
            if name not in [each.placement.name for each in self._of(namespace, "building")]:
                return False
            for each in self._of(namespace, "serving"):
                self.discard(each.placement.name)
            self._entries[name] = replace(self._entries[name], state="serving")
            return True

    def discard(self, name: str) -> None:
        with self._lock:
            if name in self._entries:
                self._entries[name] = replace(self._entries[name], state="unwanted")

    def drop(self, namespace: str, fence: int) -> None:
        with self._lock:
            self.admit(namespace, fence)
            for each in [*self._of(namespace, "serving"), *self._of(namespace, "building")]:
                self.discard(each.placement.name)

    def unwanted(self, namespace: str | None = None) -> list[str]:
        with self._lock:
            found = [each for each in self._entries.values() if each.state == "unwanted"]
        return [each.placement.name for each in found if namespace in (None, each.namespace)]

    def deleted(self, name: str) -> None:
        with self._lock:
            self._entries.pop(name, None)

    def namespaces(self, project_id: int) -> list[str]:
        with self._lock:
            names = {each.namespace for each in self._entries.values() if each.state == "serving"}
        return sorted(name for name in names if name.startswith(f"project_{project_id}_"))

    def _of(self, namespace: str, state: str) -> list[_Entry]:
        with self._lock:
            return [each for each in self._entries.values() if (each.namespace, each.state) == (namespace, state)]

    def _add(self, namespace: str, fingerprint: str, dimension: int, state: str) -> Placement:
        self._generation += 1
        placement = Placement(f"{namespace}.{self._installation}-{self._generation}", fingerprint, dimension)
        self._entries[placement.name] = _Entry(namespace, placement, state)
        return placement


class ServiceEngines:
    """Engines of one installation."""

    def __init__(self, standin: StandIn | None = None, batch_size: int = 7) -> None:
        self.standin = standin or shared_stand_in()
        self.catalog = MemoryCatalog()
        self._batch_size = batch_size  # small, so that most writes take several requests

    def open(self, patience: Patience = Patience()) -> TurbopufferEngine:  # noqa: B008 - frozen
        transport = Transport(self.standin.api_key, base_url=self.standin.url, patience=patience)
        return TurbopufferEngine(transport, self.catalog, self._batch_size)
