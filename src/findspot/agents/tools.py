"""Tools: make, describe, and call by type. What an agent may do with the value at a scope of a table."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot import pointer as pointers
from findspot.agents import cards
from findspot.agents.endpoints import names_apart
from findspot.agents.schemas import NewSearchTool, SearchConfig, ToolChange
from findspot.errors import FindspotError, invalid, not_found
from findspot.indexing.status import IndexStatus, rebuilding
from findspot.models import SourceState, Table, Tool, ToolCard, ToolType, table_namespace
from findspot.runtime import messages
from findspot.settings import Settings
from findspot.store import chunks as chunk_rows
from findspot.store import index_states as states
from findspot.store import tables as table_rows
from findspot.store import tools as rows
from findspot.store.database import Store

NODES_LISTED = 1000
CHUNKS_AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class Made:
    """What the creation of a tool led to. `chunks_created` counts those that were not there before."""

    tool: Tool
    status: str
    chunks_created: int
    nodes: list[tuple[str, int, int]]
    notice: str | None

    @property
    def namespace(self) -> str:
        return table_namespace(self.tool.project_id, self.tool.table_id)


class _Sight(NamedTuple):
    """What a search tool sees: the arguments of the queries that count it."""

    table_id: int
    pointer: str
    cut: tuple[int, int]
    threshold: int


class Tools:
    """The tools of every project."""

    def __init__(self, store: Store, index_status: IndexStatus, settings: Settings) -> None:
        self._store = store
        self._index_status = index_status
        self._settings = settings

    # ── making and changing ──

    async def create(self, project_id: int, spec: NewSearchTool) -> Tool:
        """Make a tool. What a search tool needs indexed is noted with it, and is done in the background: what is there
        already is not made twice, and what has got lost of it is made anew."""
        if spec.kind is ToolType.SEARCH:
            await self._index_status.require_room(project_id)
            await self._index_status.request_comparison(table_namespace(project_id, spec.table_id))
        try:
            async with self._store.write() as connection:
                return await self._insert(connection, project_id, spec)
        except IntegrityError:
            raise not_found("table") from None

    async def make(self, project_id: int, spec: NewSearchTool, *, wait: bool = True, language: str = "en") -> Made:
        """Make a tool, wait until what it searches is indexed (or answer at once), and tell what was found."""
        async with self._store.read() as connection:
            last = await rows.last_chunk(connection)
        tool = await self.create(project_id, spec)
        if tool.type is not ToolType.SEARCH:
            return Made(tool, "ready", 0, [], None)
        if not wait:
            return Made(await self.get(tool.id), "pending", 0, [], None)
        await self.indexed(tool.table_id)
        await self._require_room_for(tool)
        return await self._outcome(await self.get(tool.id), last, language)

    async def indexed(self, table_id: int) -> None:
        """Wait until the index has followed a table as it is now, or has failed to. It may be behind again then: there
        are tables that someone changes all the time."""
        async with self._store.read() as connection:
            table = await table_rows.get(connection, table_id)
        if table is None:
            return
        namespace, last = table_namespace(table.project_id, table_id), None

        async def done() -> bool:
            nonlocal last
            async with self._store.read() as connection:
                state = await states.of_table(connection, table_id)
                if state is None or state.status in ("ready", "error"):
                    return True
                if state.indexed_revision <= table.revision:
                    return False
                last = last or await rows.last_chunk(connection)
                first = await chunk_rows.first_waiting(connection, namespace)
            return first is None or first > last

        await self._index_status.wait_until(done)

    async def get(self, tool_id: int) -> Tool:
        async with self._store.read() as connection:
            tool = await rows.get(connection, tool_id)
            if tool is None:
                raise not_found("tool")
            return await self._with_index(connection, tool)

    async def every(self, project_id: int) -> list[Tool]:
        """The tools of a project in order of their ids."""
        async with self._store.read() as connection:
            return [await self._with_index(connection, tool) for tool in await rows.every(connection, project_id)]

    async def change(self, tool_id: int, change: ToolChange) -> Tool:
        """Change what is named. A new name is checked against every endpoint; a new scope is indexed."""
        with names_apart():
            async with self._store.write() as connection:
                tool = await rows.get(connection, tool_id)
                table = await table_rows.get(connection, tool.table_id) if tool else None
                if tool is None or table is None:
                    raise not_found("tool")
                values = self._changes(tool, table, change)
                if values:
                    await rows.change(connection, tool_id, values)
                if tool.type is ToolType.SEARCH and values.keys() & {"json_pointer", "search_config"}:
                    await states.request(connection, tool.table_id)
        return await self.get(tool_id)

    async def delete(self, tool_id: int) -> None:
        """Delete a tool. What only it had cut is forgotten in the background."""
        async with self._store.write() as connection:
            tool = await rows.delete(connection, tool_id)
            if tool is None:
                raise not_found("tool")
            if tool.type is ToolType.SEARCH:
                await states.request(connection, tool.table_id)

    async def _insert(self, connection: AsyncConnection, project_id: int, spec: NewSearchTool) -> Tool:
        table = await table_rows.get(connection, spec.table_id)
        if table is None or table.project_id != project_id:
            raise not_found("table")
        search = spec.kind is ToolType.SEARCH
        values = {
            "project_id": project_id,
            "table_id": table.id,
            "type": spec.kind.value,
            "name": spec.name,
            "description": spec.description or cards.description(spec.kind, table.name, spec.json_pointer),
            "json_pointer": spec.json_pointer,
            "metadata": {**spec.metadata, **(_configured() if search else {})},
            "search_config": (spec.search_config or SearchConfig()).checked(self._settings) if search else None,
        }
        tool = await rows.create(connection, values)
        if search:
            await states.request(connection, table.id)
        return tool

    def _changes(self, tool: Tool, table: Table, change: ToolChange) -> dict[str, Any]:
        values: dict[str, Any] = change.model_dump(exclude_none=True, include={"name", "description", "json_pointer"})
        index = {key: value for key, value in tool.metadata.items() if key == "search_index"}
        if change.metadata is not None:
            values["metadata"] = {**change.metadata, **index}
        if change.search_config is not None:
            if tool.type is not ToolType.SEARCH:
                raise invalid("search_config", "only a search tool has one")
            values["search_config"] = change.search_config.checked(self._settings)
        if tool.type is ToolType.SEARCH and values.keys() & {"json_pointer", "search_config"}:
            values["metadata"] = {**values.get("metadata", tool.metadata), **_configured()}
        if "json_pointer" in values and tool.description == cards.description(tool.type, table.name, tool.json_pointer):
            values.setdefault("description", cards.description(tool.type, table.name, values["json_pointer"]))
        return values

    # ── the index of a search tool ──

    async def search_index(self, tool_id: int) -> dict[str, Any]:
        """How far the index of a search tool is."""
        tool = await self._search_tool(tool_id)
        index: dict[str, Any] = tool.metadata["search_index"]
        return index

    async def rebuild_chunks(self, tool_id: int) -> None:
        """Have what a search tool sees looked through and given to the engine anew. Searches go on meanwhile."""
        tool = await self._search_tool(tool_id)
        await self._index_status.require_room(tool.project_id)
        await self._index_status.request_comparison(table_namespace(tool.project_id, tool.table_id))
        after: int | None = 0
        while after is not None:
            async with self._store.write() as connection:
                await states.request(connection, tool.table_id)
                after = await rows.doubt_seen(connection, *self._sight(tool), after, CHUNKS_AT_ONCE)

    async def delete_chunks(self, tool_id: int) -> None:
        """Delete the chunks that a search tool sees. They come back with the next change, or with a rebuild."""
        tool = await self._search_tool(tool_id)
        more = True
        while more:
            async with self._store.write() as connection:
                more = await rows.delete_seen(connection, *self._sight(tool), CHUNKS_AT_ONCE)

    async def _search_tool(self, tool_id: int) -> Tool:
        tool = await self.get(tool_id)
        if tool.type is not ToolType.SEARCH:
            raise not_found("search tool")
        return tool

    async def _require_room_for(self, tool: Tool) -> None:
        """A new tool for whose texts there was no room is taken back."""
        async with self._store.read() as connection:
            state = await states.of_table(connection, tool.table_id)
        code, _, message = ((state and state.last_error) or "").partition(": ")
        if code == "SEARCH_CAPACITY_EXCEEDED":
            await self.delete(tool.id)
            raise FindspotError(code, f"{message} The tool was not made.")

    async def _outcome(self, tool: Tool, last: int, language: str) -> Made:
        sight = self._sight(tool)
        async with self._store.read() as connection:
            nodes, _, _, new = await rows.count_seen(connection, *sight, last)
            listed = await rows.nodes_seen(connection, *sight, NODES_LISTED)
        status = tool.metadata["search_index"]["status"]
        notice = None
        if not nodes and status == "ready":
            notice = messages.nothing_to_index(sight.threshold, language)
        elif nodes > len(listed):
            notice = messages.more_nodes(len(listed), nodes, language)
        return Made(tool, status, new, listed, notice)

    async def _with_index(self, connection: AsyncConnection, tool: Tool) -> Tool:
        """A search tool with the state of its index, which is derived and so never out of date."""
        if tool.type is not ToolType.SEARCH:
            return tool
        state = await states.of_table(connection, tool.table_id)
        nodes, found, indexed, _ = await rows.count_seen(connection, *self._sight(tool))
        configured = tool.metadata.get("search_index", {}).get("configured_at", _moment(tool.created_at))
        indexed_at = state.indexed_at if state else None
        if indexed_at is not None and indexed_at < datetime.fromisoformat(configured):
            indexed_at = None  # that was before this tool asked for it
        index = {
            "status": await connection.run_sync(_status, tool, state),
            "configured_at": configured,
            "indexed_at": _moment(indexed_at) if indexed_at else None,
            "nodes_count": nodes,
            "chunks_count": found,
            "indexed_chunks_count": indexed,
            "skipped_nodes": _skipped(state, tool.json_pointer),
            "last_error": state.last_error if state else None,
        }
        updated_at = max(tool.updated_at, state.updated_at) if state else tool.updated_at
        return replace(tool, metadata={**tool.metadata, "search_index": index}, updated_at=updated_at)

    def _sight(self, tool: Tool) -> _Sight:
        config = SearchConfig(**(tool.search_config or {}))
        return _Sight(tool.table_id, tool.json_pointer, config.cut(self._settings), config.threshold)

    def describe(self, tool: Tool) -> ToolCard:
        """The tool as an agent sees it."""
        return cards.card(tool, self._settings)


def _configured() -> dict[str, Any]:
    return {"search_index": {"configured_at": _moment(datetime.now(UTC))}}


def _moment(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")


def _status(connection: sa.Connection, tool: Tool, state: SourceState | None) -> str:
    if state is None:
        return "pending"
    if state.status == "ready" and rebuilding(connection, table_namespace(tool.project_id, tool.table_id)):
        return "indexing"
    return state.status


def _skipped(state: SourceState | None, scope: str) -> list[dict[str, str]]:
    every = (state.skipped if state else None) or []
    return [each for each in every if pointers.holds(scope, each["json_pointer"])]
