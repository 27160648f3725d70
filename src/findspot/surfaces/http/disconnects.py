"""Ends the work for a client that has hung up: nobody reads its answer."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Receive


async def until_disconnect(receive: Receive, serve: Callable[[Receive], Awaitable[None]], *, has_body: bool) -> None:
    """Serve a request. Cancel it if the client disconnects after its body has arrived."""
    watch = _Watch(receive)
    if not has_body:
        watch.start()
    try:
        await serve(watch.receive)
    except asyncio.CancelledError:
        if not watch.has_cancelled:
            raise
        watch.task.uncancel()
    finally:
        watch.stop()


class _Watch:
    """Waits for the client to disconnect, then cancels the task that created it."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._watching: asyncio.Task[Message] | None = None
        task = asyncio.current_task()
        assert task is not None
        self.task = task
        self.has_cancelled = False

    async def receive(self) -> Message:
        """Return the next message of the request. After the body this is the disconnect."""
        if self._watching is not None:
            return await asyncio.shield(self._watching)
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self.start()
        return message

    def start(self) -> None:
        self._watching = asyncio.create_task(self._disconnect())
        self._watching.add_done_callback(self._cancel)

    def stop(self) -> None:
        if self._watching is not None:
            self._watching.remove_done_callback(self._cancel)
            self._watching.cancel()

    async def _disconnect(self) -> Message:
        while (message := await self._receive())["type"] != "http.disconnect":
            pass
        return message

    def _cancel(self, watching: "asyncio.Task[Message]") -> None:
        if not watching.cancelled() and watching.exception() is None:
            self.has_cancelled = True
            self.task.cancel()
