"""Requests without a valid key and with odd headers: refused or answered, and never a fault of the server."""

import contextlib
import json
import random
import socket
from collections.abc import Callable

from tests.servers import Server

_WAIT_S = 120
_CASES = 400
_METHODS = ("GET", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS")
_NAMES = (
    "Host", "Authorization", "X-API-Key", "Cookie", "Origin", "Accept", "Accept-Language", "If-Match", "Content-Type",
    "Content-Length", "Transfer-Encoding", "Mcp-Protocol-Version", "Mcp-Method", "X-Request-ID", "Range", "Expect",
    "Upgrade", "X-Forwarded-For", "X-Forwarded-Proto",
)  # fmt: skip
_VALUES = (
    b"", b"[", b"http://[", b"http://[::1]:x", b"\xff\xfe", "中文".encode(), b"a" * 15_000, b"Bearer ", b"Bearer \xff",
    b"Basic eDp5", b"=;;==;", b'findspot-%PORT="a', b"findspot-%PORT=\xff", b"findspot-%PORT=x", b"localhost:99999999",
    b"localhost:-1", b"::::", b"a@b@c", b"*;q=x,zh;q=,;;", b'W/"x"', b'"', b"9" * 30, b"-1", b"0x10", b"1e3",
    b"chunked, chunked", b"gzip", b"text/event-stream;q=x", b"application/json; charset=\xff", b"multipart/form-data",
    b"100-continue", b"websocket", b"null", b"\t", b"%00",
)  # fmt: skip
_OPEN = ("/", "/?token=%ff", "/?token=%00", "/healthz", "/readyz", "/openapi.json", "/nowhere", "/%ff")
_KEYED = (
    "/metrics",
    "/api/v1/projects",
    "/api/v1/sign-out",
    "/mcp/1",
    "/mcp/1",
    "/mcp/%ff",
    "/api/v1/tools",
    "/api/v1/mcp",
)


def test_no_header_makes_the_server_fail_or_lets_a_stranger_in(start_server: Callable[..., Server]) -> None:
    server = start_server()
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    chance, statuses = random.Random(20), set()
    for _ in range(_CASES):
        path = chance.choice(_OPEN + _KEYED)
        headers = [(chance.choice(_NAMES), chance.choice(_VALUES)) for _ in range(chance.randint(1, 4))]
        if chance.random() < 0.7:
            headers.insert(0, ("Host", f"localhost:{port}".encode()))
        lines = b"".join(name.encode() + b": " + value + b"\r\n" for name, value in headers)
        request = f"{chance.choice(_METHODS)} {path} HTTP/1.1\r\n".encode() + lines.replace(b"%PORT", port.encode())
        status = _status(host, int(port), request + b"Connection: close\r\n\r\n0\r\n\r\n")
        assert status < 500, request
        assert path in _OPEN or status >= 400, request
        statuses.add(status)
    assert {200, 400, 401, 404, 405, 421} <= statuses
    assert server.stop() == 0
    events = [json.loads(line)["event"] for line in server.output if line.startswith("{")]
    assert "unexpected_error" not in events
    assert "Traceback" not in "".join(server.output)


def test_a_malformed_origin_is_refused_at_an_endpoint_before_its_key_is_looked_at(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    for origin, status in ((b"http://[", 403), (b"\xff", 403), (server.url.encode(), 401)):
        head = b"POST /mcp/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\nOrigin: "
        sent = head.replace(b"localhost", f"{host}:{port}".encode()) + origin + b"\r\n\r\n"
        assert _status(host, int(port), sent) == status


def _status(host: str, port: int, request: bytes) -> int:
    """Send a request and return the status of the last answer: an interim one may precede it."""
    received = b""
    with (
        contextlib.suppress(ConnectionError),
        socket.create_connection((host, port), timeout=_WAIT_S) as connection,
    ):
        connection.sendall(request)
        while part := connection.recv(65536):
            received += part
    _, _, rest = received.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").partition(b"HTTP/1.1 ")
    return int(rest[:3]) if rest else 400  # closed without an answer
