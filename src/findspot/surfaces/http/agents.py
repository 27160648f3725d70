"""The MCP endpoint of agents at `/mcp/{endpoint_id}`. The MCP SDK is loaded with the first request."""

import asyncio
import importlib
from typing import TYPE_CHECKING

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from findspot.app import App
from findspot.surfaces.http.models.endpoints import JsonRpcError, JsonRpcRequest, JsonRpcResult
from findspot.surfaces.http.models.json import NoText
from findspot.surfaces.http.router import Media, Router

if TYPE_CHECKING:
    from findspot.surfaces.mcp.server import AgentServer

api = Router("agents")


class Agents:
    """The MCP server of this process, created with the first request."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._opening: asyncio.Task[AgentServer] | None = None

    async def server(self) -> "AgentServer":
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)  # a caller who leaves does not stop it for the others

    async def _open(self) -> "AgentServer":
        module = await asyncio.to_thread(importlib.import_module, "findspot.surfaces.mcp.server")
        server: AgentServer = module.AgentServer(self._app)
        return server

    async def end_streams(self) -> None:
        """End the streams of listeners, which would otherwise keep the server from stopping."""
        if self._opening is not None:
            await (await self.server()).end_streams()

    async def close(self) -> None:
        if self._opening is not None:
            await (await self.server()).close()


@api.post(
    "/mcp/{endpoint_id}",
    takes=JsonRpcRequest,
    answer=Media({"application/json": JsonRpcResult | JsonRpcError, "text/event-stream": str}),
    also={202: Media({"text/plain": NoText}), **dict.fromkeys((400, 404, 406, 500), JsonRpcError)},
    headers=("Accept-Language",),
)
async def call_mcp_endpoint(request: Request, endpoint_id: int) -> Response:
    """Speak MCP (streamable HTTP, stateless) with the endpoint's key."""
    agents: Agents = request.app.state.agents
    return _McpResponse(await agents.server(), request)


class _McpResponse(Response):
    """A response that the MCP server writes, from the request that passed the guard."""

    def __init__(self, server: "AgentServer", request: Request) -> None:
        super().__init__()
        self._server, self._request = server, request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._server.serve(self._request.scope, self._request.receive, send)
