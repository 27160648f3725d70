"""The door for agents: MCP at `/mcp/{endpoint_id}`. What speaks the protocol is loaded when the first one knocks."""

import asyncio
import importlib
from typing import TYPE_CHECKING

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from findspot.app import App
from findspot.runtime import messages
from findspot.surfaces.http.answers import anything
from findspot.surfaces.http.router import router

if TYPE_CHECKING:
    from findspot.surfaces.mcp.server import AgentServer

api = router("agents")


class Agents:
    """The MCP server of this process, once someone has asked for it."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._opening: asyncio.Task[AgentServer] | None = None

    async def server(self) -> "AgentServer":
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)  # one who leaves does not stop it for the others

    async def _open(self) -> "AgentServer":
        module = await asyncio.to_thread(importlib.import_module, "findspot.surfaces.mcp.server")
        server: AgentServer = module.AgentServer(self._app)
        return server

    async def say_goodbye(self) -> None:
        """The server is about to end: streams that have no end of their own get one."""
        if self._opening is not None:
            await (await self.server()).say_goodbye()

    async def close(self) -> None:
        if self._opening is not None:
            await (await self.server()).close()


@api.post("/mcp/{endpoint_id}", response_class=Response, openapi_extra=anything("application/json"))
async def converse(request: Request, endpoint_id: int) -> Response:
    """The endpoint as an MCP server: streamable HTTP, stateless. Takes the endpoint's key."""
    app: App = request.app.state.app
    request.state.endpoint_id = endpoint_id
    if not hasattr(request.state, "tools"):  # called with a key of the project
        request.state.tools = await app.endpoints.tools_of(endpoint_id)
    request.state.language = messages.language(request.headers.get("accept-language"))
    agents: Agents = request.app.state.agents
    return _Handed(await agents.server(), request)


class _Handed(Response):
    """An answer that is given by the MCP server, from the request as the guard let it pass."""

    def __init__(self, server: "AgentServer", request: Request) -> None:
        super().__init__()
        self._server, self._request = server, request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._server.serve(self._request.scope, self._request.receive, send)
