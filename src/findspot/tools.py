"""Tools: make, describe, and call by type. What an agent may do with the value at a scope of a table."""

from typing import Any

from findspot.models import Caller, Tool, ToolCard
from findspot.toolspec import NewSearchTool, ToolChange


class Tools:
    """The tools of every project."""

    async def create(self, project_id: int, spec: NewSearchTool) -> Tool:
        raise NotImplementedError

    async def get(self, tool_id: int) -> Tool:
        raise NotImplementedError

    async def every(self, project_id: int) -> list[Tool]:
        raise NotImplementedError

    async def change(self, tool_id: int, change: ToolChange) -> Tool:
        raise NotImplementedError

    async def delete(self, tool_id: int) -> None:
        raise NotImplementedError

    def describe(self, tool: Tool) -> ToolCard:
        """The tool as an agent sees it."""
        raise NotImplementedError

    async def call(
        self, tool: Tool, arguments: dict[str, Any], caller: Caller, language: str = "en"
    ) -> dict[str, Any]:
        """The structured content of a call's answer. What goes wrong is a FindspotError."""
        raise NotImplementedError

    async def call_text(self, tool: Tool, arguments: bytes, caller: Caller, language: str = "en") -> bytes:
        """The same as JSON text, every number spelled as in the table: what belongs into a text block."""
        raise NotImplementedError
