"""The bridge for desktop clients: what comes in on standard input goes to an endpoint over HTTP, and back."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

from findspot import __version__
from findspot.surfaces.mcp.changes import ListsServer, lists_only

_AGAIN_S = 5.0

P = TypeVar("P")
R = TypeVar("R")
Context = ServerRequestContext[Any, Any]


async def run(url: str, http: httpx2.AsyncClient) -> None:
    """Serve the client at standard input until it closes it."""
    transport = streamable_http_client(url, http_client=http, max_sse_event_size=None)
    async with Client(transport, mode=LATEST_MODERN_VERSION, cache=None) as remote:
        bridge = Bridge(remote)
        news = asyncio.create_task(bridge.follow_changes())
        try:
            async with stdio_server() as (reading, writing):
                await bridge.server.run(reading, writing, bridge.options)
        finally:
            news.cancel()
            await asyncio.gather(news, return_exceptions=True)


class Bridge:
    """A server on this side that asks the one on the other side."""

    def __init__(self, remote: Client) -> None:
        self._remote = remote
        self._bus = InMemorySubscriptionBus()
        self._listeners = ListenHandler(self._bus)
        self._session: ServerSession | None = None
        self.server = ListsServer(
            "findspot",
            version=__version__,
            title="Findspot",
            on_list_tools=_passed_on(self._list_tools),
            on_call_tool=_passed_on(self._call_tool),
            on_list_resources=_passed_on(self._list_resources),
            on_list_resource_templates=_passed_on(self._list_templates),
            on_read_resource=_passed_on(self._read_resource),
            on_subscriptions_listen=self._listen,
        )
        changes = NotificationOptions(tools_changed=True, resources_changed=True)
        self.options = self.server.create_initialization_options(changes)

    async def _list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        self._session = ctx.session  # who has seen the list wants to hear of changes
        return await self._remote.list_tools(cursor=params.cursor if params else None)

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        wanted = bool(ctx.meta and "progress_token" in ctx.meta)
        report = ctx.session.report_progress if wanted else None
        return await self._remote.call_tool(params.name, params.arguments, progress_callback=report)

    async def _list_resources(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        return await self._remote.list_resources(cursor=params.cursor if params else None)

    async def _list_templates(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return await self._remote.list_resource_templates(cursor=params.cursor if params else None)

    async def _read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await self._remote.read_resource(params.uri)

    async def _listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        return await self._listeners(ctx, lists_only(params))

    async def follow_changes(self) -> None:
        """Hand on every change of the lists. A stream that breaks is taken up again, and may have missed one."""
        while True:
            try:
                async with self._remote.listen(tools_list_changed=True, resources_list_changed=True) as changes:
                    async for event in changes:
                        await self._bus.publish(event)
                        await self._tell_older_clients(event)
            except (MCPError, SubscriptionLost, httpx2.HTTPError):
                pass  # the server is away for a while; whoever calls meanwhile is told
            await asyncio.sleep(_AGAIN_S)
            await self._bus.publish(ToolsListChanged())
            await self._tell_older_clients(ToolsListChanged())

    async def _tell_older_clients(self, event: object) -> None:
        """Before subscriptions there were, whoever was connected was told."""
        session = self._session
        if session is None or session.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return
        if isinstance(event, ToolsListChanged):
            await session.send_tool_list_changed()
        elif isinstance(event, ResourcesListChanged):
            await session.send_resource_list_changed()


def _passed_on(handle: Callable[[Context, P], Awaitable[R]]) -> Callable[[Context, P], Awaitable[R]]:
    """A handler that says so when the server does not answer."""

    async def handler(ctx: Context, params: P) -> R:
        try:
            return await handle(ctx, params)
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise MCPError(INTERNAL_ERROR, f"The Findspot server does not answer: {reason}. Is it running?") from None

    return handler
