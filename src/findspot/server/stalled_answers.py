"""Closes connections whose client does not read its answer, or too slowly: an answer in flight takes memory."""

import asyncio
import socket
import struct
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

STALL_S = 30.0  # that a client may leave an answer unread
SLOWEST_RATE = 64 * 1024  # bytes per second
_RESET = struct.pack("ii", 1, 0)  # linger for 0 seconds


class StallTimeoutProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with a time limit on unread answers.

    A client may let an answer wait for `STALL_S` in all. It gets a second of that back with every `SLOWEST_RATE` bytes
    that it takes, so a client that keeps up with this rate is never closed.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._patience_s = STALL_S
        self._paused_at = 0.0
        self._waiting = 0  # bytes
        self._timer: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        """Called when the client has not taken the last part of its answer yet."""
        super().pause_writing()
        self._paused_at, self._waiting = self.loop.time(), self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(max(0.0, self._patience_s), self._give_up)

    def _give_up(self) -> None:
        """Reset the connection: otherwise the kernel would go on to keep what it has not sent."""
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_timer()
        gained_s = self._waiting / SLOWEST_RATE - (self.loop.time() - self._paused_at)
        self._patience_s = min(STALL_S, self._patience_s + gained_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        super().connection_lost(exc)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
