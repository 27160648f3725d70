"""Answers that a client does not read are closed; a client that reads steadily is not."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from findspot.server import stalled_answers
from findspot.server.api_process import uvicorn_options
from findspot.settings import Settings

PIECE, PIECES = b"x" * 256 * 1024, 200
PATIENCE_S = 120


class Answering:
    """An ASGI app with one long answer. Notes whether it came to its end."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            length = str(len(PIECE) * PIECES).encode()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
            for number in range(PIECES):
                await send({"type": "http.response.body", "body": PIECE, "more_body": number < PIECES - 1})
        finally:
            self.ended.set()


@contextlib.asynccontextmanager
async def serving(app: Answering) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Serve the app and yield a connection that has sent a request."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", **uvicorn_options(Settings())))
    serving = asyncio.create_task(server.serve([listener]))
    reader, writer = await asyncio.open_connection(*listener.getsockname()[:2], limit=64 * 1024)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    try:
        yield reader, writer
    finally:
        writer.close()
        server.should_exit = True
        await serving


async def read_slowly(reader: asyncio.StreamReader) -> None:
    while True:
        await reader.readexactly(1024)
        await asyncio.sleep(0.001)


async def test_an_answer_that_is_not_read_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalled_answers, "STALL_S", 0.1)
    app = Answering()
    async with asyncio.timeout(PATIENCE_S), serving(app) as (reader, _):
        await app.ended.wait()  # without reading a byte
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(len(PIECE) * PIECES)


async def test_an_answer_that_is_read_arrives_whole() -> None:
    app = Answering()
    async with asyncio.timeout(PATIENCE_S), serving(app) as (reader, _):
        await reader.readuntil(b"\r\n\r\n")
        assert len(await reader.readexactly(len(PIECE) * PIECES)) == len(PIECE) * PIECES


async def test_an_answer_that_is_read_too_slowly_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalled_answers, "STALL_S", 0.1)
    monkeypatch.setattr(stalled_answers, "SLOWEST_RATE", 1 << 40)  # whoever makes the server wait is too slow
    app = Answering()
    async with asyncio.timeout(PATIENCE_S), serving(app) as (reader, _):
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await read_slowly(reader)
