"""The bridge for desktop clients: passes MCP messages between standard input and output and an endpoint over HTTP."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
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

_RECONNECT_S = 5.0

P = TypeVar("P")
R = TypeVar("R")
Context = ServerRequestContext[Any, Any]


async def run(url: str, http: httpx2.AsyncClient) -> None:
    """Serve the client on standard input until it closes the stream."""
    bridge = Bridge(Remote(url, http))
    following = asyncio.create_task(bridge.follow_changes())
    try:
        async with stdio_server() as (reading, writing):
            await bridge.server.run(reading, writing, bridge.options)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


class Remote:
    """The endpoint. Every request has its own session: one that failed would fail all that follow it."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        self._url = url
        self._http = http

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[Client]:
        """Open a session. It needs no handshake, and shares the connections of all sessions.

        If the server cannot be reached, raise the error of the connection.
        """
        transport = streamable_http_client(self._url, http_client=self._http, max_sse_event_size=None)
        try:
            async with Client(transport, mode=LATEST_MODERN_VERSION, cache=None) as client:
                yield client
        except BaseExceptionGroup as group:
            raise _cause(group) from None


def _cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error behind a failed session: a broken connection rather than what followed from it."""
    inner = [each for each in group.exceptions if not isinstance(each, BaseExceptionGroup)]
    for nested in group.exceptions:
        if isinstance(nested, BaseExceptionGroup):
            inner.append(_cause(nested))
    return min(inner, key=lambda error: not isinstance(error, httpx2.HTTPError))


class Bridge:
    """A local MCP server that passes every request on to the remote one."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._bus = InMemorySubscriptionBus()
        self._listeners = ListenHandler(self._bus)
        self._session: ServerSession | None = None
        self.server = ListsServer(
            "findspot",
            version=__version__,
            title="Findspot",
            on_list_tools=_explaining_outages(self._list_tools),
            on_call_tool=_explaining_outages(self._call_tool),
            on_list_resources=_explaining_outages(self._list_resources),
            on_list_resource_templates=_explaining_outages(self._list_templates),
            on_read_resource=_explaining_outages(self._read_resource),
            on_subscriptions_listen=self._listen,
        )
        changes = NotificationOptions(tools_changed=True, resources_changed=True)
        self.options = self.server.create_initialization_options(changes)

    async def _list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        self._session = ctx.session  # this client is notified of changes
        async with self._remote.session() as remote:
            return await remote.list_tools(cursor=params.cursor if params else None)

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        wanted = bool(ctx.meta and "progress_token" in ctx.meta)
        report = ctx.session.report_progress if wanted else None
        async with self._remote.session() as remote:
            return await remote.call_tool(params.name, params.arguments, progress_callback=report)

    async def _list_resources(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        async with self._remote.session() as remote:
            return await remote.list_resources(cursor=params.cursor if params else None)

    async def _list_templates(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        async with self._remote.session() as remote:
            return await remote.list_resource_templates(cursor=params.cursor if params else None)

    async def _read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        async with self._remote.session() as remote:
            return await remote.read_resource(params.uri)

    async def _listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        return await self._listeners(ctx, lists_only(params))

    async def follow_changes(self) -> None:
        """Pass on every change of the lists. After a broken stream, assume that a change was missed."""
        while True:
            try:
                async with (
                    self._remote.session() as remote,
                    remote.listen(tools_list_changed=True, resources_list_changed=True) as changes,
                ):
                    async for event in changes:
                        await self._bus.publish(event)
                        await self._notify_older_client(event)
            except (MCPError, SubscriptionLost, httpx2.HTTPError):
                pass  # the server is unavailable; calls in the meantime get an error that says so
            await asyncio.sleep(_RECONNECT_S)
            await self._bus.publish(ToolsListChanged())
            await self._notify_older_client(ToolsListChanged())

    async def _notify_older_client(self, event: object) -> None:
        """Notify a client whose protocol revision has no subscriptions: it gets every notification."""
        session = self._session
        if session is None or session.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return
        if isinstance(event, ToolsListChanged):
            await session.send_tool_list_changed()
        elif isinstance(event, ResourcesListChanged):
            await session.send_resource_list_changed()


def _explaining_outages(handle: Callable[[Context, P], Awaitable[R]]) -> Callable[[Context, P], Awaitable[R]]:
    """Return a handler that answers with a plain error when the server cannot be reached."""

    async def handler(ctx: Context, params: P) -> R:
        try:
            return await handle(ctx, params)
        except httpx2.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise MCPError(INTERNAL_ERROR, f"The Findspot server does not answer: {reason}. Is it running?") from None

    return handler
