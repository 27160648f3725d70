"""How far is the index of a project? What the store, the engine and the worker say of each of its namespaces."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from findspot.engines.protocol import Damaged, Engine, Status
from findspot.errors import FindspotError
from findspot.indexing.chunk_rows import said
from findspot.models import Place
from findspot.store import chunks as rows
from findspot.store import indexing as states
from findspot.store.database import Store

NOTHING = Status(0, 0, 0, "", 0)


@dataclass(slots=True)
class Rebuild:
    """How far a rebuild is. `rate` counts chunks a second."""

    done: int = 0
    total: int = 0
    began: float = 0.0

    def add(self, done: int) -> None:
        self.done += done

    @property
    def rate(self) -> float:
        return self.done / max(1e-6, time.monotonic() - self.began)


@dataclass(frozen=True, slots=True)
class Condition:
    """What the worker does about a namespace."""

    rebuild: Rebuild | None  # one that has begun
    is_unfit: bool  # it is to be built anew
    unbuilt: str | None  # why that failed last
    rate: float  # chunks a second, where something is being filled


@dataclass(frozen=True, slots=True)
class Report:
    """How far the index of one namespace is: `done` of `chunks`, at `rate` a second."""

    namespace: str
    status: str
    chunks: int
    done: int
    vectors: int
    evicted: int
    bytes: int
    rate: float
    errors: tuple[str, ...]


class Reporting:
    """Reports on namespaces."""

    def __init__(self, store: Store, engine: Engine, condition: Callable[[Place], Condition]) -> None:
        self._store = store
        self._engine = engine
        self._condition = condition

    async def report(self, project_id: int) -> list[Report]:
        """How far the index is in each namespace of a project that has something to index."""
        async with self._store.read() as connection:
            sources: dict[Place, list[tuple[str, str | None]]] = {}
            for table_id, status, error in await states.of_project(connection, project_id):
                sources.setdefault(Place(project_id, table_id), []).append((status, error))
            counts = await rows.counts(connection, [place.namespace for place in sources])
        return [
            await asyncio.to_thread(self._report, place, mine, *counts.get(place.namespace, (0, 0)))
            for place, mine in sources.items()
            if place.table_id is None or place.namespace in counts or any(status != "ready" for status, _ in mine)
        ]

    def _report(self, place: Place, sources: Sequence[tuple[str, str | None]], total: int, done: int) -> Report:
        now = self._condition(place)
        statuses = {status for status, _ in sources} | ({"error"} if now.unbuilt else set())
        status = next((each for each in ("error", "indexing", "pending") if each in statuses), "ready")
        reasons = [error for _, error in sources] + [now.unbuilt]
        try:
            held = self._engine.status(place.namespace)
        except Damaged:
            held, status = NOTHING, "indexing"
        except FindspotError as error:  # the engine is away: that is what there is to say
            held, status = NOTHING, "error"
            reasons.append(said(error))
        if now.rebuild is not None:
            status, done = "indexing", now.rebuild.done
        elif now.is_unfit and status == "ready":
            status = "pending"
        errors = tuple(dict.fromkeys(reason for reason in reasons if reason))
        rate = now.rebuild.rate if now.rebuild else now.rate
        return Report(place.namespace, status, total, done, held.vectors, held.evicted, held.bytes, rate, errors)
