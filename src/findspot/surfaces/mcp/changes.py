"""List-changed notifications: tells the listeners of an endpoint when its tools change, and ends revoked streams.

What listeners may see is read from the store twice a second and compared with what they saw before. So a change, or the
end of a key, reaches them whichever process made it: this server, a command, another server on the same database.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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


class Subscription(NamedTuple):
    """An endpoint, and the hash of the key or session that opened it."""

    endpoint_id: int
    credential: str


ReadTools = Callable[[Collection[Subscription]], Awaitable[Mapping[Subscription, Hashable]]]


@dataclass
class _Listeners:
    """The listeners of one subscription, and the tools they saw at the last comparison (None: none any more)."""

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
    """Compares the tools of every subscription that has listeners, and notifies them."""

    def __init__(self, read_tools: ReadTools) -> None:
        self._read_tools = read_tools
        self._listeners: dict[Subscription, _Listeners] = {}
        self._task: asyncio.Task[None] | None = None

    async def listen(
        self, subscription: Subscription, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one listener until it leaves, its key or endpoint is gone, or the server closes."""
        shown = (await self._read_tools([subscription]))[subscription]
        listeners = self._listeners.setdefault(subscription, _Listeners(shown))
        listeners.count += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._compare_all())
        try:
            return await listeners.handler(ctx, lists_only(params))
        finally:
            listeners.count -= 1
            if not listeners.count and self._listeners.get(subscription) is listeners:
                del self._listeners[subscription]

    async def _compare_all(self) -> None:
        while self._listeners:
            try:
                found = await self._read_tools(list(self._listeners))
                for subscription, shown in found.items():
                    if (listeners := self._listeners.get(subscription)) is not None:
                        await self._notify(listeners, shown)
            except Exception:  # noqa: BLE001  listeners stay while the database is unavailable
                _log.exception("comparing_tools_failed")
            await asyncio.sleep(_INTERVAL_S)

    async def _notify(self, listeners: _Listeners, shown: Hashable) -> None:
        if shown != listeners.shown:
            listeners.shown = shown
            await listeners.bus.publish(ToolsListChanged())
            await listeners.bus.publish(ResourcesListChanged())
        if shown is None:  # the key or the endpoint is gone
            listeners.handler.close()

    async def close(self) -> None:
        """End the stream of every listener."""
        for listeners in self._listeners.values():
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
