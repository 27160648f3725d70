"""Limit and time out client connections, so that they leave file descriptors for the engine and the database."""

import asyncio
import logging
import time
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from findspot.errors import FindspotError

_log = logging.getLogger(__name__)

HEADER_TIMEOUT_S = 30  # from the first byte of a request to the end of its headers
_RETRY_AFTER_S = 1
_LOG_EVERY_S = 60.0


class OpenConnections:
    """The open connections of one server. Idle ones, which wait for a request, are kept in order of idle time."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._idle: dict[LimitedProtocol, None] = {}
        self._next_log = 0.0

    def is_idle(self, connection: "LimitedProtocol") -> bool:
        return connection in self._idle

    def mark_idle(self, connection: "LimitedProtocol") -> None:
        self._idle[connection] = None

    def mark_busy(self, connection: "LimitedProtocol") -> None:
        self._idle.pop(connection, None)

    def evict_idle(self) -> bool:
        """Close the connection that has been idle longest. Return False if none is idle."""
        self._log_limit()
        oldest = next(iter(self._idle), None)
        if oldest is None:
            return False
        self.mark_busy(oldest)
        oldest.transport.close()
        return True

    def _log_limit(self) -> None:
        now = time.monotonic()
        if now >= self._next_log:
            self._next_log = now + _LOG_EVERY_S
            _log.warning("More than %d connections: the longest idle ones are closed.", self.limit)


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with a limit on open connections and a time limit on request headers.

    Above the limit a new connection replaces the one that has been idle longest. If every connection is busy with a
    request, the new one gets a retryable error.
    """

    def __init__(self, open_connections: OpenConnections, **options: Any) -> None:
        super().__init__(**options)
        self._open = open_connections
        self._header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._open.limit and not self._open.evict_idle():
            transport.write(_refusal())
            transport.close()
            return
        self._open.mark_idle(self)
        # uvicorn times out idle connections only after their first response.
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._header_timer is None and self._open.is_idle(self):
            self._header_timer = self.loop.call_later(HEADER_TIMEOUT_S, self.timeout_keep_alive_handler)

    def on_headers_complete(self) -> None:
        self._open.mark_busy(self)
        self._cancel_header_timer()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing() and self.cycle.response_complete:
            self._open.mark_idle(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.mark_busy(self)
        self._cancel_header_timer()
        super().connection_lost(exc)

    def _cancel_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


def _refusal() -> bytes:
    """Return a whole HTTP response: the connection is refused before its request is read."""
    message = "The server has as many open connections as it can serve, and all are busy."
    error = FindspotError("SERVER_BUSY", message, retryAfterMs=_RETRY_AFTER_S * 1000)
    body = msgspec.json.encode(error.body())
    head = (
        f"HTTP/1.1 {error.kind.status} Service Unavailable\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nRetry-After: {_RETRY_AFTER_S}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
