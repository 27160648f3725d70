"""What goes wrong with the stand-in, as a test decides."""

from __future__ import annotations

import random
import threading
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Fault = Literal["none", "status", "dropped", "lost", "late", "delayed"]


@dataclass(frozen=True)
class Faults:
    """The share of requests that each fault hits. The rest is answered as it should be."""

    status: float = 0.0  # 429 or 503, in turn
    retry_after_s: float | None = None  # header of these answers
    dropped: float = 0.0  # the connection is closed before the request is applied
    lost: float = 0.0  # the connection is closed after the request was applied
    late: float = 0.0  # answered after `late_s`
    delayed: float = 0.0  # applied after `late_s`
    late_s: float = 10.0
    only: str = ""  # hits only requests whose method and path contain this
    most: int = 1 << 30  # hits so many requests, then none

    @classmethod
    def of(cls, given: dict[str, Any]) -> Faults:
        unknown = given.keys() - {each.name for each in fields(cls)}
        if unknown:
            raise ValueError(f"unknown faults: {sorted(unknown)}")
        return cls(**given)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class FaultPlan:
    """Chooses a fault for each request, in the same order in every run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.set(Faults())

    def set(self, faults: Faults) -> None:
        with self._lock:
            self.faults = faults
            self._random = random.Random(1)
            self._statuses = self._hits = 0

    def choose(self, request: str) -> Fault:
        with self._lock:
            faults, drawn = self.faults, self._random.random()
            if faults.only not in request or self._hits >= faults.most:
                return "none"
            for kind, share in (
                ("status", faults.status),
                ("dropped", faults.dropped),
                ("lost", faults.lost),
                ("late", faults.late),
                ("delayed", faults.delayed),
            ):
                if drawn < share:
                    self._hits += 1
                    return kind  # type: ignore[return-value]
                drawn -= share
            return "none"

    def next_status(self) -> int:
        with self._lock:
            self._statuses += 1
            return (429, 503)[self._statuses % 2]
