"""List-changed: whoever listens at an endpoint is told when its tools are others than before.

What an endpoint shows is compared with what it showed a moment ago, so that a change reaches listeners whoever made it:
a route, a command, another process on the same database.
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

_LOOK_S = 0.5
_log = structlog.get_logger()

Look = Callable[[int], Awaitable[Hashable]]


@dataclass
class _Watch:
    """The listeners of one endpoint, and what it showed when it was last looked at (None: it is gone)."""

    shown: Hashable
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    listeners: int = 0

    def __post_init__(self) -> None:
        self.handler = ListenHandler(self.bus)


class ListsServer(Server[Any]):
    """A server that promises what it keeps: its lists are watched, single resources are not."""

    def get_capabilities(self, *args: Any, **options: Any) -> ServerCapabilities:
        found = super().get_capabilities(*args, **options)
        if found.resources is not None:
            found.resources.subscribe = False
        return found


class Changes:
    """Looks after every endpoint that someone listens at."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._watches: dict[int, _Watch] = {}
        self._task: asyncio.Task[None] | None = None

    async def listen(
        self, endpoint_id: int, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one listener until it leaves, the endpoint is gone or the server closes."""
        shown = await self._look(endpoint_id)
        watch = self._watches.setdefault(endpoint_id, _Watch(shown))
        watch.listeners += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._keep_looking())
        try:
            return await watch.handler(ctx, lists_only(params))
        finally:
            watch.listeners -= 1
            if not watch.listeners and self._watches.get(endpoint_id) is watch:
                del self._watches[endpoint_id]

    async def _keep_looking(self) -> None:
        while self._watches:
            for endpoint_id, watch in list(self._watches.items()):
                try:
                    await self._compare(endpoint_id, watch)
                except Exception:  # noqa: BLE001  the database may be away for a while; listeners stay
                    _log.exception("looking_at_an_endpoint_failed")
            await asyncio.sleep(_LOOK_S)

    async def _compare(self, endpoint_id: int, watch: _Watch) -> None:
        shown = await self._look(endpoint_id)
        if shown == watch.shown:
            return
        watch.shown = shown
        await watch.bus.publish(ToolsListChanged())
        await watch.bus.publish(ResourcesListChanged())
        if shown is None:  # no one can come back to it
            watch.handler.close()

    async def close(self) -> None:
        """Tell every listener that this is the end."""
        for watch in self._watches.values():
            watch.handler.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def lists_only(params: SubscriptionsListenRequestParams) -> SubscriptionsListenRequestParams:
    """Single resources are not watched, and the acknowledgement says so."""
    asked = params.notifications
    lists = SubscriptionFilter(
        tools_list_changed=asked.tools_list_changed, resources_list_changed=asked.resources_list_changed
    )
    return params.model_copy(update={"notifications": lists})
