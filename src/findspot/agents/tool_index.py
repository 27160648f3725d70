"""The index of a search tool: the chunks in its scope, how many of them are indexed, and how to index them again."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot import pointer as pointers
from findspot.agents.schemas import SearchConfig
from findspot.errors import FindspotError
from findspot.indexing.status import IndexStatus, rebuilding
from findspot.models import SourceState, Tool, ToolType, documents_namespace, table_namespace
from findspot.runtime import messages
from findspot.settings import Settings
from findspot.store import chunks as chunk_rows
from findspot.store import index_requests, index_states
from findspot.store import tables as table_rows
from findspot.store import tools as rows
from findspot.store.database import Store
from findspot.store.index_requests import IndexRequest, RequestKind

NODES_LISTED = 1000
CHUNKS_AT_ONCE = 5000  # in one transaction


@dataclass(frozen=True, slots=True)
class ToolCreation:
    """The result of creating a tool: what it searches, and how many of its chunks did not exist before.

    `nodes` lists some of the nodes.
    """

    tool: Tool
    status: str
    chunks_created: int
    nodes: list[tuple[str, int, int]]
    notice: str | None
    nodes_count: int = 0
    chunks_count: int = 0

    @property
    def namespace(self) -> str:
        if self.tool.table_id is None:
            return documents_namespace(self.tool.project_id)
        return table_namespace(self.tool.project_id, self.tool.table_id)


class _Scope(NamedTuple):
    """The chunks of a search tool, as arguments of the queries on them."""

    table_id: int
    pointer: str
    cut: tuple[int, int]
    threshold: int


class ToolIndex:
    """The index behind the search tools of every project."""

    def __init__(self, store: Store, status: IndexStatus, settings: Settings) -> None:
        self._store = store
        self._status = status
        self._settings = settings

    async def require_room(self, project_id: int) -> None:
        await self._status.require_room(project_id)

    async def wait(self, table_id: int) -> None:
        """Wait until the current revision of a table is indexed, or indexing it has failed.

        The table may have changed again by then: some tables change all the time.
        """
        async with self._store.read() as connection:
            table = await table_rows.get(connection, table_id)
        if table is None:
            return
        namespace, last = table_namespace(table.project_id, table_id), None

        async def done() -> bool:
            nonlocal last
            async with self._store.read() as connection:
                state = await index_states.of_table(connection, table_id)
                if state is None or state.status in ("ready", "error"):
                    return True
                if state.indexed_revision <= table.revision:
                    return False
                last = last or await rows.last_chunk(connection)
                first = await chunk_rows.first_waiting(connection, namespace)
            return first is None or first > last

        await self._status.wait_until(done)

    async def rebuild(self, tool: Tool) -> None:
        """Cut the chunks of a tool again and write them to the engine. Searches continue meanwhile."""
        await self.require_room(tool.project_id)
        after: int | None = 0
        while after is not None:
            async with self._store.write() as connection:
                await request(connection, tool.project_id, tool.table)
                after = await rows.mark_unindexed(connection, *self._scope(tool), after, CHUNKS_AT_ONCE)

    async def delete(self, tool: Tool) -> None:
        """Delete the chunks of a tool. They come back with the next change of the table, or with a rebuild."""
        more = True
        while more:
            async with self._store.write(frees=True) as connection:
                more = await rows.delete_in_scope(connection, *self._scope(tool), CHUNKS_AT_ONCE)

    async def lack_of_room(self, tool: Tool) -> FindspotError | None:
        """Return an error if the chunks of a new tool exceed the project's chunk limit."""
        async with self._store.read() as connection:
            state = await index_states.of_table(connection, tool.table)
        if state is None or state.error is None or state.error.code != "SEARCH_CAPACITY_EXCEEDED":
            return None
        return FindspotError(state.error.code, f"{state.error.message} The tool was not created.")

    async def outcome(self, tool: Tool, last: int, language: str) -> ToolCreation:
        """Return what was indexed for a new tool; `last` is the last chunk that existed before."""
        scope = self._scope(tool)
        async with self._store.read() as connection:
            nodes, chunks, _, new = await rows.count_in_scope(connection, *scope, last)
            listed = await rows.nodes_in_scope(connection, *scope, NODES_LISTED)
        status = tool.metadata["search_index"]["status"]
        notice = None
        if not nodes and status == "ready":
            notice = messages.nothing_to_index(scope.threshold, language)
        elif nodes > len(listed):
            notice = messages.more_nodes(len(listed), nodes, language)
        return ToolCreation(tool, status, new, listed, notice, nodes, chunks)

    async def with_state(self, connection: AsyncConnection, tool: Tool) -> Tool:
        """Return a search tool with the state of its index in `metadata`. It is read each time, so it is current."""
        if tool.type is not ToolType.SEARCH:
            return tool
        state = await index_states.of_table(connection, tool.table)
        nodes, found, indexed, _ = await rows.count_in_scope(connection, *self._scope(tool))
        configured = tool.metadata.get("search_index", {}).get("configured_at", _iso(tool.created_at))
        indexed_at = state.indexed_at if state else None
        if indexed_at is not None and indexed_at < datetime.fromisoformat(configured):
            indexed_at = None  # from before this tool was configured
        index = {
            "status": await connection.run_sync(_status, tool, state),
            "configured_at": configured,
            "indexed_at": _iso(indexed_at) if indexed_at else None,
            "nodes_count": nodes,
            "chunks_count": found,
            "indexed_chunks_count": indexed,
            "skipped_nodes": _skipped(state, tool.json_pointer),
            "last_error": state.last_error if state else None,
        }
        updated_at = max(tool.updated_at, state.updated_at) if state else tool.updated_at
        return replace(tool, metadata={**tool.metadata, "search_index": index}, updated_at=updated_at)

    def _scope(self, tool: Tool) -> _Scope:
        size, overlap, threshold = SearchConfig(**(tool.search_config or {})).chunking(self._settings)
        return _Scope(tool.table, tool.json_pointer, (size, overlap), threshold)


async def request(connection: AsyncConnection, project_id: int, table_id: int) -> None:
    """Request that a table is indexed for its current tools. Chunks that the engine has lost are indexed again."""
    await index_states.request(connection, table_id)
    namespace = table_namespace(project_id, table_id)
    await index_requests.add(connection, [IndexRequest(namespace, RequestKind.MISSING)])


def configured_now() -> dict[str, Any]:
    """Return the metadata of a search tool that has just been configured."""
    return {"search_index": {"configured_at": _iso(datetime.now(UTC))}}


def _iso(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")


def _status(connection: sa.Connection, tool: Tool, state: SourceState | None) -> str:
    if state is None:
        return "pending"
    if state.status == "ready" and rebuilding(connection, table_namespace(tool.project_id, tool.table)):
        return "indexing"
    return state.status


def _skipped(state: SourceState | None, scope: str) -> list[dict[str, str]]:
    every = (state.skipped if state else None) or []
    return [each for each in every if pointers.holds(scope, each["json_pointer"])]
