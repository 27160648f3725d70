"""A client that takes little time of its own, for one request at a time on a connection that stays open.

An answer is parsed after its time was taken. For a page of results this takes 0.2 ms of processor time, where httpx2
takes 1.4.
"""

import json
import socket
import time
from typing import Any
from urllib.parse import urlsplit

_AT_ONCE = 1 << 18  # bytes


class LightClient:
    """A connection to a server, and a key."""

    def __init__(self, url: str, key: str) -> None:
        address = urlsplit(url)
        self._socket = socket.create_connection((address.hostname or "", address.port or 80))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"Host: {address.netloc}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"

    def post(self, path: str, body: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """Return the milliseconds until all of the answer has arrived, and the answer."""
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\n{self._head}Content-Length: {len(content)}\r\n\r\n".encode()
        began = time.perf_counter()
        self._socket.sendall(head + content)
        status, text = self._received()
        taken = (time.perf_counter() - began) * 1000
        assert status == 200, text
        answer: dict[str, Any] = json.loads(text)
        return taken, answer

    def _received(self) -> tuple[int, bytes]:
        head, _, text = self._until(b"\r\n\r\n").partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        parts, missing = [text], length - len(text)
        while missing > 0:
            parts.append(self._part())
            missing -= len(parts[-1])
        return int(head[9:12]), b"".join(parts)

    def _until(self, end: bytes) -> bytes:
        received = b""
        while end not in received:
            received += self._part()
        return received

    def _part(self) -> bytes:
        part = self._socket.recv(_AT_ONCE)
        assert part, "the server closed the connection"
        return part

    def close(self) -> None:
        self._socket.close()
