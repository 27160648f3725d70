"""Answers that are read while they come: an export of gigabytes, an import that tells how far it is."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx2

from findspot.surfaces.cli.connect import Api
from findspot.surfaces.cli.outcome import Failure

if TYPE_CHECKING:
    from starlette.types import Message

_AT_ONCE = 16  # parts of an answer that wait to be read


@contextlib.asynccontextmanager
async def streamed(api: Api, method: str, path: str, **options: Any) -> AsyncIterator[httpx2.Response]:
    """Call a route and give its answer before all of it is there; what is no success raises a Failure."""
    client = api._client
    door = client._transport
    try:
        async with contextlib.AsyncExitStack() as closing:
            if isinstance(door, httpx2.ASGITransport):  # which would collect the whole answer first
                client = await closing.enter_async_context(_in_this_process(client, door))
            answer = await closing.enter_async_context(client.stream(method, path, **options))
            if not answer.is_success:
                await answer.aread()
                raise api._refusal(answer)
            yield answer
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        message = f"The server at {client.base_url} broke off: {reason}."
        raise Failure(message, "Is it running? 'findspot doctor' looks for what is wrong.", 7) from None


def _in_this_process(client: httpx2.AsyncClient, door: httpx2.ASGITransport) -> httpx2.AsyncClient:
    transport = _Streaming(door.app)
    return httpx2.AsyncClient(base_url=client.base_url, headers=client.headers, transport=transport, timeout=None)


class _Streaming(httpx2.AsyncBaseTransport):
    """The API in this process, answering part by part."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        parts: asyncio.Queue[Message | None] = asyncio.Queue(_AT_ONCE)
        task = asyncio.create_task(self._call(request, parts))
        head = await parts.get()
        if head is None:
            await task  # raises what went wrong
            raise httpx2.RemoteProtocolError("no answer")
        return httpx2.Response(head["status"], headers=head["headers"], stream=_Parts(parts, task))

    async def _call(self, request: httpx2.Request, parts: "asyncio.Queue[Message | None]") -> None:
        sent = False

        async def receive() -> "Message":
            nonlocal sent
            if sent:
                await asyncio.Event().wait()  # the reader is there until it cancels this task
            sent = True
            return {"type": "http.request", "body": await request.aread(), "more_body": False}

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.split(b"?")[0],
            "query_string": request.url.query,
            "server": (request.url.host, request.url.port),
            "client": ("127.0.0.1", 0),
            "root_path": "",
        }
        try:
            await self._app(scope, receive, parts.put)
        except Exception:
            await parts.put(None)
            raise
        await parts.put(None)


class _Parts(httpx2.AsyncByteStream):
    def __init__(self, parts: "asyncio.Queue[Message | None]", task: "asyncio.Task[None]") -> None:
        self._parts = parts
        self._task = task

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self._parts.get()) is not None:
            if message.get("body"):
                yield message["body"]
        await self._task  # raises what broke it off

    async def aclose(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
