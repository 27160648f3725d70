"""The bridge while its server is down: it starts, says so, and works when the server is up."""

import asyncio
import socket
from pathlib import Path

import pytest
import uvicorn
from mcp.shared.exceptions import MCPError

from findspot.settings import Settings
from findspot.store import projects as project_rows
from findspot.surfaces.http.api import create_api
from tests.flows import PATIENCE_S
from tests.mcp.conftest import World, stdio_to
from tests.mcp.stand_in import ControlledTools


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_the_bridge_starts_without_its_server_and_finds_it_later(tmp_path: Path, mode: str) -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))  # refuses connections until the server listens
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    api = create_api(Settings(data=tmp_path / "data"))
    async with api.router.lifespan_context(api):
        async with api.state.app.store.write() as connection:
            project = await project_rows.create(connection, "p")
        endpoint, key = await api.state.app.endpoints.create(project.id, "e")
        world = World(api.state.app, ControlledTools(), url, endpoint.id, project.id, 0, key)
        async with asyncio.timeout(PATIENCE_S), stdio_to(world)(mode) as client:
            with pytest.raises(MCPError) as down:
                await client.list_tools()
            assert "The Findspot server does not answer" in down.value.message
            server = uvicorn.Server(uvicorn.Config(api, lifespan="off", log_config=None, access_log=False))
            serving = asyncio.create_task(server.serve([listener]))
            try:
                while True:  # until the server listens
                    try:
                        assert (await client.list_tools()).tools == []
                        break
                    except MCPError:
                        await asyncio.sleep(0.05)
            finally:
                await api.state.agents.end_streams()
                server.should_exit = True
                await serving
