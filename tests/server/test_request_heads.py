"""Request heads: their size and time limits, malformed ones, and what a refused client is told."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from findspot.server import connections
from findspot.server.connections import MAX_HEAD, MAX_LINE, LimitedProtocol, OpenConnections
from tests.flows import PATIENCE_S

_ANSWER = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
_START = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


class Echo:
    """An app that reads the whole body, remembers the headers and answers `ok`."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.headers, self.body, more = scope["headers"], b"", True
        while more:
            message = await receive()
            self.body += message.get("body", b"")
            more = message.get("more_body", False)
        await send(_ANSWER)
        await send({"type": "http.response.body", "body": b"ok"})


@contextlib.asynccontextmanager
async def serving(app: Any = None, limit: int = 100, per_address: int = 100, idle_s: int = 75) -> AsyncIterator[int]:
    """A server on a free port, in this process."""
    protocol = partial(LimitedProtocol, OpenConnections(limit, per_address))
    options = {"log_config": None, "access_log": False, "lifespan": "off", "timeout_keep_alive": idle_s}
    server = uvicorn.Server(uvicorn.Config(app or Echo(), http=protocol, ws="none", **options))  # type: ignore[arg-type]
    listener = socket.create_server(("127.0.0.1", 0))
    task = asyncio.create_task(server.serve([listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def exchange(port: int, *pieces: bytes) -> bytes:
    """Send the pieces and return all that the server sends until it closes the connection, or `ok`."""
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        received = b""
        with contextlib.suppress(ConnectionError):  # the server may close before everything is sent
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
        with contextlib.suppress(ConnectionError):
            while not received.endswith(b"ok") and (part := await reader.read(65536)):
                received += part
        writer.close()
        return received


def refusal(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    return int(head.split()[1]), json.loads(body)["code"]


TOO_LARGE, MALFORMED = (431, "HEADERS_TOO_LARGE"), (400, "MALFORMED_REQUEST")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (_START + b"A: " + b"x" * (MAX_LINE - 5) + b"\r\n\r\n", None),
        (_START + b"A: " + b"x" * MAX_LINE + b"\r\n\r\n", TOO_LARGE),
        (_START + b"x" * MAX_LINE + b": 1\r\n\r\n", TOO_LARGE),
        (_START + b"A: 12345\r\n" * (MAX_HEAD // 10 - 10) + b"\r\n", None),
        (_START + b"A: 12345\r\n" * (MAX_HEAD // 10 + 10) + b"\r\n", TOO_LARGE),
        (b"GET /" + b"a" * (MAX_LINE - 5) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", None),
        (b"GET /" + b"a" * MAX_LINE + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", TOO_LARGE),
        (b"GET /?" + "灯塔".encode() * 4 + b" HTTP/1.1\r\n\r\n", MALFORMED),
        (b"\x16\x03\x01\x02\x00\x01\x00", MALFORMED),
        (b"GET / HTTP/9.9\r\n\r\n", MALFORMED),
        (b"GET http://[ HTTP/1.1\r\n\r\n", MALFORMED),
        (_START + b"Content-Length: x\r\n\r\n", MALFORMED),
        (_START + b"Content-Length: -1\r\n\r\n", MALFORMED),
        (_START + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", MALFORMED),
        (_START + b"Content-Length: 99999999999999999999999\r\n\r\n", MALFORMED),
        (_START + b"A\x00: 1\r\n\r\n", MALFORMED),
    ],
    ids=range(16),
)
async def test_a_head_over_the_limits_or_malformed_is_refused_and_the_connection_closed(
    head: bytes, expected: tuple[int, str] | None
) -> None:
    async with serving() as port:
        for pieces in ([head], [head[at : at + 1000] for at in range(0, len(head), 1000)]):
            answer = await exchange(port, *pieces)
            if expected is None:
                assert answer.endswith(b"ok")
            elif answer or expected is MALFORMED:  # a client that still sends may see only the reset
                assert refusal(answer) == expected


@pytest.mark.parametrize(
    "start",
    [
        _START + b"A: ",
        _START + b"A: 1\r\n",
        b"GET /",
        b"\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT: ",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;",
    ],
    ids=["value", "headers", "address", "before the request", "trailer", "chunk extension"],
)
async def test_an_endless_head_is_cut_off_soon(start: bytes) -> None:
    endless = {b"\r\n": b"\r\n" * 500}.get(start, b"B: 12345\r\n" * 100 if start.endswith(b"1\r\n") else b"x" * 1000)
    async with serving() as port, asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(start)
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(endless)
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()


async def test_trailers_do_not_become_headers_and_long_ones_are_refused() -> None:
    app = Echo()
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
    async with serving(app) as port:
        assert (await exchange(port, head, b"Authorization: Bearer x\r\n\r\n")).endswith(b"ok")
        assert app.body == b"hello"
        assert b"authorization" not in dict(app.headers)


async def test_large_bodies_and_pipelined_requests_pass() -> None:
    app, body = Echo(), b"y" * 1_000_000
    request = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + body
    async with serving(app) as port:
        assert (await exchange(port, request)).endswith(b"ok")
        assert app.body == body
        last = _START + b"Connection: close\r\n\r\n"
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request + _START + b"\r\n" + last)
            assert (await reader.read()).count(b"200 OK") == 3
            writer.close()


@pytest.mark.parametrize("sent", [b"", b"GET / HT", _START, _START + b"\r\n"])
async def test_a_silent_connection_is_closed_before_during_and_after_a_request(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEADER_TIMEOUT_S", 0.01)
    async with serving(idle_s=0) as port, asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        with contextlib.suppress(ConnectionError):
            await reader.read()  # until the server closes
        writer.close()


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::1", "::/64"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_an_ipv6_client_is_counted_by_its_network(address: str, counted: str) -> None:
    assert connections.counted_address(address) == counted


async def test_one_address_leaves_connections_to_others() -> None:
    async with serving(limit=8, per_address=100) as port, asyncio.timeout(PATIENCE_S):
        mine = [await asyncio.open_connection("127.0.0.1", port) for _ in range(7)]
        with contextlib.suppress(ConnectionError):
            assert await mine[0][0].read() == b""  # six of eight: the seventh replaces the first
        others = [await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0)) for _ in range(2)]
        for reader, writer in (*mine[1:], *others):
            writer.write(_START + b"\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        for _, writer in (*mine, *others):
            writer.close()
