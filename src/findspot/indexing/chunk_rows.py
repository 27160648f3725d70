"""What changed → chunk rows. Afterwards the store knows what the engine has to take in and what to forget."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from findspot.errors import FindspotError
from findspot.indexing import cutting
from findspot.models import NamespaceKey, SourceState, Table
from findspot.runtime import metrics
from findspot.runtime.helpers import Helpers
from findspot.runtime.remote_calls import encoded, joined_there
from findspot.settings import Settings
from findspot.store import chunks as rows
from findspot.store import index_states as states
from findspot.store import tables as table_rows
from findspot.store import tools as tool_rows
from findspot.store.database import Store

DOCUMENTS_AT_ONCE = 256
BYTES_AT_ONCE = 8 << 20
WRITTEN_AT_ONCE = 32  # documents


class Following:
    """Brings the chunk rows of sources up to date. One at a time in a namespace."""

    def __init__(self, store: Store, helpers: Helpers, settings: Settings) -> None:
        self._store = store
        self._helpers = helpers
        self._settings = settings
        self._whole: set[int] = set()  # tables of which no node is half there: no one was broken off since

    async def prepare(self) -> None:
        """Start a helper and let it load what cuts, before anyone waits for it."""
        any_text = cutting.DocumentToCut(0, "text", frozenset())
        await self._helpers.run(cutting.cut_documents, [any_text], [b"Any text."])

    async def follow(self, place: NamespaceKey) -> bool:
        """Follow the sources of a namespace that have changed; whether there were any."""
        return await (self._documents(place) if place.table_id is None else self._table(place, place.table_id))

    # ── documents ──

    async def _documents(self, place: NamespaceKey) -> bool:
        async with self._store.read() as connection:
            pending = await states.pending_documents(connection, place.project_id, DOCUMENTS_AT_ONCE, BYTES_AT_ONCE)
            if not pending:
                return False
            known: dict[int, dict[str, Any]] = {row.id: {} for row in pending}
            for row in await rows.of_documents(connection, list(known)):
                known[row.document_id][row.turbopuffer_doc_id] = row
        try:
            await self._follow(place, pending, known)
        except FindspotError as error:
            if error.code == "STORE_UNAVAILABLE":
                raise
            for row in pending:  # one of them cannot be cut: the others are not to wait for it
                await self._follow_alone(place, row, known)
        return True

    async def _follow_alone(self, place: NamespaceKey, row: Any, known: dict[int, dict[str, Any]]) -> None:
        try:
            await self._follow(place, [row], known)
        except FindspotError as error:
            if error.code == "STORE_UNAVAILABLE":
                raise
            async with self._store.write(durable=False) as connection:
                await states.fail(connection, states.is_document(row.id), said(error), pending=True)
            self._store.written.set()  # for the worker, to know how long to rest

    async def _follow(self, place: NamespaceKey, pending: Sequence[Any], known: dict[int, dict[str, Any]]) -> None:
        asked = [cutting.DocumentToCut(row.id, row.format, frozenset(known[row.id])) for row in pending]
        contents = [row.content for row in pending]
        with metrics.CHUNKING_DURATION.labels(place.project_id).time():
            parts = await self._helpers.run(cutting.cut_documents, asked, contents)
        found: dict[int, list[cutting.Passage]] = {row.id: [] for row in pending}
        for part in parts:
            for passage in part:
                found[passage.document_id].append(passage)
            await asyncio.sleep(0)
        changes = await asyncio.to_thread(lambda: {id: _changes(place, known[id], each) for id, each in found.items()})
        await self._require_room(place, sum(len(each.new) - len(each.gone) for each in changes.values()))
        for start in range(0, len(pending), WRITTEN_AT_ONCE):  # so that no writer waits long
            await self._rewrite(place, pending[start : start + WRITTEN_AT_ONCE], changes)

    async def _rewrite(self, place: NamespaceKey, followed: Sequence[Any], changes: Mapping[int, "_Changes"]) -> None:
        """Make the rows of some documents those of the passages found."""
        async with self._store.write(durable=False) as connection:
            now = await states.revisions(connection, [row.id for row in followed])
            there = [row for row in followed if row.id in now]
            await rows.delete(connection, [id for row in there for id in changes[row.id].gone])
            new = [new for row in there for new in changes[row.id].new]
            await rows.insert(connection, new)
            metrics.CHUNKS_CREATED.labels(place.project_id, metrics.DOCUMENTS).inc(len(new))
            await rows.move(connection, [moved for row in there for moved in changes[row.id].moved])
            await states.followed_documents(
                connection,
                [(row.id, row.revision, changes[row.id].total, now[row.id] == row.revision) for row in there],
            )

    async def _require_room(self, place: NamespaceKey, more: int) -> None:
        if more > 0:
            async with self._store.read() as connection:
                taken = await states.chunks_of_project(connection, place.project_id)
            if taken + more > self._settings.max_chunks:
                raise no_room(more, self._settings.max_chunks)

    # ── tables ──

    async def _table(self, place: NamespaceKey, table_id: int) -> bool:
        async with self._store.read() as connection:
            state = await states.of_table(connection, table_id)
        if state is None or not state.is_due(datetime.now(UTC)):
            return False
        await self._mend(state, table_id)
        async with self._store.read() as connection:
            room = self._settings.max_chunks
            room -= await states.chunks_of_project(connection, place.project_id, but_table=table_id)
            table = await table_rows.get(connection, table_id)
            scopes = await tool_rows.search_scopes(connection, table_id)
            known = [encoded(part) async for part in rows.nodes_of(connection, table_id)]
            loaded = await table_rows.load(connection, table_id) if scopes else None
            if scopes:  # read after the text: a tool that was there before a change is there when that is followed
                table = loaded[0] if loaded else None
                scopes = await tool_rows.search_scopes(connection, table_id)
        if table is None:
            return False
        limits = self._settings.max_content_size, self._settings.max_chunks_per_node
        request = cutting.TableToCut(table_id, self._cuts(scopes), *limits, room)
        summary = cutting.TableSummary(0, 0, (), 0)
        gone, new = iter(list[list[cutting.Known]]()), iter(list[list[cutting.NodeChunk]]())
        if scopes or known:
            text = loaded[1] if loaded else b"null"
            with metrics.CHUNKING_DURATION.labels(place.project_id).time():
                summary, gone, new = await self._helpers.run(
                    cutting.cut_table, request, joined_there(text), iter(known)
                )
        self._whole.discard(table_id)
        if not await self._insert(place, table_id, new):
            return False
        await self._delete(table_id, gone)
        self._whole.add(table_id)
        await self._note(table, scopes, summary)
        return True

    async def _mend(self, state: SourceState, table_id: int) -> None:
        """Remove nodes of which only some chunks are there, so that they are cut anew. That is looked for where work
        was broken off, or when someone asks for a table that has not changed."""
        async with self._store.read() as connection:
            table = await table_rows.get(connection, table_id)
            if table is None or (table_id in self._whole and table.revision != state.indexed_revision):
                return
            unfinished = await rows.unfinished_nodes(connection, table_id)
        if unfinished:
            async with self._store.write(durable=False) as connection:
                await rows.delete_nodes(connection, table_id, unfinished)

    def _cuts(self, scopes: Sequence[tuple[str, dict[str, Any]]]) -> tuple[cutting.Cut, ...]:
        """The ways in which a table's tools want it cut."""
        cuts: dict[tuple[int, int], list[tuple[str, int]]] = {}
        for pointer, config in scopes:
            size = config.get("chunk_size", self._settings.chunk_size)
            overlap = config.get("chunk_overlap", self._settings.chunk_overlap)
            cuts.setdefault((size, overlap), []).append((pointer, config.get("chunk_threshold", 10_000)))
        return tuple(cutting.Cut(size, overlap, tuple(places)) for (size, overlap), places in cuts.items())

    # Rows come and go in short transactions, so that no writer waits long. A row is never older than the revision that
    # is noted, which is all that a search relies on.

    async def _insert(self, place: NamespaceKey, table_id: int, parts: Iterator[list[cutting.NodeChunk]]) -> bool:
        """Add chunks; False if the table is gone."""
        for part in parts:
            new = [_node_row(place, table_id, each) for each in part]
            async with self._store.write(durable=False) as connection:
                if await states.table_revision(connection, table_id) is None:
                    return False
                await rows.insert(connection, new)
            metrics.CHUNKS_CREATED.labels(place.project_id, table_id).inc(len(new))
        return True

    async def _delete(self, table_id: int, parts: Iterator[list[cutting.Known]]) -> None:
        for part in parts:
            async with self._store.write(durable=False) as connection:
                await rows.delete_nodes(connection, table_id, part)

    async def _note(
        self, table: Table, scopes: Sequence[tuple[str, dict[str, Any]]], summary: cutting.TableSummary
    ) -> None:
        """The rows are those of this revision, for these tools. If either has changed since, there is more to do."""
        async with self._store.write(durable=False) as connection:
            now = await states.table_revision(connection, table.id)
            current = now == table.revision and scopes == await tool_rows.search_scopes(connection, table.id)
            skipped = [{"json_pointer": pointer, "reason": reason} for pointer, reason in summary.skipped]
            error = said(no_room(summary.homeless, self._settings.max_chunks)) if summary.homeless else None
            counts = {"total": summary.chunks, "done": 0, "nodes": summary.nodes}
            facts = {**counts, "skipped": skipped, "last_error": error}
            await states.followed(connection, states.is_table(table.id), table.revision, current=current, **facts)
            await states.prune_changes(connection, table.id, table.revision)


def no_room(chunks: int, limit: int) -> FindspotError:
    message = f"{chunks} chunks find no room: the project may have {limit}. Their text is saved, and is not searched."
    return FindspotError("SEARCH_CAPACITY_EXCEEDED", message)


def said(error: Exception) -> str:
    """An error as the state of a source shows it. Of one that no one foresaw only the kind: its words may hold
    anything, from SQL to what people wrote."""
    if isinstance(error, FindspotError):
        return f"{error.code}: {error.message}"
    return f"INTERNAL: Something went wrong ({type(error).__name__}). The log says where."


class _Changes(NamedTuple):
    """What makes the rows of a document those of its passages. One whose text is as it was keeps its id."""

    gone: list[int]
    new: list[rows.NewChunk]
    moved: list[dict[str, Any]]
    total: int


def _changes(place: NamespaceKey, known: dict[str, Any], found: Sequence[cutting.Passage]) -> _Changes:
    names = {passage.doc_id for passage in found}
    gone = [old.id for name, old in known.items() if name not in names]
    new = [_document_row(place, each) for each in found if each.doc_id not in known]
    moved = [
        {"which": old.id, "start": each.start, "end": each.end, "index": each.index, "total": each.total}
        for each in found
        if (old := known.get(each.doc_id)) is not None
        and (old.char_start, old.char_end, old.chunk_index, old.total_chunks)
        != (each.start, each.end, each.index, each.total)
    ]
    return _Changes(gone, new, moved, len(found))


def _document_row(place: NamespaceKey, passage: cutting.Passage) -> rows.NewChunk:
    return rows.NewChunk(
        table_id=None,
        document_id=passage.document_id,
        json_pointer="",
        chunk_index=passage.index,
        total_chunks=passage.total,
        chunk_size=0,
        chunk_overlap=0,
        char_start=passage.start,
        char_end=passage.end,
        content_hash=passage.content_hash,
        turbopuffer_namespace=place.namespace,
        turbopuffer_doc_id=passage.doc_id,
        node_length=0,
        chunk_text=passage.text or "",
    )


def _node_row(place: NamespaceKey, table_id: int, chunk: cutting.NodeChunk) -> rows.NewChunk:
    return rows.NewChunk(
        table_id=table_id,
        document_id=None,
        json_pointer=chunk.pointer,
        chunk_index=chunk.index,
        total_chunks=chunk.total,
        chunk_size=chunk.size,
        chunk_overlap=chunk.overlap,
        char_start=chunk.start,
        char_end=chunk.end,
        content_hash=chunk.content_hash,
        turbopuffer_namespace=place.namespace,
        turbopuffer_doc_id=chunk.doc_id,
        node_length=chunk.length,
        chunk_text=chunk.text,
    )
