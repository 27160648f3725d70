"""Child processes that answer calls of functions (`remote_calls`).

They start with little more than msgspec imported, and end with this process, because their connection closes.
"""

import contextlib
import itertools
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeAlias, TypeVar

from findspot.runtime import remote_calls
from findspot.runtime.call_limits import (
    ENDED_BY_TIME,
    WATCH_MS,
    CallLimits,
    limit_time,
    memory_of,
    return_free_memory,
    return_large_buffers,
)

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

Answer: TypeAlias = tuple[remote_calls.Reply, list[bytes]]  # the first part of a reply, and all parts


class ProcessEnded(Exception):
    """The process ended before it answered, or its replies are out of step with the calls."""


class TimeExceeded(ProcessEnded):
    """The call took more processor time than its limit."""


class MemoryExceeded(ProcessEnded):
    """The call took more memory than its limit."""


class Process:
    """A process that answers one call at a time. One thread at a time may use it."""

    def __init__(self, threads: int = 1, *, quiet: bool = False, limits: CallLimits | None = None) -> None:
        # -P: files in the working directory are not imported as modules
        call = f"answer_calls({threads})" if limits is None else f"answer_limited({limits.seconds})"
        program = f"from findspot.runtime.processes import answer_calls, answer_limited; {call}"
        self._limits = limits
        self._numbers = itertools.count(1)
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", program],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL if quiet else None,
            )

    def call(self, function: Callable[P, T], *arguments: P.args, **nothing: P.kwargs) -> T:
        """Return what the function returns in the process; ProcessEnded if it ends before.

        After any other error than a FindspotError, the process cannot be used again.
        """
        number = next(self._numbers)
        message = remote_calls.write_call(number, function, arguments)
        most = self._allowed_memory(message)
        self.send(message)
        self._watch_memory(most)
        reply, message = self.receive()
        if reply.number != number:
            raise ProcessEnded(f"reply {reply.number} came for call {number}")
        result: T = remote_calls.result_of(function, reply, message)
        return result

    def send(self, message: list[Any]) -> None:
        try:
            remote_calls.send(self._connection, message)
        except OSError as error:
            raise self._ended() from error

    def receive(self) -> Answer:
        try:
            message = remote_calls.receive(self._connection)
        except (OSError, EOFError) as error:
            raise self._ended() from error
        return remote_calls.read_reply(message), message

    def _allowed_memory(self, call: list[Any]) -> int | None:
        if self._limits is None:
            return None
        return memory_of(self._process.pid) + 2 * remote_calls.length(call) + self._limits.memory

    def _watch_memory(self, most: int | None) -> None:
        """Wait for a reply, and end the process if it takes more memory than allowed."""
        if most is None:
            return
        reply = select.poll()
        reply.register(self._connection, select.POLLIN)
        while not reply.poll(WATCH_MS):
            if memory_of(self._process.pid) > most:
                raise MemoryExceeded

    def _ended(self) -> ProcessEnded:
        """Return why the connection broke. A process that has ended keeps its exit code, even if it is killed now."""
        self._process.kill()
        return TimeExceeded() if self._process.wait() == ENDED_BY_TIME else ProcessEnded()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        """End the process at once. A thread that waits for it gets ProcessEnded."""
        self._process.kill()

    def stop(self) -> None:
        """Close the connection and wait until the process has ended."""
        self._connection.close()
        self._process.wait()


class SharedProcess:
    """A process that answers several calls at a time. Any number of threads may use it.

    It starts with the first call, and again with the first call after it ended. Calls wait until `prepare` has run in
    it; what that takes does not count against their own time.
    """

    def __init__(self, threads: int, prepare: Callable[[], None], prepare_timeout_s: float) -> None:
        self._threads = threads
        self._prepare = prepare
        self._prepare_timeout_s = prepare_timeout_s
        self._lock = threading.Lock()
        self._running: _Running | None = None

    def call(self, timeout_s: float, function: Callable[P, T], *arguments: P.args, **nothing: P.kwargs) -> T:
        """Return what the function returns in the process. TimeoutError if it takes longer; ProcessEnded if it ends.

        A timeout ends the process: a call that never returns would occupy one of its threads for good.
        """
        running = self._ready()
        try:
            prepared = running.prepared.result(self._prepare_timeout_s)
            remote_calls.result_of(self._prepare, *prepared)
            reply, message = running.ask(function, arguments).result(timeout_s)
        except TimeoutError:
            self._stop(running)
            raise
        result: T = remote_calls.result_of(function, reply, message)
        return result

    def close(self) -> None:
        """End the process. Every call that waits for it fails with ProcessEnded."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.stop()

    def _stop(self, running: "_Running") -> None:
        """End a process, unless another one has taken its place: that one works for others."""
        with self._lock:
            if self._running is not running:
                return
            self._running = None
        running.stop()

    def _ready(self) -> "_Running":
        with self._lock:
            if self._running is not None and self._running.has_ended:
                self._running.stop()
                self._running = None
            if self._running is None:
                self._running = _Running(Process(self._threads, quiet=True), self._prepare)
            return self._running


class _Running:
    """A process and the calls that wait for its replies. Replies come in any order; a number tells them apart."""

    def __init__(self, process: Process, prepare: Callable[[], None]) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[Answer]] = {}
        self._lock = threading.Lock()
        self.has_ended = False
        self._reader = threading.Thread(target=self._receive, name="replies", daemon=True)
        self._reader.start()
        self.prepared = self.ask(prepare, ())

    def ask(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> "Future[Answer]":
        number, waiting = next(self._numbers), Future[Answer]()
        message = remote_calls.write_call(number, function, arguments)
        with self._lock:
            if self.has_ended:
                raise ProcessEnded
            self._waiting[number] = waiting
            with contextlib.suppress(ProcessEnded):  # the reader notices it too, and fails all that wait
                self._process.send(message)
        return waiting

    def _receive(self) -> None:
        try:
            while True:
                reply, message = self._process.receive()
                with self._lock:
                    self._waiting.pop(reply.number).set_result((reply, message))
        except ProcessEnded:
            pass
        except Exception:
            log.exception("a reply cannot be read; its process is ended")
        finally:
            self._process.kill()  # before the lock: a thread that holds it may be sending to the process
            with self._lock:
                self.has_ended = True
                for waiting in self._waiting.values():
                    waiting.set_exception(ProcessEnded())
                self._waiting.clear()

    def stop(self) -> None:
        self._process.kill()
        self._reader.join()
        self._process.stop()


# ── inside the process ──


def answer_calls(threads: int) -> None:
    """Answer calls until the connection closes, several at a time."""
    connection = _connection()
    with contextlib.suppress(EOFError, OSError):
        _answer_in_threads(connection, threads)
    os._exit(0)  # without waiting for calls that are still running


def answer_limited(seconds: float) -> None:
    """Answer calls one at a time, each within so many seconds of processor time.

    Ends when the connection closes, or after a call that leaves much memory in use.
    """
    connection = _connection()
    return_large_buffers()
    with contextlib.suppress(EOFError, OSError):
        while return_free_memory():
            message = remote_calls.receive(connection)
            limit_time(seconds)
            reply = remote_calls.answer(message)
            limit_time(0)
            message.clear()
            remote_calls.send(connection, reply)
            del reply
    os._exit(0)


def _connection() -> socket.socket:
    """Return the connection to the parent.

    A signal to the whole group, such as Ctrl-C, is ignored: the parent handles it and closes the connection.
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    return socket.socket(fileno=0)


def _answer_in_threads(connection: socket.socket, threads: int) -> None:
    turn = threading.Lock()

    def answer(message: list[bytes]) -> None:
        reply = remote_calls.answer(message)
        with turn, contextlib.suppress(OSError):
            remote_calls.send(connection, reply)

    pool = ThreadPoolExecutor(threads)
    while True:
        pool.submit(answer, remote_calls.receive(connection))
