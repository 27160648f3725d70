"""How far is the index of a project? What the store, the engine and the worker say of each of its namespaces."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import sqlalchemy as sa

from findspot.engines.protocol import Damaged, Engine, Status
from findspot.errors import FindspotError
from findspot.indexing.chunk_rows import said
from findspot.models import NamespaceKey
from findspot.store import chunks as rows
from findspot.store import index_states as states
from findspot.store.database import Store

log = logging.getLogger(__name__)

NOTHING = Status(0, 0, 0, "", 0)

_rebuilding: set[str] = set()


class Problem(StrEnum):
    """What a reader found wrong with a namespace."""

    DAMAGED = "damaged"  # the engine cannot read its index
    WRONG_FINGERPRINT = "wrong_fingerprint"  # the index holds another embedder's vectors
    MISSING = "missing"  # store and engine have to be compared
    WRONG_RANGES = "wrong_ranges"  # the chunk rows of some documents do not fit their text


def rebuilding(connection: sa.Connection, namespace: str) -> bool:
    """Return whether a namespace is being rebuilt, inside a read of the store."""
    return namespace in _rebuilding


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
class NamespaceReport:
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

    def __init__(self, store: Store, engine: Engine, condition: Callable[[NamespaceKey], Condition]) -> None:
        self._store = store
        self._engine = engine
        self._condition = condition

    async def report(self, project_id: int) -> list[NamespaceReport]:
        """How far the index is in each namespace of a project that has something to index."""
        async with self._store.read() as connection:
            sources: dict[NamespaceKey, list[tuple[str, str | None]]] = {}
            for table_id, status, error in await states.of_project(connection, project_id):
                sources.setdefault(NamespaceKey(project_id, table_id), []).append((status, error))
            counts = await rows.counts(connection, [place.namespace for place in sources])
        return [
            await asyncio.to_thread(self._report, place, mine, *counts.get(place.namespace, (0, 0)))
            for place, mine in sources.items()
            if place.table_id is None or place.namespace in counts or any(status != "ready" for status, _ in mine)
        ]

    def _report(
        self, place: NamespaceKey, sources: Sequence[tuple[str, str | None]], total: int, done: int
    ) -> NamespaceReport:
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
        return NamespaceReport(
            place.namespace, status, total, done, held.vectors, held.evicted, held.bytes, rate, errors
        )


class Worker(Protocol):
    """The calls of the index worker that `IndexStatus` passes on."""

    def heal(self, namespace: str, damage: Damaged) -> None: ...
    def renew(self, namespace: str) -> None: ...
    def doubt(self, namespace: str) -> None: ...
    def touch(self, ids: Iterable[int]) -> None: ...
    async def report(self, project_id: int) -> list[NamespaceReport]: ...
    async def require_room(self, project_id: int) -> None: ...
    async def enqueue(self, place: NamespaceKey) -> int: ...
    async def settled(self, done: Callable[[], Awaitable[bool]]) -> None: ...


class IndexStatus:
    """What everyone but the index worker may know and ask of the index."""

    def __init__(self, store: Store, worker: Worker) -> None:
        self._store = store
        self._worker = worker
        self._tasks: set[asyncio.Task[None]] = set()

    def report(self, namespace: str, problem: Problem, document_ids: Sequence[int] = ()) -> None:
        """Have the worker repair a problem. Returns at once; to be called in the event loop."""
        if problem is Problem.DAMAGED:
            self._worker.heal(namespace, Damaged(f"{namespace} was reported as damaged"))
        elif problem is Problem.WRONG_FINGERPRINT:
            self._worker.renew(namespace)
        elif problem is Problem.MISSING:
            self._worker.doubt(namespace)
        elif document_ids:
            task = asyncio.create_task(self._request_documents(document_ids))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def note_hits(self, chunk_ids: Iterable[int]) -> None:
        """Remember that these chunks were hits: their vectors are evicted last."""
        self._worker.touch(chunk_ids)

    async def is_rebuilding(self, namespace: str) -> bool:
        return namespace in _rebuilding

    async def of_project(self, project_id: int) -> list[NamespaceReport]:
        """Report on each namespace of a project that has something to index."""
        return await self._worker.report(project_id)

    async def require_room(self, project_id: int) -> None:
        """Raise SEARCH_CAPACITY_EXCEEDED if a project has as many chunks as it may have."""
        await self._worker.require_room(project_id)

    async def request_rebuild(self, key: NamespaceKey) -> int:
        """Request a rebuild; return how many rebuilds of the project come first."""
        return await self._worker.enqueue(key)

    async def request_comparison(self, namespace: str) -> None:
        """Have store and engine compared: chunks that the engine lacks are indexed again."""
        self._worker.doubt(namespace)

    async def wait_until(self, done: Callable[[], Awaitable[bool]]) -> None:
        """Wait until a condition on the store holds. It is checked whenever the index has advanced."""
        await self._worker.settled(done)

    async def _request_documents(self, document_ids: Sequence[int]) -> None:
        try:
            async with self._store.write() as connection:
                await states.request_documents(connection, document_ids)
        except FindspotError as error:  # the next search reports it again
            log.warning("a problem of the index could not be reported: %s", error.message)
