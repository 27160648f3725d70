"""Tools: create, change, delete and describe them. A tool gives agents access to the value at a scope of a table."""

from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.agents import cards, tool_index
from findspot.agents.endpoints import unique_tool_names
from findspot.agents.schemas import Documents, NewSearchTool, SearchConfig, ToolChange
from findspot.agents.shapes import Shape, look
from findspot.agents.tool_index import ToolCreation, ToolIndex
from findspot.content.tables import Tables
from findspot.errors import FindspotError, invalid, not_found, quoted
from findspot.models import Table, Tool, ToolCard, ToolType
from findspot.runtime.helpers import Helpers
from findspot.runtime.remote_calls import joined_there
from findspot.settings import Settings
from findspot.store import index_states
from findspot.store import tables as table_rows
from findspot.store import tools as rows
from findspot.store.database import Store


class Tools:
    """The tools of every project."""

    def __init__(self, store: Store, tables: Tables, helpers: Helpers, index: ToolIndex, settings: Settings) -> None:
        self._store = store
        self._tables = tables
        self._helpers = helpers
        self.index = index
        self._settings = settings

    # ── creating and changing ──

    async def create(
        self, project_id: int, spec: NewSearchTool, *, wait: bool = True, language: str = "en"
    ) -> ToolCreation:
        """Create a tool. With `wait`, return when the chunks in its scope are indexed.

        Indexing runs in the background. Chunks that are already indexed are not indexed again.
        """
        async with self._store.read() as connection:
            last = await rows.last_chunk(connection)
        tool = await self._create(project_id, spec)
        if tool.type is not ToolType.SEARCH:
            return ToolCreation(tool, "ready", 0, [], None)
        if not wait:
            return ToolCreation(await self.get(tool.id), "pending", 0, [], None)
        await self.index.wait(tool.table)
        if (error := await self.index.lack_of_room(tool)) is not None:
            await self.delete(tool.id)
            raise error
        return await self.index.outcome(await self.get(tool.id), last, language)

    async def _create(self, project_id: int, spec: NewSearchTool) -> Tool:
        if spec.kind is ToolType.SEARCH:
            await self.index.require_room(project_id)
        shape = None
        if spec.table_id is not None:
            shape = await self._shape(project_id, spec.table_id, spec.json_pointer, spec.allow_missing)
        try:
            async with self._store.write() as connection:
                return await self._insert(connection, project_id, spec, shape)
        except IntegrityError:
            raise not_found("project or table") from None

    async def _shape(self, project_id: int, table_id: int, scope: str, allow_missing: bool) -> Shape | None:
        """Return the shape of a scope; None if there is no value yet. Raise an error unless that is allowed."""
        async with self._tables.reading(table_id, "") as (table, text):
            if table.project_id != project_id:
                raise not_found("table")
            looked = await self._helpers.run_unless_small(project_id, look, joined_there(text), scope)
        if looked.absent is not None and not allow_missing:
            message = f"There is no {quoted(scope)} in table {table_id}. {looked.absent.hint}"
            advice = "If the data comes later, set allow_missing."
            raise FindspotError("INVALID_ARGUMENT", f"{message} {advice}", field="json_pointer")
        return looked.shape

    async def get(self, tool_id: int) -> Tool:
        async with self._store.read() as connection:
            tool = await rows.get(connection, tool_id)
            if tool is None:
                raise not_found("tool")
            return await self.index.with_state(connection, tool)

    async def every(self, project_id: int) -> list[Tool]:
        """Return the tools of a project in order of their ids."""
        async with self._store.read() as connection:
            return [await self.index.with_state(connection, tool) for tool in await rows.every(connection, project_id)]

    async def change(self, tool_id: int, change: ToolChange) -> Tool:
        """Change the given fields. A new name must be unique in every endpoint of the tool. A new scope is indexed."""
        shape = None
        if change.json_pointer is not None:
            now = await self.get(tool_id)
            if now.type.on_documents:
                raise invalid("json_pointer", "a tool on documents has no table; limit it with 'documents'")
            shape = await self._shape(now.project_id, now.table, change.json_pointer, change.allow_missing)
        with unique_tool_names():
            async with self._store.write() as connection:
                tool = await rows.get(connection, tool_id)
                if tool is None:
                    raise not_found("tool")
                table = await table_rows.get(connection, tool.table_id) if tool.table_id is not None else None
                values = self._changes(tool, table, change, shape)
                if values:
                    await rows.change(connection, tool_id, values)
                if tool.type is ToolType.SEARCH and values.keys() & {"json_pointer", "search_config"}:
                    await index_states.request(connection, tool.table)
        return await self.get(tool_id)

    async def delete(self, tool_id: int) -> None:
        """Delete a tool. Chunks that no other tool needs are deleted in the background."""
        async with self._store.write(frees=True) as connection:
            tool = await rows.delete(connection, tool_id)
            if tool is None:
                raise not_found("tool")
            if tool.type is ToolType.SEARCH:
                await index_states.request(connection, tool.table)

    async def _insert(
        self, connection: AsyncConnection, project_id: int, spec: NewSearchTool, shape: Shape | None
    ) -> Tool:
        table = await table_rows.get(connection, spec.table_id) if spec.table_id is not None else None
        if spec.table_id is not None and (table is None or table.project_id != project_id):
            raise not_found("table")
        search = spec.kind is ToolType.SEARCH
        config = (spec.search_config or SearchConfig()).checked(self._settings) if search else None
        if spec.kind.on_documents:
            config = {"documents": (spec.documents or Documents()).model_dump(exclude_defaults=True)}
        generated = cards.description(spec.kind, table.name if table else "", spec.json_pointer, shape)
        values = {
            "project_id": project_id,
            "table_id": spec.table_id,
            "type": spec.kind.value,
            "name": spec.name,
            "description": spec.description or generated,
            "json_pointer": spec.json_pointer,
            "metadata": {**spec.metadata, **(tool_index.configured_now() if search else {})},
            "search_config": config,
        }
        tool = await rows.create(connection, values)
        if search:
            await tool_index.request(connection, project_id, tool.table)
        return tool

    def _changes(self, tool: Tool, table: Table | None, change: ToolChange, shape: Shape | None) -> dict[str, Any]:
        values: dict[str, Any] = change.model_dump(exclude_none=True, include={"name", "description", "json_pointer"})
        index = {key: value for key, value in tool.metadata.items() if key == "search_index"}
        if change.metadata is not None:
            values["metadata"] = {**change.metadata, **index}
        if change.search_config is not None:
            if tool.type is not ToolType.SEARCH:
                raise invalid("search_config", "only a search tool has one")
            values["search_config"] = change.search_config.checked(self._settings)
        if change.documents is not None:
            if not tool.type.on_documents:
                raise invalid("documents", "only a tool on documents has them")
            values["search_config"] = {"documents": change.documents.model_dump(exclude_defaults=True)}
        if tool.type is ToolType.SEARCH and values.keys() & {"json_pointer", "search_config"}:
            values["metadata"] = {**values.get("metadata", tool.metadata), **tool_index.configured_now()}
        if "json_pointer" in values and table is not None and cards.is_generated(tool, table.name):
            generated = cards.description(tool.type, table.name, values["json_pointer"], shape)
            values.setdefault("description", generated)
        return values

    # ── the index of a search tool ──

    async def search_index(self, tool_id: int) -> dict[str, Any]:
        """Return the state of the index of a search tool."""
        tool = await self._search_tool(tool_id)
        index: dict[str, Any] = tool.metadata["search_index"]
        return index

    async def rebuild_chunks(self, tool_id: int) -> None:
        """Index the chunks in the scope of a search tool again. Searches continue meanwhile."""
        await self.index.rebuild(await self._search_tool(tool_id))

    async def delete_chunks(self, tool_id: int) -> None:
        """Delete the chunks in the scope of a search tool."""
        await self.index.delete(await self._search_tool(tool_id))

    async def _search_tool(self, tool_id: int) -> Tool:
        tool = await self.get(tool_id)
        if tool.type is not ToolType.SEARCH:
            raise not_found("search tool")
        return tool

    def describe(self, tool: Tool) -> ToolCard:
        """Return a tool as an agent sees it."""
        return cards.card(tool, self._settings)
