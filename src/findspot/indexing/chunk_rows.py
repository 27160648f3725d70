"""What changed → chunk rows. Then the store knows which chunks the engine has to take in and which to delete."""

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from findspot.errors import STORE_FAILURES, Failure, FindspotError
from findspot.indexing import cutting
from findspot.indexing.leases import Leases
from findspot.models import NamespaceKey, SourceState, Table
from findspot.runtime import metrics
from findspot.runtime.helpers import NO_PROJECT, Helpers
from findspot.runtime.remote_calls import encoded, joined_there
from findspot.settings import Settings
from findspot.store import chunks as chunk_rows
from findspot.store import document_lines, index_states, replaced_chunks
from findspot.store import tables as table_rows
from findspot.store import tools as tool_rows
from findspot.store.database import Store

DOCUMENTS_AT_ONCE = 256
BYTES_AT_ONCE = 8 << 20
CUT_AT_ONCE, CUT_BYTES = 64, 1 << 20  # documents and bytes that one helper cuts while others are cut or written
WRITTEN_AT_ONCE = 64  # documents; 32 at a time write 10 % more to the log, because chunks share pages of indexes
ROWS_AT_ONCE = 1000  # chunk rows deleted in one transaction
COMPARED_HERE = 200  # passages, in half a millisecond; a trip to a thread takes as long, and more while searches run

_Known: TypeAlias = dict[int, dict[str, Any]]  # chunk rows of each document by name
_Cut: TypeAlias = tuple[Iterator[list[cutting.Passage]], list[bytes]]


class ChunkRows:
    """Brings the chunk rows of sources up to date. Only one call at a time works on a namespace."""

    def __init__(self, store: Store, leases: Leases, helpers: Helpers, settings: Settings) -> None:
        self._store = store
        self._leases = leases
        self._helpers = helpers
        self._settings = settings
        self._complete: set[int] = set()  # tables in which no node lacks chunks: no update was interrupted

    async def prepare(self) -> None:
        """Start a helper process, and have it load the parsers and the chunker before a change waits for them."""
        any_text = cutting.DocumentToCut(0, "", "markdown", frozenset())
        await self._helpers.run(NO_PROJECT, cutting.cut_documents, [any_text], ["*Any* text. 任何文字。".encode()])

    def forget(self, key: NamespaceKey | None = None) -> None:
        """Forget which tables are complete, or whether one is: the database may have lost rows that were written last,
        or another worker may have changed them."""
        if key is None:
            self._complete.clear()
        elif key.table_id is not None:
            self._complete.discard(key.table_id)

    async def update(self, key: NamespaceKey) -> bool:
        """Follow sources of a namespace that have changed; return whether there were any."""
        if key.table_id is None:
            return await self._update_documents(key)
        return await self._update_table(key, key.table_id)

    # ── documents ──

    async def _update_documents(self, key: NamespaceKey) -> bool:
        async with self._store.read() as connection:
            pending = await index_states.pending_documents(connection, key.project_id, DOCUMENTS_AT_ONCE, BYTES_AT_ONCE)
            if not pending:
                return False
            known: _Known = {row.id: {} for row in pending}
            for row in await chunk_rows.of_documents(connection, list(known)):
                known[row.document_id][row.turbopuffer_doc_id] = row
        groups = list(_groups(pending))
        cut = [asyncio.create_task(self._passages(key, group, known)) for group in groups]
        try:
            for group, passages in zip(groups, cut, strict=True):
                await self._follow(key, group, known, passages)
        finally:
            for task in cut:
                task.cancel()
            await asyncio.gather(*cut, return_exceptions=True)
        return True

    async def _follow(
        self, key: NamespaceKey, group: Sequence[Any], known: _Known, passages: asyncio.Task[_Cut]
    ) -> None:
        """Write the chunk rows of a group of documents, while helpers cut the next groups."""
        try:
            await self._write(key, group, known, passages)
        except FindspotError as error:
            if error.code in STORE_FAILURES:
                raise
            for row in group:  # one of them cannot be cut; the others must not wait for it
                await self._follow_alone(key, row, known)

    async def _follow_alone(self, key: NamespaceKey, row: Any, known: _Known) -> None:
        try:
            await self._write(key, [row], known, self._passages(key, [row], known))
        except FindspotError as error:
            if error.code in STORE_FAILURES:
                raise
            async with self._leases.write(key) as connection:
                document = index_states.is_document(row.id)
                await index_states.fail(connection, document, Failure.of(error), even_pending=True)
            self._store.written.set()  # the scheduler has to learn when to retry

    async def _write(self, key: NamespaceKey, group: Sequence[Any], known: _Known, passages: Awaitable[_Cut]) -> None:
        (parts, lines), taken = await asyncio.gather(passages, self._taken(key))
        found: dict[int, list[cutting.Passage]] = {row.id: [] for row in group}
        for part in parts:
            for passage in part:
                found[passage.document_id].append(passage)
            await asyncio.sleep(0)
        changes = await self._compared(key, known, found)
        self._require_room(taken, sum(len(each.new) - len(each.gone) for each in changes.values()))
        for start in range(0, len(group), WRITTEN_AT_ONCE):  # so that no writer waits long
            some = slice(start, start + WRITTEN_AT_ONCE)
            await self._rewrite(key, group[some], changes, lines[some])

    async def _passages(self, key: NamespaceKey, group: Sequence[Any], known: _Known) -> _Cut:
        asked = [cutting.DocumentToCut(row.id, row.title, row.format, frozenset(known[row.id])) for row in group]
        contents = [row.content for row in group]
        with metrics.CHUNKING_DURATION.labels(key.project_id).time():
            return await self._helpers.run(key.project_id, cutting.cut_documents, asked, contents)

    async def _compared(
        self, key: NamespaceKey, known: _Known, found: dict[int, list[cutting.Passage]]
    ) -> "dict[int, _Changes]":
        def compare() -> dict[int, _Changes]:
            return {id: _changes(key, known[id], each) for id, each in found.items()}

        count = sum(map(len, found.values())) + sum(map(len, known.values()))
        return compare() if count <= COMPARED_HERE else await asyncio.to_thread(compare)

    async def _rewrite(
        self, key: NamespaceKey, followed: Sequence[Any], changes: Mapping[int, "_Changes"], lines: Sequence[bytes]
    ) -> None:
        """Write the changes of the chunk rows of documents, unless a document was deleted in the meantime.

        A document that needs a replaced chunk again is left for the next round if that has just been deleted.
        """
        indexes = {row.id: cutting.line_index(each) for row, each in zip(followed, lines, strict=True)}
        async with self._leases.write(key) as connection:
            now = await index_states.lock_revisions(connection, [row.id for row in followed])
            back = [id for row in followed for id in changes[row.id].back]
            lost = set(back) - await replaced_chunks.lock(connection, back)
            existing = [row for row in followed if row.id in now and lost.isdisjoint(changes[row.id].back)]
            gone = [(id, bool(changes[row.id].new)) for row in existing for id in changes[row.id].gone]
            await replaced_chunks.replace_passages(connection, [id for id, is_replaced in gone if is_replaced])
            await chunk_rows.delete(connection, [id for id, is_replaced in gone if not is_replaced])
            new = [new for row in existing for new in changes[row.id].new]
            await chunk_rows.insert(connection, new)
            metrics.CHUNKS_CREATED.labels(key.project_id, metrics.DOCUMENTS).inc(len(new))
            await chunk_rows.move(connection, [moved for row in existing for moved in changes[row.id].moved])
            await document_lines.replace(connection, {row.id: indexes[row.id] for row in existing})
            await chunk_rows.set_contexts(connection, [each for row in existing for each in changes[row.id].elsewhere])
            await index_states.set_indexed_revisions(
                connection,
                [(row.id, row.revision, changes[row.id].total, now[row.id] == row.revision) for row in existing],
            )

    async def _taken(self, key: NamespaceKey) -> int:
        async with self._store.read() as connection:
            return await index_states.chunks_of_project(connection, key.project_id)

    def _require_room(self, taken: int, more: int) -> None:
        if more > 0 and taken + more > self._settings.max_chunks:
            raise no_room(more, self._settings.max_chunks)

    # ── tables ──

    async def _update_table(self, key: NamespaceKey, table_id: int) -> bool:
        async with self._store.read() as connection:
            state = await index_states.of_table(connection, table_id)
        if state is None or not state.is_due(datetime.now(UTC)):
            return False
        if state.status == "pending":
            await self._remove_replaced(key)
        await self._remove_incomplete_nodes(key, state, table_id)
        async with self._store.read() as connection:
            room = self._settings.max_chunks
            room -= await index_states.chunks_of_project(connection, key.project_id, but_table=table_id)
            table = await table_rows.get(connection, table_id)
            scopes = await tool_rows.search_scopes(connection, table_id)
            known = [encoded(part) async for part in chunk_rows.nodes_of(connection, table_id)]
            loaded = await table_rows.load(connection, table_id) if scopes else None
            if scopes:  # read after the text: a tool that was made before a change is seen when the change is followed
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
            with metrics.CHUNKING_DURATION.labels(key.project_id).time():
                summary, gone, new = await self._helpers.run(
                    key.project_id, cutting.cut_table, request, joined_there(text), iter(known)
                )
        self._complete.discard(table_id)
        if not await self._insert(key, table_id, new):
            return False
        await self._replace(key, table_id, gone)
        self._complete.add(table_id)
        await self._finish_table(key, table, scopes, summary)
        return True

    async def _remove_replaced(self, key: NamespaceKey) -> None:
        """Delete chunks that an earlier revision replaced: from now on they are too old to be hits."""
        async with self._store.read() as connection:
            replaced = await replaced_chunks.every(connection, key.namespace)
        for start in range(0, len(replaced), ROWS_AT_ONCE):
            async with self._leases.write(key) as connection:
                await replaced_chunks.delete(connection, replaced[start : start + ROWS_AT_ONCE])

    async def _remove_incomplete_nodes(self, key: NamespaceKey, state: SourceState, table_id: int) -> None:
        """Delete the chunk rows of nodes that lack some, so that they are cut again.

        They are left by an update that was interrupted. The query reads all rows of the table, so it runs only after
        an interruption, or if an update was requested although the table has not changed.
        """
        async with self._store.read() as connection:
            table = await table_rows.get(connection, table_id)
            if table is None or (table_id in self._complete and table.revision != state.indexed_revision):
                return
            incomplete = await chunk_rows.incomplete_nodes(connection, table_id)
        if incomplete:
            async with self._leases.write(key) as connection:
                await chunk_rows.delete_nodes(connection, table_id, incomplete)

    def _cuts(self, scopes: Sequence[tuple[str, dict[str, Any]]]) -> tuple[cutting.Cut, ...]:
        """Return the ways in which the tools of a table want it cut."""
        cuts: dict[tuple[int, int], list[tuple[str, int]]] = {}
        for pointer, config in scopes:
            size, overlap, threshold = self._settings.tool_chunking(
                config.get("chunk_size"), config.get("chunk_overlap"), config.get("chunk_threshold")
            )
            cuts.setdefault((size, overlap), []).append((pointer, threshold))
        return tuple(cutting.Cut(size, overlap, tuple(scopes)) for (size, overlap), scopes in cuts.items())

    # Rows are added and replaced in short transactions, so that no writer waits long. No row is older than the revision
    # that it or `_finish_table` names, and searches rely on nothing else.

    async def _insert(self, key: NamespaceKey, table_id: int, parts: Iterator[list[cutting.NodeChunk]]) -> bool:
        """Add chunk rows; return False if the table has been deleted."""
        for part in parts:
            new = [_node_row(key, table_id, each) for each in part]
            async with self._leases.write(key) as connection:
                if await index_states.lock_table_revision(connection, table_id) is None:
                    return False
                await chunk_rows.insert(connection, new)
            metrics.CHUNKS_CREATED.labels(key.project_id, table_id).inc(len(new))
        return True

    async def _replace(self, key: NamespaceKey, table_id: int, parts: Iterator[list[cutting.Known]]) -> None:
        for part in parts:
            async with self._leases.write(key) as connection:
                await replaced_chunks.replace_nodes(connection, table_id, part)

    async def _finish_table(
        self,
        key: NamespaceKey,
        table: Table,
        scopes: Sequence[tuple[str, dict[str, Any]]],
        summary: cutting.TableSummary,
    ) -> None:
        """Note that the rows are those of this revision and these tools. If either has changed, it stays pending."""
        skipped = [{"json_pointer": pointer, "reason": reason} for pointer, reason in summary.skipped]
        error = no_room(summary.without_room, self._settings.max_chunks) if summary.without_room else None
        async with self._leases.write(key) as connection:
            now = await index_states.lock_table_revision(connection, table.id)
            await index_states.set_indexed_revision(
                connection,
                index_states.is_table(table.id),
                table.revision,
                is_current=now == table.revision and scopes == await tool_rows.search_scopes(connection, table.id),
                error=Failure.of(error) if error else None,
                total=summary.chunks,
                done=0,
                nodes=summary.nodes,
                skipped=skipped,
            )
            await index_states.prune_changes(connection, table.id, table.revision)


def no_room(chunks: int, limit: int) -> FindspotError:
    message = f"{chunks} chunks have no room: the project may have {limit}. Their text is saved, but not searched."
    return FindspotError("SEARCH_CAPACITY_EXCEEDED", message)


def _groups(documents: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield documents in groups that helpers cut. A document above the size is a group of its own."""
    group: list[Any] = []
    size = 0
    for row in documents:
        if group and (len(group) == CUT_AT_ONCE or size + len(row.content) > CUT_BYTES):
            yield group
            group, size = [], 0
        group.append(row)
        size += len(row.content)
    if group:
        yield group


class _Changes(NamedTuple):
    """The changes that make the chunk rows of a document fit its passages. A chunk with the same text keeps its id.

    `gone` are replaced by `new`, or deleted if there are none. `back` are replaced chunks whose text is part of the
    document again. `elsewhere` are the chunks whose title or headings have changed, and those that are now the first,
    which the title names, or no longer: they are indexed again.
    """

    gone: list[int]
    new: list[chunk_rows.NewChunk]
    moved: list[dict[str, Any]]
    back: list[int]
    elsewhere: list[dict[str, Any]]
    total: int


def _changes(key: NamespaceKey, known: dict[str, Any], found: Sequence[cutting.Passage]) -> _Changes:
    names = {passage.doc_id for passage in found}
    gone = [old.id for name, old in known.items() if name not in names and old.last_revision is None]
    new = [_document_row(key, each) for each in found if each.doc_id not in known]
    moved = [
        {"which": old.id, "start": each.start, "end": each.end, "index": each.index, "total": each.total}
        for each in found
        if (old := known.get(each.doc_id)) is not None
        and (old.char_start, old.char_end, old.chunk_index, old.total_chunks, old.last_revision)
        != (each.start, each.end, each.index, each.total, None)
    ]
    elsewhere = [
        {"which": old.id, "where": each.context}
        for each in found
        if (old := known.get(each.doc_id)) is not None
        and (old.context, old.chunk_index == 0) != (each.context, each.index == 0)
    ]
    back = [old.id for name, old in known.items() if name in names and old.last_revision is not None]
    return _Changes(gone, new, moved, back, elsewhere, len(found))


def _document_row(key: NamespaceKey, passage: cutting.Passage) -> chunk_rows.NewChunk:
    return chunk_rows.NewChunk(
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
        turbopuffer_namespace=key.namespace,
        turbopuffer_doc_id=passage.doc_id,
        node_length=0,
        context=passage.context,
        chunk_text=passage.text or "",
    )


def _node_row(key: NamespaceKey, table_id: int, chunk: cutting.NodeChunk) -> chunk_rows.NewChunk:
    return chunk_rows.NewChunk(
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
        turbopuffer_namespace=key.namespace,
        turbopuffer_doc_id=chunk.doc_id,
        node_length=chunk.length,
        context=None,
        chunk_text=chunk.text,
    )
