"""The MCP server of every endpoint. It translates between the protocol and the flows, and decides nothing."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from typing import Any, TypeVar

import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
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
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from findspot import __version__
from findspot.agents.cards import mcp_name
from findspot.app import App
from findspot.errors import FindspotError, not_found
from findspot.models import Tool
from findspot.surfaces.access import Access, access_of
from findspot.surfaces.mcp import answers, nodes
from findspot.surfaces.mcp.changes import Changes, ListsServer, Subscription
from findspot.surfaces.mcp.depth import DepthLimit, require_shallow
from findspot.surfaces.mcp.direct import Call, DirectCalls, in_newest_revision
from findspot.surfaces.mcp.instructions import INSTRUCTIONS
from findspot.surfaces.mcp.progress import with_progress

_log = structlog.get_logger()

P = TypeVar("P")
R = TypeVar("R")
Context = ServerRequestContext[Any, Any]


class AgentServer:
    """Answers requests to `/mcp/{endpoint_id}`, for every endpoint."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._changes = Changes(self._shown)
        server = ListsServer(
            "findspot",
            version=__version__,
            title="Findspot",
            instructions=INSTRUCTIONS,
            get_tool_input_schema=lambda name: None,  # no argument travels in a header
            on_list_tools=_hiding_faults(self._list_tools),
            on_call_tool=_hiding_faults(self._call_tool),
            on_list_resources=_hiding_faults(self._list_resources),
            on_list_resource_templates=_hiding_faults(self._list_templates),
            on_read_resource=_hiding_faults(self._read_resource),
            on_subscriptions_listen=_hiding_faults(self._listen),
        )
        server.middleware.clear()  # tracing spans that nothing collects
        self._manager = StreamableHTTPSessionManager(
            server,
            stateless=True,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard checks it
            max_request_body_size=app.settings.max_body,
        )
        self._stamp = server.server_info_stamp
        self._serve = DirectCalls(DepthLimit(self._manager.handle_request), self._call_directly)
        self._ready, self._end = asyncio.Event(), asyncio.Event()
        self._running = asyncio.create_task(self._run())

    async def _run(self) -> None:
        """Run the session manager. The SDK requires that its tasks begin and end in the same task."""
        async with self._manager.run():
            self._ready.set()
            await self._end.wait()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        await self._ready.wait()
        await self._serve(scope, receive, send)

    async def end_streams(self) -> None:
        """End the streams of listeners, which have no end of their own."""
        await self._changes.close()

    async def close(self) -> None:
        await self.end_streams()
        self._end.set()
        await self._running

    # ── tools ──

    async def _list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        _require_first_page(params)
        return ListToolsResult(tools=[answers.tool(self._app.tools.describe(each)) for each in _access(ctx).tools])

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        access = _access(ctx)
        tool = _named(access.tools, params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:200]}. Use tools/list to see the tools.")
        called = await with_progress(ctx, tool.name, self._called(access, tool, await _request(ctx).body()))
        return CallToolResult.model_validate(called)

    def _call_directly(self, scope: Scope, call: Call) -> Awaitable[dict[str, Any]] | None:
        access = access_of(scope)
        tool = _named(access.tools, call.name)
        return None if tool is None else self._answered(access, tool, call)

    async def _answered(self, access: Access, tool: Tool, call: Call) -> dict[str, Any]:
        """Return the answer of a call as the SDK would make it."""
        try:
            result = await self._called(access, tool, call.body)
        except Exception:  # noqa: BLE001
            return {"error": {"code": INTERNAL_ERROR, "message": _log_fault()}}
        return {"result": in_newest_revision(result, self._stamp)}

    async def _called(self, access: Access, tool: Tool, body: bytes) -> dict[str, Any]:
        """Call a tool with the arguments in a body. Return the result of the call, as it is sent."""
        try:
            arguments = answers.arguments(body)
            answer = await self._app.tool_calls.call_text(tool, arguments, access.caller, access.language)
            require_shallow(answer)
        except FindspotError as error:
            if error.kind.status >= 500:
                _log.error("call_failed", code=error.code, cause=repr(error.__cause__))
            return answers.refused(error)
        return answers.answered(tool, answer)

    # ── resources ──

    async def _list_resources(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        _require_first_page(params)
        found = nodes.roots(_access(ctx).tools)
        return ListResourcesResult(resources=[answers.root(node, tool) for node, tool in found.items()])

    async def _list_templates(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        _require_first_page(params)
        return ListResourceTemplatesResult(resource_templates=[answers.template()])

    async def _read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        try:
            node = nodes.address_of(params.uri)
            if not nodes.shown_by(_access(ctx).tools, node):
                raise not_found("resource")
            async with self._app.tables.reading(node.table_id, node.pointer) as (_, parts):
                return await asyncio.to_thread(answers.read, node, parts, self._app.settings.answer_tokens)
        except FindspotError as error:
            raise MCPError(INVALID_PARAMS, answers.sentence(error), {"uri": params.uri}) from None

    # ── changes ──

    async def _listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        access = _access(ctx)
        return await self._changes.listen(Subscription(access.endpoint_id, access.credential), ctx, params)

    async def _shown(self, subscriptions: Collection[Subscription]) -> dict[Subscription, Hashable]:
        """Return the tools that each subscription shows, for comparison; None if its endpoint or its key is gone."""
        endpoints = await self._app.endpoints.listed({each.endpoint_id for each in subscriptions})
        admitted = {(endpoint_id, key_hash) for endpoint_id, (key_hash, _) in endpoints.items()}
        others = {each.credential for each in subscriptions if each not in admitted}  # keys of projects, and sessions
        valid = (await self._app.keys.valid(others) | await self._app.sessions.valid(others)) if others else set()
        shown = {
            endpoint_id: tuple(repr(self._app.tools.describe(tool)) for tool in tools)
            for endpoint_id, (_, tools) in endpoints.items()
        }
        return {
            each: shown.get(each.endpoint_id) if each in admitted or each.credential in valid else None
            for each in subscriptions
        }


def _named(tools: Sequence[Tool], name: str) -> Tool | None:
    return next((tool for tool in tools if mcp_name(tool) == name), None)


def _request(ctx: Context) -> Request:
    assert isinstance(ctx.request, Request)
    return ctx.request


def _access(ctx: Context) -> Access:
    return access_of(_request(ctx).scope)


def _require_first_page(params: PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "There is no such page: the first page holds everything.")


def _hiding_faults(handle: Callable[[Context, P], Awaitable[R]]) -> Callable[[Context, P], Awaitable[R]]:
    """Return a handler that logs unexpected errors and answers them with the request's id only."""

    async def handler(ctx: Context, params: P) -> R:
        try:
            return await handle(ctx, params)
        except MCPError:
            raise
        except Exception:  # noqa: BLE001
            raise MCPError(INTERNAL_ERROR, _log_fault()) from None

    return handler


def _log_fault() -> str:
    """Log the error that is being handled. Return what an agent is told of it."""
    _log.exception("unexpected_error")
    request_id = structlog.contextvars.get_contextvars().get("request_id", "unknown")
    return f"Something went wrong (request {request_id}). Try again."
