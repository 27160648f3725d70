"""How far is the index, and what is wrong with it? The only interface to the index for searches, tools and surfaces.

Everything here goes through rows of the store: any process can read the state of the index, report a problem or request
a rebuild. The worker, in whatever process it runs, reads the requests and does the work.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from cachetools import TTLCache

from findspot.engines.protocol import Engine
from findspot.errors import FindspotError
from findspot.indexing import reports
from findspot.indexing.reports import NamespaceReport, Step
from findspot.models import NamespaceKey
from findspot.runtime.limits import REBUILDS
from findspot.settings import Settings
from findspot.store import gone_chunks, index_states, namespace_states
from findspot.store import index_requests as requests
from findspot.store.database import Store
from findspot.store.document_counts import DocumentCounts, indexed_documents
from findspot.store.index_requests import IndexRequest, RequestKind
from findspot.store.index_states import DocumentsInIndex
from findspot.store.namespace_states import Phase, RebuildReason, rebuilding

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

__all__ = ["DocumentIndexState", "IndexStatus", "NamespaceReport", "Problem", "Step", "rebuilding"]

log = logging.getLogger(__name__)

HITS_REMEMBERED = 200_000  # chunks
COUNTS_KEPT_S = 1.0  # counts of documents: a project may have many, and every search needs them while they are indexed
PROJECTS_COUNTED = 1000
WARM_S = 600.0  # how long an index stays warm in the engine, at least
WARMED_AT_ONCE = 20  # indexes of a project that is opened
CHECK_EVERY_S = 1.0  # by `wait_until`, if the worker announces nothing


class Problem(StrEnum):
    """What a reader found wrong with a namespace."""

    DAMAGED = "damaged"  # the engine cannot read the index
    WRONG_FINGERPRINT = "wrong_fingerprint"  # the index holds another embedder's vectors
    MISSING = "missing"  # the engine may lack chunks: it has to be compared with the store
    WRONG_RANGES = "wrong_ranges"  # the chunk rows of some documents do not fit their text


@dataclass(frozen=True, slots=True)
class DocumentIndexState:
    """Whether everything that was saved in a project's documents can be found: `ready` says so.

    `indexed` of `total` documents are searchable as they were saved; both are 0 if the index is ready. `is_full` says
    that the project has no room for others.
    """

    state: Literal["ready", "indexing", "rebuilding"]
    indexed: int = 0
    total: int = 0
    is_full: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether a search misses nothing, though the index may be rebuilt."""
        return self.state != "indexing" and self.indexed == self.total


class IndexStatus:
    """Answers questions about the index, and passes on problems and requests to the worker."""

    def __init__(self, store: Store, engine: Engine, settings: Settings) -> None:
        self._store = store
        self._engine = engine
        self._settings = settings
        self._hits: dict[int, None] = {}  # in order of their last hit; a cachetools.LRUCache takes 0.15 ms a page more
        self._counts: TTLCache[int, DocumentCounts] = TTLCache(PROJECTS_COUNTED, COUNTS_KEPT_S)
        self._unsent: set[IndexRequest] = set()
        self._sending: asyncio.Task[None] | None = None
        self._warmed: TTLCache[int, None] = TTLCache(PROJECTS_COUNTED, WARM_S)
        self._warming: set[asyncio.Task[None]] = set()
        self._advanced = asyncio.Condition()
        self._advances = 0  # how often the worker has announced something
        self._new_hits: dict[int, None] = {}
        self.passes_hits_on = False  # to the process of the index worker, which takes them with `take_hits`
        self.on_announced: Callable[[], None] = lambda: None

    async def close(self) -> None:
        """Wait until the problems that were reported are written."""
        if self._sending is not None:
            await self._sending
        if self._warming:
            await asyncio.wait(self._warming)

    def warm(self, project_id: int) -> None:
        """Have the engine load the indexes of a project that somebody opens. Returns at once."""
        if project_id not in self._warmed:
            self._warmed[project_id] = None
            task = asyncio.create_task(asyncio.to_thread(self._warm, project_id), name="warm")
            self._warming.add(task)
            task.add_done_callback(self._warming.discard)

    def _warm(self, project_id: int) -> None:
        try:
            for namespace in self._engine.namespaces(project_id)[:WARMED_AT_ONCE]:
                self._engine.warm(namespace)
        except FindspotError as error:  # searches say so
            log.info("project %d could not be warmed: %s", project_id, error.message)

    # ── problems ──

    def report(self, namespace: str, problem: Problem, document_ids: Sequence[int] = ()) -> None:
        """Have the worker repair a problem. Returns at once: a background task writes the request."""
        kind = RequestKind(problem.value)
        self._unsent.update(IndexRequest(namespace, kind, document_id) for document_id in document_ids or (0,))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send(), name="index problems")

    async def _send(self) -> None:
        while self._unsent:
            some = sorted(self._unsent)
            try:
                await self._write(some)
            except Exception as error:  # the next reader that meets the problem reports it again
                log.warning("%d problems of the index could not be reported", len(some), exc_info=error)
            self._unsent.difference_update(some)

    async def _write(self, some: Sequence[IndexRequest]) -> None:
        async with self._store.read() as connection:
            new = [each for each in some if not await self._is_known(connection, each)]
        if new:
            log.warning("problems reported: %s", ", ".join(f"{each.namespace} {each.kind}" for each in new))
            async with self._store.write(durable=False) as connection:
                await requests.add(connection, new)
            self._store.written.set()

    @staticmethod
    async def _is_known(connection: "AsyncConnection", request: IndexRequest) -> bool:
        """Return whether the rebuild that a request leads to is on its way: many searches meet the same damage."""
        if request.kind not in requests.REBUILDS:
            return False
        state = await namespace_states.get(connection, request.namespace)
        if state is None or state.phase not in (Phase.QUEUED, Phase.REBUILDING):
            return False
        return request.kind is not RequestKind.DAMAGED or state.reason is RebuildReason.DAMAGED

    # ── hits ──

    def note_hits(self, chunk_ids: Iterable[int]) -> None:
        """Remember that chunks were hits: their vectors are evicted last. Kept in memory."""
        for id in chunk_ids:
            self._hits.pop(id, None)  # so that it becomes the last one
            self._hits[id] = None
            if self.passes_hits_on:
                self._new_hits.pop(id, None)
                self._new_hits[id] = None
        while len(self._hits) > HITS_REMEMBERED:
            del self._hits[next(iter(self._hits))]

    def take_hits(self) -> list[int]:
        """Return the chunks that were hits since the last call."""
        hits, self._new_hits = list(self._new_hits), {}
        return hits

    def recent_hits(self) -> list[int]:
        """Return the chunks that were hits, from the least recent to the most recent."""
        return list(self._hits)

    # ── questions ──

    async def is_rebuilding(self, namespace: str) -> bool:
        """Return whether a namespace is being rebuilt."""
        async with self._store.lookup(one=True) as connection:
            return await connection.run_sync(rebuilding, namespace)

    async def of_documents(self, project_id: int, known: DocumentsInIndex | None = None) -> DocumentIndexState:
        """Return whether everything that has been saved in a project's documents can be found by a search now.

        `known` is what the access check of the request has read.
        """
        if known is None:
            async with self._store.lookup(one=True) as connection:
                known = await connection.run_sync(index_states.of_documents, project_id)
        phase, is_behind = known
        found = Phase(phase or Phase.IN_SERVICE)
        if found is not Phase.REBUILDING and not is_behind and found is not Phase.UNCHECKED:
            return DocumentIndexState("ready")
        state: Literal["indexing", "rebuilding"] = "rebuilding" if found is Phase.REBUILDING else "indexing"
        return DocumentIndexState(state, *await self._count_documents(project_id, is_behind=is_behind))

    async def _count_documents(self, project_id: int, *, is_behind: bool) -> DocumentCounts:
        counts = self._counts.get(project_id)
        if counts is None or (is_behind and counts.indexed == counts.total):
            async with self._store.read() as connection:
                counts = self._counts[project_id] = await indexed_documents(connection, project_id)
        return counts

    async def of_project(self, project_id: int) -> list[NamespaceReport]:
        """Report on each namespace of a project that has something to index."""
        return await reports.of_project(self._store, self._engine, project_id)

    async def is_at_rest(self) -> bool:
        """Return whether there is nothing to index, delete, compare or rebuild."""
        async with self._store.read() as connection:
            return not (
                self._unsent
                or await requests.every(connection)
                or await namespace_states.any_not_in_service(connection)
                or await index_states.due_namespaces(connection)
                or await gone_chunks.namespaces_to_forget(connection)
            )

    async def require_room(self, project_id: int) -> None:
        """Raise SEARCH_CAPACITY_EXCEEDED if a project has as many chunks as it may have."""
        async with self._store.read() as connection:
            taken = await index_states.chunks_of_project(connection, project_id)
        limit = self._settings.max_chunks
        if taken >= limit:
            message = f"The project has {taken} chunks; the limit is {limit}. Nothing was changed."
            raise FindspotError("SEARCH_CAPACITY_EXCEEDED", message)

    async def wait_until(self, done: Callable[[], Awaitable[bool]]) -> None:
        """Wait until a condition on the store holds. It is checked whenever the index has advanced."""
        while True:
            advanced = self._advances
            if await done():
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_EVERY_S), self._advanced:
                    await self._advanced.wait_for(lambda: self._advances != advanced)  # noqa: B023 - awaited here

    async def announce(self) -> None:
        """Have those who wait check their condition. The worker calls this when something is done or has failed."""
        async with self._advanced:
            self._advances += 1
            self._advanced.notify_all()
        self.on_announced()

    # ── rebuilds ──

    async def request_rebuild(self, key: NamespaceKey) -> int:
        """Request a rebuild; return how many rebuilds of the project have to end before it can begin."""
        await self.require_room(key.project_id)
        async with self._store.write() as connection:
            await requests.add(connection, [IndexRequest(key.namespace, RequestKind.REBUILD)])
            before = await requests.rebuilds_before(connection, key)
        return max(0, before + 1 - REBUILDS)

    async def is_rebuild_due(self, namespace: str) -> bool:
        """Return whether a rebuild is requested, queued or running."""
        async with self._store.read() as connection:
            state = await namespace_states.get(connection, namespace)
            if state is not None and state.phase in (Phase.QUEUED, Phase.REBUILDING):
                return True
            waiting = await requests.every(connection)
        return any(each.is_rebuild and each.request.namespace == namespace for each in waiting)
