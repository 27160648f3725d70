"""What changed → chunks → terms and vectors → engine → done. What has to be done stands in the store, so a process that
is killed loses nothing: the next one goes on where the store says."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from findspot import cutting
from findspot.embeddings import Embeddings
from findspot.engines.protocol import Abandoned, Batch, Building, Damaged, Engine, Source, Status, Vectors
from findspot.errors import FindspotError
from findspot.gate import Gate
from findspot.models import ChunkRow, SourceState, documents_namespace, table_namespace
from findspot.offload import Offload, Text
from findspot.settings import Settings
from findspot.store import chunks as rows
from findspot.store import indexing as states
from findspot.store import tables as table_rows
from findspot.store import tools as tool_rows
from findspot.store.database import Store

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import sqlalchemy as sa

log = logging.getLogger(__name__)

T = TypeVar("T")

DOCUMENTS_AT_ONCE = 64
CHUNKS_AT_ONCE = 1000
GONE_AT_ONCE = 10_000
NAMESPACES_AT_ONCE = 2  # there are two cores to work with
LONGEST_SLEEP_S = 30.0
SHARED_SLEEP_S = 1.0  # where other processes may change the store
CHECK_EVERY_S = 3600.0


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace, by what it is of: one table, or the documents of a project."""

    project_id: int
    table_id: int | None

    @property
    def namespace(self) -> str:
        if self.table_id is None:
            return documents_namespace(self.project_id)
        return table_namespace(self.project_id, self.table_id)

    @classmethod
    def of(cls, namespace: str) -> "Place":
        _, project, *table = namespace.split("_")
        return cls(int(project), int(table[1]) if len(table) == 2 else None)


@dataclass(slots=True)
class Rebuild:
    """How far a rebuild is. `rate` counts chunks a second."""

    done: int = 0
    total: int = 0
    began: float = 0.0

    @property
    def rate(self) -> float:
        return self.done / max(1e-6, time.monotonic() - self.began)


@dataclass(frozen=True, slots=True)
class Report:
    """How far the index of one namespace is: `done` of `chunks`, at `rate` a second."""

    namespace: str
    status: str
    chunks: int
    done: int
    vectors: int
    bytes: int
    rate: float
    errors: tuple[str, ...]


NOTHING = Status(0, 0, 0, "", 0)


class Indexing:
    """The index worker: one task that sees what is to be done, and a task for each namespace at work."""

    def __init__(
        self, store: Store, engine: Engine, embeddings: Embeddings, offload: Offload, gate: Gate, settings: Settings
    ) -> None:
        self._store = store
        self._engine = engine
        self._embeddings = embeddings
        self._offload = offload
        self._gate = gate
        self._settings = settings
        self._threads = ThreadPoolExecutor(NAMESPACES_AT_ONCE + 1, thread_name_prefix="index")
        self._seats = asyncio.Semaphore(NAMESPACES_AT_ONCE)
        self._working: dict[Place, asyncio.Task[None]] = {}
        self._rebuilding: dict[Place, asyncio.Task[None]] = {}
        self.rebuilds: dict[str, Rebuild] = {}
        self._rate: dict[Place, float] = {}  # chunks a second, of what is being filled
        self._moved = asyncio.Condition()  # told whenever something was finished or failed
        self._loop: asyncio.Task[None] | None = None
        self._checking: asyncio.Task[None] | None = None

    # ── its life ──

    def start(self) -> None:
        self._loop = asyncio.create_task(self._run(), name="indexing")

    async def close(self) -> None:
        tasks = [
            task for task in (self._loop, self._checking, *self._working.values(), *self._rebuilding.values()) if task
        ]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown)

    async def _run(self) -> None:
        await self._patiently(self._agree)
        self._checking = asyncio.create_task(self._check(), name="index check")
        while True:
            self._store.written.clear()
            await self._patiently(self._start_work)
            pause_s = await self._pause()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._store.written.wait(), pause_s)

    async def _patiently(self, step: Callable[[], Awaitable[None]]) -> None:
        """A step that fails is tried again with the next change, or after a while."""
        try:
            await step()
        except FindspotError as error:
            log.warning("the index waits: %s", error.message)

    async def _pause(self) -> float:
        async with self._store.read() as connection:
            due = await states.next_retry(connection)
        longest = SHARED_SLEEP_S if self._settings.shared else LONGEST_SLEEP_S
        if due is None:
            return longest
        return min(longest, max(0.05, (due - datetime.now(UTC)).total_seconds()))

    async def _start_work(self) -> None:
        async with self._store.read() as connection:
            places = {Place(*each) for each in await states.work(connection)}
            places |= {Place.of(namespace) for namespace in await rows.debts(connection)}
        for place in places:
            if place not in self._working:
                task = asyncio.create_task(self._work(place), name=place.namespace)
                self._working[place] = task
                task.add_done_callback(partial(self._worked, place))

    def _worked(self, place: Place, task: asyncio.Task[None]) -> None:
        del self._working[place]
        if task.cancelled():
            return
        if (error := task.exception()) is not None:  # tried again with the next change, or after a while
            log.error("indexing %s failed", place.namespace, exc_info=error)
        else:
            self._store.written.set()  # it may have changed again in the meantime

    # ── one namespace ──

    async def _work(self, place: Place) -> None:
        """Follow every source of a namespace until the engine holds just what the store does."""
        async with self._seats:
            try:
                while True:
                    changed = await self._cut(place)
                    filled = await self._fill(place)
                    forgot = await self._forget(place)
                    async with self._store.write(durable=False) as connection:
                        await states.finish(connection, place.project_id, place.table_id)
                    await self._tell()
                    if not (changed or filled or forgot):
                        return
            except Damaged as damage:
                self.heal(place.namespace, damage)
                await self.rebuild(place)

    async def _cut(self, place: Place) -> bool:
        return await (self._cut_documents(place) if place.table_id is None else self._cut_table(place, place.table_id))

    async def _cut_documents(self, place: Place) -> bool:
        """Bring the chunk rows of changed documents up to date; whether there were any."""
        async with self._store.read() as connection:
            pending = await states.pending_documents(connection, place.project_id, DOCUMENTS_AT_ONCE)
            known: dict[int, dict[str, Any]] = {row.id: {} for row in pending}
            for row in await rows.of_documents(connection, list(known)):
                known[row.document_id][row.turbopuffer_doc_id] = row
        if not pending:
            return False
        asked = [cutting.DocumentToCut(row.id, row.format, frozenset(known[row.id])) for row in pending]
        contents = [row.content for row in pending]
        parts = await self._offload.run("cut_documents", msgspec.msgpack.encode(asked), *contents)
        found: dict[int, list[cutting.Passage]] = {row.id: [] for row in pending}
        for part in parts:
            for passage in cutting.PASSAGES.decode(part):
                found[passage.document_id].append(passage)
            await asyncio.sleep(0)
        async with self._store.write(durable=False) as connection:
            now = await states.revisions(connection, list(found))
            for row in pending:
                if row.id in now:
                    await self._follow_document(connection, place, row, known[row.id], found[row.id], now[row.id])
        return True

    async def _follow_document(
        self, connection: Any, place: Place, row: Any, known: dict[str, Any], found: list[cutting.Passage], now: int
    ) -> None:
        names = {passage.doc_id for passage in found}
        await rows.delete(connection, [old.id for name, old in known.items() if name not in names])
        await rows.insert(connection, [_document_row(place, each) for each in found if each.doc_id not in known])
        await rows.move(
            connection,
            [
                {"which": old.id, "start": each.start, "end": each.end, "index": each.index, "total": each.total}
                for each in found
                if (old := known.get(each.doc_id)) is not None
                and (old.char_start, old.char_end, old.chunk_index, old.total_chunks)
                != (each.start, each.end, each.index, each.total)
            ],
        )
        facts = {"total": len(found), "done": 0, "last_error": None}
        await states.followed(
            connection, states.is_document(row.id), row.revision, current=now == row.revision, **facts
        )

    async def _cut_table(self, place: Place, table_id: int) -> bool:
        """Bring the chunk rows of a table up to date with its text and its tools; whether it was behind."""
        async with self._store.read() as connection:
            state = await states.of_table(connection, table_id)
            if state is None or not state.is_due(datetime.now(UTC)):
                return False
            scopes = await tool_rows.search_scopes(connection, table_id)
            known = await rows.nodes_of(connection, table_id)
            loaded = await table_rows.load(connection, table_id) if scopes or known else None
            table = loaded[0] if loaded else await table_rows.get(connection, table_id)
        if table is None:
            return False
        request = cutting.TableToCut(
            table_id,
            self._cuts(scopes),
            frozenset(known),
            self._settings.max_content_size,
            self._settings.max_chunks_per_node,
        )
        summary = cutting.TableSummary(0, 0, (), ())
        parts: list[Text] = []
        if loaded:
            head, *parts = await self._offload.run("cut_table", msgspec.msgpack.encode(request), loaded[1])
            summary = cutting.SUMMARY.decode(head)
        async with self._store.write(durable=False) as connection:
            now = await states.table_revision(connection, table_id)
            if now is None:
                return False
            for node in summary.gone:
                await rows.delete_node(connection, table_id, node)
            for part in parts:
                new = [_node_row(place, table_id, each) for each in cutting.NODE_CHUNKS.decode(part)]
                await rows.insert(connection, new)
            skipped = [{"json_pointer": pointer, "reason": reason} for pointer, reason in summary.skipped]
            facts = {"total": summary.chunks, "done": 0, "nodes": summary.nodes, "skipped": skipped, "last_error": None}
            current = now == table.revision
            await states.followed(connection, states.is_table(table_id), table.revision, current=current, **facts)
            await states.prune_changes(connection, table_id, table.revision)
        return True

    def _cuts(self, scopes: Sequence[tuple[str, dict[str, Any]]]) -> tuple[cutting.Cut, ...]:
        """The ways in which a table's tools want it cut."""
        cuts: dict[tuple[int, int], list[tuple[str, int]]] = {}
        for pointer, config in scopes:
            size = config.get("chunk_size", self._settings.chunk_size)
            overlap = config.get("chunk_overlap", self._settings.chunk_overlap)
            cuts.setdefault((size, overlap), []).append((pointer, config.get("chunk_threshold", 10_000)))
        return tuple(cutting.Cut(size, overlap, tuple(places)) for (size, overlap), places in cuts.items())

    async def _fill(self, place: Place) -> bool:
        """Give the engine what it does not have yet. The next chunks are prepared while these are written."""
        after, writing = 0, None
        done, began = 0, time.monotonic()
        try:
            while True:
                async with self._store.read() as connection:
                    some = await rows.waiting(connection, place.namespace, after, CHUNKS_AT_ONCE)
                if not some:
                    return after > 0
                after = some[-1].id
                batch = await self._prepared(some)
                if writing is not None:
                    await writing
                writing = asyncio.create_task(self._write(place, batch)) if batch is not None else None
                done += len(some)
                self._rate[place] = done / max(1e-6, time.monotonic() - began)
        finally:
            self._rate.pop(place, None)
            if writing is not None:
                await writing

    async def _write(self, place: Place, batch: Batch) -> None:
        fingerprint = await self._fingerprint(place)
        await self._in_thread(self._engine.write, place.namespace, fingerprint, batch)
        async with self._store.write(durable=False) as connection:
            await rows.mark(connection, list(batch.ids), indexed=True)

    async def _fingerprint(self, place: Place) -> str:
        """The embedder's fingerprint. If the index in service has another, one with this is built from here on."""
        mine = self._embeddings.embedder.fingerprint
        status = await self._in_thread(self._engine.status, place.namespace)
        if status.fingerprint not in ("", mine) and place not in self._rebuilding:
            self._begin_rebuild(place)
            await self._begun(place)
        return mine

    async def _prepared(self, some: Sequence[ChunkRow]) -> Batch | None:
        """Terms and vectors of chunks; None if they could not be had, which is noted with their sources."""
        texts = [row.text for row in some]
        try:
            vectors, terms = await asyncio.gather(self._vectors(texts), self._terms(texts))
        except FindspotError as error:
            log.warning("a batch of %d chunks could not be prepared: %s", len(some), error.message)
            async with self._store.write(durable=False) as connection:
                for source in {_source_of(row): row for row in some}.values():
                    await states.fail(connection, _is_source(source), f"{error.code}: {error.message}")
            await self._tell()
            return None
        return Batch([row.id for row in some], [row.doc_id for row in some], list(map(_source, some)), terms, vectors)

    async def _vectors(self, texts: list[str]) -> Vectors:
        """A text that the embedder refuses gets no meaning, and is found by its words."""
        import numpy as np

        known = list(range(len(texts)))
        while True:
            try:
                made = await self._embeddings.documents([texts[each] for each in known])
            except FindspotError as error:
                if "index" not in error.fields:
                    raise
                log.warning("a chunk is indexed by its words alone: %s", error.fields["reason"])
                del known[error.fields["index"]]
                continue
            if len(known) == len(texts):
                return made
            vectors = np.zeros((len(texts), made.shape[1]), np.float32)
            vectors[known] = made
            return vectors

    async def _terms(self, texts: list[str]) -> list[str]:
        (answer,) = await self._offload.run("index_terms", msgspec.msgpack.encode(texts))
        return cutting.TEXTS.decode(answer)

    async def _forget(self, place: Place) -> bool:
        """Have the engine forget what the store no longer has; all of it, if the table is gone."""
        async with self._store.read() as connection:
            gone = await rows.gone(connection, place.namespace, GONE_AT_ONCE)
            if not gone:
                return False
            left = place.table_id is None or await table_rows.get(connection, place.table_id) is not None
        if left:
            await self._in_thread(self._engine.delete, place.namespace, gone)
        else:
            await self._in_thread(self._engine.drop, place.namespace)
        async with self._store.write(durable=False) as connection:
            if left:
                await rows.settle_debt(connection, gone)
            else:
                await rows.cancel_debt(connection, place.namespace)
        return True

    # ── agreeing and rebuilding ──

    async def _agree(self) -> None:
        """After a start: let the engine hold what the store says it holds, namespace by namespace."""
        async with self._store.read() as connection:
            known = await rows.namespaces(connection)
        for namespace in known:
            await self._agree_on(Place.of(namespace))

    async def _agree_on(self, place: Place) -> None:
        try:
            held = await self._in_thread(self._engine.ids, place.namespace)
        except Damaged as damage:
            self.heal(place.namespace, damage)
            return
        async with self._store.read() as connection:
            wanted = await rows.indexed_ids(connection, place.namespace)
        missing, extra = await asyncio.to_thread(_differences, wanted, held)
        if missing:
            log.warning("%s lacks %d chunks, which are indexed again", place.namespace, len(missing))
            async with self._store.write(durable=False) as connection:
                await rows.mark(connection, missing, indexed=False)
                await states.resume(connection, missing)
        if extra:
            await self._in_thread(self._engine.delete, place.namespace, extra)

    async def _check(self) -> None:
        """Look through the files of every index now and then: damage is found before someone searches there."""
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            async with self._store.read() as connection:
                known = await rows.namespaces(connection)
            for namespace in known:
                try:
                    await self._in_thread(self._engine.verify, namespace)
                except Damaged as damage:
                    self.heal(namespace, damage)

    def heal(self, namespace: str, damage: Damaged) -> None:
        """Build a damaged namespace anew, unless that is being done."""
        place = Place.of(namespace)
        if place not in self._rebuilding:
            log.warning("%s is damaged and is built anew: %s", namespace, damage)
            self._begin_rebuild(place)

    def _begin_rebuild(self, place: Place) -> asyncio.Task[None]:
        if place not in self._rebuilding:
            task = asyncio.create_task(self._rebuild(place), name=f"rebuild {place.namespace}")
            self._rebuilding[place] = task
            task.add_done_callback(partial(self._rebuilt, place))
        return self._rebuilding[place]

    def _rebuilt(self, place: Place, task: asyncio.Task[None]) -> None:
        del self._rebuilding[place]
        self.rebuilds.pop(place.namespace, None)
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            log.error("rebuilding %s failed", place.namespace, exc_info=error)
        telling = asyncio.create_task(self._tell())
        telling.add_done_callback(lambda _: self._store.written.set())

    async def rebuild(self, place: Place) -> None:
        """Build a namespace anew from the store, beside the one in service, and switch to it."""
        await asyncio.shield(self._begin_rebuild(place))

    async def _begun(self, place: Place) -> None:
        """Wait until what is written reaches the index that is being built."""
        async with self._moved:
            await self._moved.wait_for(lambda: place.namespace in self.rebuilds or place not in self._rebuilding)

    async def _rebuild(self, place: Place) -> None:
        async with self._gate.rebuild(place.project_id):
            embedder = self._embeddings.embedder
            dimension = await asyncio.to_thread(getattr, embedder, "dimension")
            async with self._store.read() as connection:
                total = (await rows.counts(connection, place.project_id)).get(place.namespace, (0, 0))[0]
            build = await self._in_thread(self._engine.build, place.namespace, embedder.fingerprint, dimension)
            progress = self.rebuilds[place.namespace] = Rebuild(0, total, time.monotonic())
            await self._tell()
            try:
                await self._copy(place, build, progress)
                await self._in_thread(build.switch)
            except Abandoned:
                log.info("the rebuild of %s is no longer wanted", place.namespace)
            except BaseException:
                await asyncio.shield(self._in_thread(build.abandon))
                raise
        await self._agree_on(place)

    async def _copy(self, place: Place, build: Building, progress: Rebuild) -> None:
        after, writing = 0, None
        try:
            while True:
                async with self._store.read() as connection:
                    some = await rows.every(connection, place.namespace, after, 2 * CHUNKS_AT_ONCE)
                if not some:
                    return
                after = some[-1].id
                batch = await self._prepared(some)
                if writing is not None:
                    await writing
                writing = asyncio.create_task(self._in_thread(build.write, batch)) if batch is not None else None
                progress.done += len(some)
        finally:
            if writing is not None:
                await writing

    # ── for those who wait or ask ──

    async def report(self, project_id: int) -> list[Report]:
        """How far the index is in each namespace of a project that has something to index."""
        async with self._store.read() as connection:
            followed = await states.of_project(connection, project_id)
            counts = await rows.counts(connection, project_id)
        sources: dict[Place, list[SourceState]] = {}
        for state in followed:
            sources.setdefault(Place(project_id, state.table_id), []).append(state)
        return [
            await self._in_thread(self._report, place, mine, *counts.get(place.namespace, (0, 0)))
            for place, mine in sources.items()
            if place.table_id is None or place.namespace in counts or any(each.status != "ready" for each in mine)
        ]

    def _report(self, place: Place, sources: Sequence[SourceState], total: int, done: int) -> Report:
        rebuild = self.rebuilds.get(place.namespace)
        statuses = {state.status for state in sources}
        status = next((each for each in ("error", "indexing", "pending") if each in statuses), "ready")
        try:
            held = self._engine.status(place.namespace)
        except Damaged:
            held, status = NOTHING, "indexing"
        if rebuild is not None:
            status, done = "indexing", rebuild.done
        errors = tuple(dict.fromkeys(state.last_error for state in sources if state.last_error))
        rate = rebuild.rate if rebuild else self._rate.get(place, 0.0)
        return Report(place.namespace, status, total, done, held.vectors, held.bytes, rate, errors)

    async def settled(self, done: Callable[[], Awaitable[bool]]) -> None:
        """Wait until a condition on the store holds; it is looked at whenever the index has moved."""
        async with self._moved:
            while not await done():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._moved.wait(), 1.0)

    async def _tell(self) -> None:
        async with self._moved:
            self._moved.notify_all()

    async def _in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)


def _differences(wanted: Sequence[int], held: "npt.NDArray[np.int64]") -> tuple[list[int], list[int]]:
    import numpy as np

    ids = np.array(wanted, np.int64)
    missing, extra = (np.setdiff1d(*each, assume_unique=True) for each in ((ids, held), (held, ids)))
    return missing.tolist(), extra.tolist()


def _document_row(place: Place, passage: cutting.Passage) -> dict[str, Any]:
    return {
        "document_id": passage.document_id,
        "json_pointer": "",
        "chunk_index": passage.index,
        "total_chunks": passage.total,
        "chunk_size": 0,
        "chunk_overlap": 0,
        "char_start": passage.start,
        "char_end": passage.end,
        "content_hash": passage.content_hash,
        "turbopuffer_namespace": place.namespace,
        "turbopuffer_doc_id": passage.doc_id,
        "chunk_text": passage.text,
    }


def _node_row(place: Place, table_id: int, chunk: cutting.NodeChunk) -> dict[str, Any]:
    return {
        "table_id": table_id,
        "json_pointer": chunk.pointer,
        "chunk_index": chunk.index,
        "total_chunks": chunk.total,
        "chunk_size": chunk.size,
        "chunk_overlap": chunk.overlap,
        "char_start": chunk.start,
        "char_end": chunk.end,
        "content_hash": chunk.content_hash,
        "turbopuffer_namespace": place.namespace,
        "turbopuffer_doc_id": chunk.doc_id,
        "node_length": chunk.length,
        "chunk_text": chunk.text,
    }


def _source(row: ChunkRow) -> Source:
    return Source(row.document_id, row.json_pointer, row.chunk_size, row.chunk_overlap, row.node_length)


def _source_of(row: ChunkRow) -> tuple[int | None, int | None]:
    return row.table_id, row.document_id


def _is_source(row: ChunkRow) -> "sa.ColumnElement[bool]":
    return states.is_table(row.table_id) if row.table_id is not None else states.is_document(row.document_id or 0)
