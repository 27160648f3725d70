"""Work for a client that has hung up ends; changes are finished."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from starlette.types import Message, Receive, Send

from findspot.surfaces.http.disconnects import until_disconnect

BODY: list[Message] = [
    {"type": "http.request", "body": b"1", "more_body": True},
    {"type": "http.request", "body": b"2", "more_body": False},
]


class Client:
    """Sends messages, and hangs up when told to."""

    def __init__(self, *messages: Message) -> None:
        self._messages = list(messages)
        self.gone = asyncio.Event()

    async def receive(self) -> Message:
        if self._messages:
            return self._messages.pop(0)
        await self.gone.wait()
        return {"type": "http.disconnect"}


async def nowhere(message: Message) -> None:
    """Send an answer to nobody."""


def reading(seen: list[bytes], then: Callable[[], Awaitable[object]]) -> Callable[[Receive, Send], Awaitable[None]]:
    async def serve(receive: Receive, send: Send) -> None:
        more = True
        while more:
            message = await receive()
            seen.append(message["body"])
            more = message["more_body"]
        await then()

    return serve


async def test_a_request_ends_when_its_client_hangs_up_after_the_body() -> None:
    client, seen, began = Client(*BODY), list[bytes](), asyncio.Event()

    async def work() -> None:
        began.set()
        await asyncio.Event().wait()

    serving = asyncio.create_task(until_disconnect(client.receive, nowhere, reading(seen, work), has_body=True))
    await began.wait()
    client.gone.set()
    async with asyncio.timeout(60):
        await serving  # it ends without an error
    assert seen == [b"1", b"2"]


async def test_a_request_without_a_body_is_watched_from_its_start() -> None:
    client = Client({"type": "http.request", "body": b"", "more_body": False})

    async def serve(receive: Receive, send: Send) -> None:
        client.gone.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(60):
        await until_disconnect(client.receive, nowhere, serve, has_body=False)


async def test_a_request_that_is_answered_is_not_disturbed() -> None:
    client, seen = Client(*BODY), list[bytes]()
    await until_disconnect(client.receive, nowhere, reading(seen, lambda: asyncio.sleep(0)), has_body=True)
    client.gone.set()
    await asyncio.sleep(0)
    assert seen == [b"1", b"2"]


async def test_a_request_that_is_cancelled_by_the_server_stays_cancelled() -> None:
    client, began = Client(*BODY), asyncio.Event()

    async def work() -> None:
        began.set()
        await asyncio.Event().wait()

    serving = asyncio.create_task(until_disconnect(client.receive, nowhere, reading([], work), has_body=True))
    await began.wait()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving


async def test_an_error_of_the_request_is_passed_on() -> None:
    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await until_disconnect(Client(*BODY).receive, nowhere, reading([], fail), has_body=True)


async def test_what_follows_a_complete_answer_is_finished() -> None:
    client, finished = Client(*BODY), list[bool]()

    async def serve(receive: Receive, send: Send) -> None:
        await receive()
        await receive()
        await send({"type": "http.response.body", "body": b"all"})
        client.gone.set()  # a server reports this after every complete answer
        for _ in range(10):
            await asyncio.sleep(0)
        finished.append(True)

    await until_disconnect(client.receive, nowhere, serve, has_body=True)
    assert finished == [True]
