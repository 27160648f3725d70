"""Ends the work for a client that has hung up: nobody reads its answer."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Receive, Send


async def until_disconnect(
    receive: Receive, send: Send, serve: Callable[[Receive, Send], Awaitable[None]], *, has_body: bool
) -> None:
    """Serve a request. Cancel it if the client disconnects after its body has arrived and before the answer is sent."""
    watch = _Watch(receive)
    if not has_body:
        watch.start()

    async def send_watched(message: Message) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            watch.stop()  # once the answer is complete, the server reports a disconnect in any case
        await send(message)

    try:
        await serve(watch.receive, send_watched)
    except asyncio.CancelledError:
        if not watch.has_cancelled:
            raise
        watch.task.uncancel()
    finally:
        watch.close()


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
        """Cancel nothing from now on."""
        if self._watching is not None:
            self._watching.remove_done_callback(self._cancel)

    def close(self) -> None:
        self.stop()
        if self._watching is not None:
            self._watching.cancel()

    async def _disconnect(self) -> Message:
        while (message := await self._receive())["type"] != "http.disconnect":
            pass
        return message

    def _cancel(self, watching: "asyncio.Task[Message]") -> None:
        if not watching.cancelled() and watching.exception() is None:
            self.has_cancelled = True
            self.task.cancel()
