"""How far is each namespace of a project? Reports for people, made of the rows and of what the engine holds."""

import asyncio
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from findspot.engines.protocol import Damaged, Engine, Status
from findspot.errors import Failure, FindspotError
from findspot.models import NamespaceKey
from findspot.store import chunks as chunk_rows
from findspot.store import index_requests as requests
from findspot.store import index_states, namespace_states
from findspot.store.database import Store
from findspot.store.index_states import SourceGroup
from findspot.store.namespace_states import NamespaceState, Phase

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_NOTHING = Status(0, 0, 0, "", 0)


class Step(StrEnum):
    """What happens to the index of a namespace."""

    READY = "ready"  # nothing
    CHECKING = "checking"  # store and engine are compared
    CUTTING = "cutting"  # changed sources are cut into chunks, and chunks are indexed at the same time
    INDEXING = "indexing"  # chunks are embedded and written to the engine
    QUEUED = "queued"  # a rebuild waits for its turn
    REBUILDING = "rebuilding"  # a new index is written
    RETRYING = "retrying"  # an error is retried after a delay


@dataclass(frozen=True, slots=True)
class NamespaceReport:
    """How far the index of one namespace is: `done` of `chunks`, at `rate` chunks per second.

    `expected` is how many chunks there will be when all sources are cut, estimated from those that are.
    """

    namespace: str
    status: str
    step: Step
    expected: int
    chunks: int
    done: int
    vectors: int
    evicted: int
    bytes: int
    rate: float
    errors: tuple[str, ...]

    @property
    def percent(self) -> float:
        if self.step is Step.READY:
            return 100.0
        return min(99.9, 100 * self.done / self.expected) if self.expected else 0.0

    @property
    def left_s(self) -> float | None:
        """How long the rest takes at the current rate, if that is known."""
        return max(0, self.expected - self.done) / self.rate if self.rate and self.step is not Step.READY else None


async def of_project(store: Store, engine: Engine, project_id: int) -> list[NamespaceReport]:
    """Report on each namespace of a project that has something to index."""
    async with store.read() as connection:
        sources: dict[NamespaceKey, list[SourceGroup]] = {}
        for table_id, group in await index_states.of_project(connection, project_id):
            sources.setdefault(NamespaceKey(project_id, table_id), []).append(group)
        waiting = await chunk_rows.counts_waiting(connection, [key.namespace for key in sources])
        counts = await _totals(connection, sources)
        states = await namespace_states.of_project(connection, project_id)
        requested = {each.request.namespace for each in await requests.every(connection) if each.is_rebuild}
    return [
        await asyncio.to_thread(
            _report,
            engine,
            states.get(key.namespace) or NamespaceState(key),
            mine,
            counts[key.namespace],
            counts[key.namespace] - waiting.get(key.namespace, 0),
            is_requested=key.namespace in requested,
        )
        for key, mine in sources.items()
        if key.table_id is None or counts[key.namespace] or any(each.status != "ready" for each in mine)
    ]


def _report(
    engine: Engine,
    state: NamespaceState,
    sources: Sequence[SourceGroup],
    total: int,
    done: int,
    *,
    is_requested: bool,
) -> NamespaceReport:
    statuses = {each.status for each in sources} | ({"error"} if state.error else set())
    status = next((each for each in ("error", "indexing", "pending") if each in statuses), "ready")
    errors = [each.error for each in sources] + [state.error]
    try:
        held = engine.status(state.key.namespace)
    except Damaged:
        held, status = _NOTHING, "indexing"
        errors.append(Failure("INDEX_REBUILDING", "The index is damaged. A running server rebuilds it."))
    except FindspotError as error:  # the engine is unavailable
        held, status = _NOTHING, "error"
        errors.append(Failure.of(error))
    if state.phase is Phase.REBUILDING:
        status, done = "indexing", state.done
    elif (state.phase is Phase.QUEUED or is_requested) and status == "ready":
        status = "pending"
    return NamespaceReport(
        state.key.namespace,
        status,
        _step(state.phase, status, statuses),
        total if state.phase is Phase.REBUILDING else _expected(total, sources),
        total,
        done,
        held.vectors,
        held.evicted,
        held.bytes,
        state.rate,
        tuple(dict.fromkeys(str(error) for error in errors if error)),
    )


async def _totals(
    connection: "AsyncConnection", sources: Mapping[NamespaceKey, Sequence[SourceGroup]]
) -> dict[str, int]:
    """Return how many chunks each namespace has: the sum of its sources' totals, except of a table that is being cut.

    Its total is from before, so its chunk rows are counted. Those of documents may be millions.
    """
    totals = {key.namespace: sum(each.chunks for each in groups) for key, groups in sources.items()}
    unsure = [
        key.namespace
        for key, groups in sources.items()
        if key.table_id is not None and any(each.status != "ready" for each in groups)
    ]
    counted = await chunk_rows.counts(connection, unsure)
    return totals | {name: counted.get(name, 0) for name in unsure}


_STEPS = {Phase.UNCHECKED: Step.CHECKING, Phase.QUEUED: Step.QUEUED, Phase.REBUILDING: Step.REBUILDING}


def _step(phase: Phase, status: str, statuses: Set[str]) -> Step:
    if phase in _STEPS:
        return _STEPS[phase]
    if status == "pending" or "pending" in statuses:
        return Step.CUTTING if "pending" in statuses else Step.QUEUED
    return {"ready": Step.READY, "error": Step.RETRYING}.get(status, Step.INDEXING)


def _expected(chunks: int, sources: Sequence[SourceGroup]) -> int:
    """Return how many chunks there will be, if sources that are yet to be cut have as many as the others."""
    all_sources = sum(each.count for each in sources)
    cut = sum(each.count for each in sources if each.status != "pending")
    return round(chunks * all_sources / cut) if cut else chunks
