"""Closes connections whose client does not read its answer, or too slowly: an answer in flight takes memory."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

STALL_S = 30.0  # that a client may leave an answer unread, in addition to the time at the slowest rate
SLOWEST_RATE = 64 * 1024  # bytes per second


class StallTimeoutProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol with a time limit on unread answers.

    The time in which the client does not take what is ready to be sent adds up. It may reach `STALL_S`, and a second
    more for every `SLOWEST_RATE` bytes that the client has taken.
    """

    def __init__(self, *, stall_s: float | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._patience_s = STALL_S if stall_s is None else stall_s
        self._paused_at = 0.0
        self._waiting = 0  # bytes
        self._timer: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        """Called when the client has not taken the last part of its answer yet."""
        super().pause_writing()
        self._paused_at, self._waiting = self.loop.time(), self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(max(0.0, self._patience_s), self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_timer()
        self._patience_s += self._waiting / SLOWEST_RATE - (self.loop.time() - self._paused_at)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        super().connection_lost(exc)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
