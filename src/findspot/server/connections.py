"""Limit client connections: how many are open, how long they may be silent, and how large request heads may be.

So clients leave file descriptors and memory for the engine and the database.
"""

import asyncio
import ipaddress
import logging
import time
from collections import Counter, defaultdict
from http import HTTPStatus
from typing import Any

import msgspec

from findspot.errors import FindspotError
from findspot.server.stalled_answers import StallTimeoutProtocol

_log = logging.getLogger(__name__)

HEADER_TIMEOUT_S = 30  # from the first byte of a request to the end of its headers
MAX_LINE = 16 * 1024  # bytes of the request line, of one header, or between two pieces of a body
MAX_HEAD = 64 * 1024  # bytes of the request line and all headers, trailers included
_RETRY_AFTER_S = 1
_LOG_EVERY_S = 60.0
_NETWORK_BITS = 64  # of an IPv6 address: one client has all addresses of such a network


class OpenConnections:
    """The open connections of one server. Idle ones, which wait for a request, are kept in order of idle time."""

    def __init__(self, limit: int, per_address: int) -> None:
        self.limit = limit
        self.per_address = min(per_address, max(1, limit - limit // 4))  # the rest is left to other addresses
        self._idle: dict[LimitedProtocol, None] = {}
        self._idle_of: defaultdict[str, dict[LimitedProtocol, None]] = defaultdict(dict)
        self._counts: Counter[str] = Counter()
        self._next_log = 0.0

    def admit(self, connection: "LimitedProtocol", total: int) -> bool:
        """Count a new connection and make room for it if needed. Return False if no idle connection can be closed."""
        address = connection.address
        self._counts[address] += 1
        if self._counts[address] > self.per_address:
            self._log_limit(f"More than {self.per_address} connections from one address")
            return _close_first(self._idle_of.get(address, {}))
        if total > self.limit:
            self._log_limit(f"More than {self.limit} connections")
            return _close_first(self._idle)
        return True

    def forget(self, connection: "LimitedProtocol") -> None:
        """Stop counting a connection that was closed."""
        self.mark_busy(connection)
        self._counts[connection.address] -= 1
        if self._counts[connection.address] <= 0:
            del self._counts[connection.address]
            self._idle_of.pop(connection.address, None)

    def is_idle(self, connection: "LimitedProtocol") -> bool:
        return connection in self._idle

    def mark_idle(self, connection: "LimitedProtocol") -> None:
        self._idle[connection] = self._idle_of[connection.address][connection] = None

    def mark_busy(self, connection: "LimitedProtocol") -> None:
        self._idle.pop(connection, None)
        self._idle_of[connection.address].pop(connection, None)

    def _log_limit(self, what: str) -> None:
        now = time.monotonic()
        if now >= self._next_log:
            self._next_log = now + _LOG_EVERY_S
            _log.warning("%s: the longest idle ones are closed.", what)


def _close_first(idle: "dict[LimitedProtocol, None]") -> bool:
    """Close the connection that has been idle longest. Return False if there is none."""
    for oldest in idle:
        oldest.evict()
        return True
    return False


class LimitedProtocol(StallTimeoutProtocol):
    """uvicorn's HTTP protocol with limits on open connections, on request heads and on the time they may take.

    Above the limit a new connection replaces the one that has been idle longest. If every connection is busy with a
    request, the new one gets a retryable error.
    """

    def __init__(self, open_connections: OpenConnections, **options: Any) -> None:
        super().__init__(**options)
        self._open = open_connections
        self._header_timer: asyncio.TimerHandle | None = None
        self.address = ""
        self._head_size = 0  # complete lines of this request's head
        self._in_body = False
        self._silent_bytes = 0  # received since the parser last reported anything
        self._refusal: FindspotError | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = counted_address(self.client[0] if self.client else "")
        if not self._open.admit(self, len(self.connections)):
            transport.write(_response(_too_many_connections()))
            transport.close()
            return
        self._open.mark_idle(self)
        # uvicorn times out idle connections only after their first response.
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def evict(self) -> None:
        """Close this idle connection in favour of a new one."""
        self._open.mark_busy(self)
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Parse what arrived. A head is parsed in short slices, since the parser keeps an unfinished line in memory."""
        start = 0
        while start < len(data) and not self.transport.is_closing():
            end = len(data) if self._in_body else start + MAX_LINE
            self._parse(data[start:end] if start or end < len(data) else data)
            start = end
        if self._header_timer is None and self._open.is_idle(self):
            self._header_timer = self.loop.call_later(HEADER_TIMEOUT_S, self.timeout_keep_alive_handler)

    def on_message_begin(self) -> None:
        self._head_size, self._in_body = 0, False
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count_head(len(url), len(self.url), "The request line")

    def on_header(self, name: bytes, value: bytes) -> None:
        size = len(name) + len(value) + len(": \r\n")
        self._count_head(size, size, "A header")
        if not self._in_body:  # trailers after a body are counted and ignored
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_body, self._silent_bytes = True, 0
        self._open.mark_busy(self)
        self._cancel_header_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._silent_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body, self._silent_bytes = False, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and self.cycle.response_complete:
            self._open.mark_idle(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.forget(self)
        self._cancel_header_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer a request that cannot be parsed, and close the connection."""
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            message = "This is not a valid HTTP request."
            self.transport.write(_response(self._refusal or FindspotError("MALFORMED_REQUEST", message)))
        self.transport.close()

    def _parse(self, data: bytes) -> None:
        self._silent_bytes += len(data)
        super().data_received(data)
        if self._silent_bytes > MAX_LINE and not self.transport.is_closing():
            self._refusal = _head_too_large("A line of the request", MAX_LINE)
            self.send_400_response("")

    def _count_head(self, size: int, line: int, what: str) -> None:
        """Raise an error, which ends the parsing, if a line or the whole head is too large."""
        self._silent_bytes = 0
        self._head_size += size
        if line > MAX_LINE:
            self._refusal = _head_too_large(what, MAX_LINE)
        elif self._head_size > MAX_HEAD:
            self._refusal = _head_too_large("All headers together", MAX_HEAD)
        if self._refusal is not None:
            raise self._refusal

    def _cancel_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


def counted_address(address: str) -> str:
    """Return the address that connections are counted by: an IPv4 address, or the network of an IPv6 address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # such as a Unix socket
        return address
    if found.version == 4:
        return str(found)
    network = ipaddress.IPv6Network((int(found) >> _NETWORK_BITS << _NETWORK_BITS, _NETWORK_BITS))
    return str(found.ipv4_mapped or network)


def _head_too_large(what: str, limit: int) -> FindspotError:
    return FindspotError("HEADERS_TOO_LARGE", f"{what} may have at most {limit} bytes.", limit=limit)


def _too_many_connections() -> FindspotError:
    message = "The server has as many open connections as it can serve, and all are busy."
    return FindspotError("SERVER_BUSY", message, retryAfterMs=_RETRY_AFTER_S * 1000)


def _response(error: FindspotError) -> bytes:
    """Return a whole HTTP response, for a request that never reaches the app."""
    body, status = msgspec.json.encode(error.body()), HTTPStatus(error.kind.status)
    retry = f"Retry-After: {_RETRY_AFTER_S}\r\n" if error.kind.retryable else ""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{retry}Connection: close\r\n\r\n"
    )
    return head.encode() + body
