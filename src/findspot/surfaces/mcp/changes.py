"""List-changed notifications: tells the listeners of an endpoint when its tools change.

The current tools of an endpoint are compared with the earlier ones twice a second. So a change reaches listeners
whichever process made it: this server, a command, another server on the same database.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ToolsListChanged
from mcp_types import (
    ServerCapabilities,
    SubscriptionFilter,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

_INTERVAL_S = 0.5
_log = structlog.get_logger()

ReadTools = Callable[[int], Awaitable[Hashable]]


@dataclass
class _Listeners:
    """The listeners of one endpoint, and the tools it had at the last comparison (None: it was deleted)."""

    shown: Hashable
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    count: int = 0

    def __post_init__(self) -> None:
        self.handler = ListenHandler(self.bus)


class ListsServer(Server[Any]):
    """A server that offers notifications for lists, and none for single resources."""

    def get_capabilities(self, *args: Any, **options: Any) -> ServerCapabilities:
        found = super().get_capabilities(*args, **options)
        if found.resources is not None:
            found.resources.subscribe = False
        return found


class Changes:
    """Compares the tools of every endpoint that has listeners, and notifies them."""

    def __init__(self, read_tools: ReadTools) -> None:
        self._read_tools = read_tools
        self._endpoints: dict[int, _Listeners] = {}
        self._task: asyncio.Task[None] | None = None

    async def listen(
        self, endpoint_id: int, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one listener until it leaves, the endpoint is deleted or the server closes."""
        shown = await self._read_tools(endpoint_id)
        listeners = self._endpoints.setdefault(endpoint_id, _Listeners(shown))
        listeners.count += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._compare_all())
        try:
            return await listeners.handler(ctx, lists_only(params))
        finally:
            listeners.count -= 1
            if not listeners.count and self._endpoints.get(endpoint_id) is listeners:
                del self._endpoints[endpoint_id]

    async def _compare_all(self) -> None:
        while self._endpoints:
            for endpoint_id, listeners in list(self._endpoints.items()):
                try:
                    await self._compare(endpoint_id, listeners)
                except Exception:  # noqa: BLE001  listeners stay while the database is unavailable
                    _log.exception("comparing_tools_failed")
            await asyncio.sleep(_INTERVAL_S)

    async def _compare(self, endpoint_id: int, listeners: _Listeners) -> None:
        shown = await self._read_tools(endpoint_id)
        if shown == listeners.shown:
            return
        listeners.shown = shown
        await listeners.bus.publish(ToolsListChanged())
        await listeners.bus.publish(ResourcesListChanged())
        if shown is None:  # the endpoint was deleted
            listeners.handler.close()

    async def close(self) -> None:
        """End the stream of every listener."""
        for listeners in self._endpoints.values():
            listeners.handler.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def lists_only(params: SubscriptionsListenRequestParams) -> SubscriptionsListenRequestParams:
    """Return a subscription without single resources, which are not watched."""
    asked = params.notifications
    lists = SubscriptionFilter(
        tools_list_changed=asked.tools_list_changed, resources_list_changed=asked.resources_list_changed
    )
    return params.model_copy(update={"notifications": lists})
