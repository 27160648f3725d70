"""The API in this process, as a transport that hands an answer on while it is being made.

httpx2 has one of its own, which collects the whole answer first: too much for a backup.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import httpx2
from starlette.types import ASGIApp

_AHEAD = 4  # messages an answer may be ahead of its reader

_Message = MutableMapping[str, Any]


class InProcess(httpx2.AsyncBaseTransport):
    """Calls an ASGI application directly."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call = _Call(self._app, request)
        start = await call.next()
        if start is None:
            raise httpx2.RemoteProtocolError("there was no answer")
        return httpx2.Response(start["status"], headers=start.get("headers", []), stream=call)


class _Call(httpx2.AsyncByteStream):
    """One request, and its answer as it comes. An error of the application is raised to whoever reads."""

    def __init__(self, app: ASGIApp, request: httpx2.Request) -> None:
        self._body = aiter(request.stream)  # type: ignore[arg-type]
        self._read = False
        self._sent: asyncio.Queue[_Message | None] = asyncio.Queue(_AHEAD)
        self._task = asyncio.create_task(self._run(app, _scope(request)))

    async def _run(self, app: ASGIApp, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._receive, self._sent.put)
        finally:
            await self._sent.put(None)

    async def _receive(self) -> _Message:
        if self._read:  # nothing more to come; an end is made by cancelling
            await asyncio.Event().wait()
        body = await anext(self._body, None)
        self._read = body is None
        return {"type": "http.request", "body": body or b"", "more_body": body is not None}

    async def next(self) -> _Message | None:
        message = await self._sent.get()
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
        "asgi": {"version": "3.0", "spec_version": "2.4"},  # an end is told by cancelling, not by a message
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
