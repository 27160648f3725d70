"""A server with its real tools, and helpers to fill it."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from findspot.agents.schemas import NewTool
from findspot.app import App
from findspot.models import Tool
from findspot.settings import Settings
from findspot.store import projects as project_rows
from findspot.surfaces.http.api import create_api
from tests.mcp.conftest import World, listening
from tests.mcp.stand_in import ControlledTools


@dataclass
class Served:
    """A running server with one project."""

    app: App
    url: str
    project_id: int
    made: list[Tool] = field(default_factory=list)

    async def table(self, name: str, data: Any) -> int:
        body = json.dumps({"name": name, "data": data}, ensure_ascii=False).encode()
        return (await self.app.tables.create(self.project_id, body)).id

    async def tool(self, name: str, type: str, **more: Any) -> Tool:
        spec = NewTool.model_validate({"project_id": self.project_id, "name": name, "type": type, **more})
        return (await self.app.tools.create(self.project_id, spec)).tool

    async def endpoint(self, *tools: Tool, lean: bool = False) -> World:
        """Return an endpoint with these tools, as the clients of the tests expect it."""
        endpoint, key = await self.app.endpoints.create(self.project_id, "e", [tool.id for tool in tools], lean=lean)
        unused = ControlledTools()
        return World(self.app, unused, self.url, endpoint.id, self.project_id, 0, key)


@contextlib.asynccontextmanager
async def open_real(folder: Path) -> AsyncIterator[Served]:
    api = create_api(Settings(data=folder))
    async with api.router.lifespan_context(api):
        app: App = api.state.app
        async with app.store.write() as connection:
            project = await project_rows.create(connection, "p")
        async with listening(api) as url:
            yield Served(app, url, project.id)
