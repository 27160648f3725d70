"""What the tests of MCP share: an endpoint on a real port, and the SDK's own clients by every way that leads to it."""

import asyncio
import contextlib
import dataclasses
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import LATEST_MODERN_VERSION

from findspot.app import App
from findspot.models import Tool
from findspot.settings import Settings
from findspot.store import projects as project_rows
from findspot.store import tools as tool_rows
from findspot.surfaces.http.agents import Agents
from findspot.surfaces.http.api import create_api
from tests.databases import SqliteTemplate
from tests.flows import PATIENCE_S
from tests.mcp.stand_in import ControlledTools

DATA = '{"a": {"书/ 1": "红楼梦 📕"}, "b": [1.10, null], "c": "out of scope"}'.encode()

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@dataclass
class World:
    """A running server with one endpoint."""

    app: App
    tools: ControlledTools
    url: str
    endpoint_id: int
    project_id: int
    table_id: int
    key: str
    made: list[Tool] = field(default_factory=list)

    @property
    def at(self) -> str:
        return f"{self.url}/mcp/{self.endpoint_id}"

    async def bind(self, name: str, type: str = "query_data", pointer: str = "") -> Tool:
        values = {
            "project_id": self.project_id, "table_id": self.table_id, "type": type, "name": name,
            "description": f"What {name} does.", "json_pointer": pointer, "metadata": {},
        }  # fmt: skip
        async with self.app.store.write() as connection:
            tool = await tool_rows.create(connection, values)
        await self.app.endpoints.bind(self.endpoint_id, tool.id)
        self.made.append(tool)
        return tool


@contextlib.asynccontextmanager
async def listening(api: FastAPI) -> AsyncIterator[str]:
    """The API on a free port, in this process."""
    server = uvicorn.Server(uvicorn.Config(api, lifespan="off", log_config=None, access_log=False))
    listener = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(server.serve([listener]))
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    await api.state.agents.end_streams()
    server.should_exit = True
    await serving


@contextlib.asynccontextmanager
async def open_world(folder: Path, template: SqliteTemplate) -> AsyncIterator[World]:
    template.copy(folder / "findspot.db")
    api = create_api(Settings(data=folder))
    async with api.router.lifespan_context(api):
        tools = ControlledTools()
        app = api.state.app = dataclasses.replace(api.state.app, tools=tools, tool_calls=tools)
        api.state.agents = Agents(app)
        async with app.store.write() as connection:
            project = await project_rows.create(connection, "p")
        table = await app.tables.create(project.id, [b'{"name": "t", "data": %b}' % DATA])
        endpoint, key = await app.endpoints.create(project.id, "agents 代理")
        async with listening(api) as url:
            yield World(app, tools, url, endpoint.id, project.id, table.id, key)


@pytest.fixture
async def world(tmp_path: Path, sqlite_template: SqliteTemplate) -> AsyncIterator[World]:
    async with open_world(tmp_path / "data", sqlite_template) as opened:
        yield opened


@pytest.fixture
def over_http(world: World) -> Connect:
    return http_to(world)


@pytest.fixture
def over_stdio(world: World) -> Connect:
    return stdio_to(world)


def http_to(world: World) -> Connect:
    @contextlib.asynccontextmanager
    async def connect(mode: str = LATEST_MODERN_VERSION, **options: Any) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {world.key}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as http,
            Client(streamable_http_client(world.at, http_client=http), mode=mode, **options) as client,
        ):
            yield client

    return connect


def stdio_to(world: World) -> Connect:
    @contextlib.asynccontextmanager
    async def connect(mode: str = LATEST_MODERN_VERSION, **options: Any) -> AsyncIterator[Client]:
        environment = {**os.environ, "FINDSPOT_MCP_URL": world.at, "FINDSPOT_KEY": world.key}
        command = StdioServerParameters(command=sys.executable, args=["-m", "findspot", "mcp"], env=environment)
        async with Client(stdio_client(command), mode=mode, **options) as client:
            yield client

    return connect
