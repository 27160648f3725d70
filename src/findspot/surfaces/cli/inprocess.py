"""An HTTP transport that calls the API in this process and streams its responses.

httpx2's own ASGI transport collects the whole response first: too much for a backup.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import httpx2
from starlette.types import ASGIApp

_BUFFERED = 4  # response messages that may wait for their reader

_Message = MutableMapping[str, Any]


class InProcess(httpx2.AsyncBaseTransport):
    """Calls an ASGI application directly."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call = _Call(self._app, request)
        start = await call.next()
        if start is None:
            raise httpx2.RemoteProtocolError("the application sent no response")
        return httpx2.Response(start["status"], headers=start.get("headers", []), stream=call)


class _Call(httpx2.AsyncByteStream):
    """One request and the stream of its response. An exception in the application is raised to the reader."""

    def __init__(self, app: ASGIApp, request: httpx2.Request) -> None:
        self._request_body = aiter(request.stream)  # type: ignore[arg-type]
        self._request_read = False
        self._messages: asyncio.Queue[_Message | None] = asyncio.Queue(_BUFFERED)
        self._task = asyncio.create_task(self._run(app, _scope(request)))

    async def _run(self, app: ASGIApp, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._receive, self._messages.put)
        finally:
            await self._messages.put(None)

    async def _receive(self) -> _Message:
        if self._request_read:  # the client never disconnects: closing cancels the task
            await asyncio.Event().wait()
        body = await anext(self._request_body, None)
        self._request_read = body is None
        return {"type": "http.request", "body": body or b"", "more_body": body is not None}

    async def next(self) -> _Message | None:
        message = await self._messages.get()
        if message is None:
            await self._task
        return message

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self.next()) is not None:
            if message.get("body"):
                yield message["body"]

    async def aclose(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task


def _scope(request: httpx2.Request) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},  # a client that goes away cancels the task
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
