"""LiteLLM in a process of its own, and the way to it.

Importing LiteLLM takes seconds and 170 MB, and one answer of a hundred vectors keeps Python's lock for a good part of a
second. In a process of its own none of that is felt by others. It starts when first needed and ends with this one,
because its standard input closes.

A message is its length in four bytes, then msgpack. Questions carry a number, and answers may overtake one another.
"""

import contextlib
import itertools
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from http import HTTPStatus
from typing import Any, BinaryIO

import msgspec

_LENGTH = struct.Struct("!I")
_AT_ONCE = 16  # more than ask at a time, so that no query waits for a thread behind slow texts
_GRACE_S = 3.0  # LiteLLM keeps the time itself; this is for a service that drips
_START_S = 60.0
_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # no download of prices
    "LITELLM_MODE": "PRODUCTION",  # no .env of whatever folder we are in
    "DEFAULT_MAX_RETRIES": "0",  # we wait and try again ourselves
    "HF_HUB_OFFLINE": "1",
}


class Question(msgspec.Struct, array_like=True):
    number: int
    arguments: dict[str, Any]


class Answer(msgspec.Struct, array_like=True):
    """Vectors as bytes of float32, each with the index the service gave it; or what went wrong."""

    number: int
    vectors: list[tuple[int, bytes]] = []
    problem: str | None = None
    status: int | None = None
    retry_after: float | None = None


class Problem(Exception):
    """The service did not give vectors. Without a status, there was no answer at all. What is said of it is ours: the
    service's own words may repeat what it was sent."""

    def __init__(self, message: str, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class LitellmProcess:
    """Asks LiteLLM. Any number of threads may."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._running: _Running | None = None

    def ask(self, arguments: dict[str, Any], timeout_s: float) -> list[tuple[int, bytes]]:
        """The answer of `litellm.embedding`, or Problem."""
        number = next(self._numbers)
        running, fresh = self._ready()
        waiting = running.send(Question(number, {**arguments, "timeout": timeout_s}))
        try:
            answer = waiting.result(timeout_s + _GRACE_S + (_START_S if fresh else 0))
        except Late:
            self.close()  # what drips would hold a thread of it for good
            raise Problem("The embedding service does not answer in time.") from None
        if answer.problem is not None:
            raise Problem(answer.problem, answer.status, answer.retry_after)
        return answer.vectors

    def _ready(self) -> "tuple[_Running, bool]":
        with self._lock:
            if self._running is not None and not self._running.ended:
                return self._running, False
            if self._running is not None:
                self._running.stop()
            self._running = _Running()
            return self._running, True

    def close(self) -> None:
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.stop()


class _Running:
    """The process and those who wait for its answers."""

    def __init__(self) -> None:
        command = [
            sys.executable,
            "-P",
            "-c",
            "from findspot.embedding.litellm_process import be_process; be_process()",
        ]
        environment = {**os.environ, **_ENVIRONMENT}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self._waiting: dict[int, Future[Answer]] = {}
        self._lock = threading.Lock()
        self.ended = False
        self._reader = threading.Thread(target=self._receive, name="litellm-answers", daemon=True)
        self._reader.start()

    def send(self, question: Question) -> "Future[Answer]":
        waiting: Future[Answer] = Future()
        message = msgspec.msgpack.encode(question)  # before anyone waits: what cannot be encoded gets no answer
        with self._lock:
            if not self.ended:
                self._waiting[question.number] = waiting
                with contextlib.suppress(BrokenPipeError):  # the reader will see the end and tell everyone
                    _write(self._process.stdin, message)
                return waiting
        waiting.set_result(_ended(question.number))
        return waiting

    def _receive(self) -> None:
        with contextlib.suppress(EOFError, ValueError):
            while True:
                answer = msgspec.msgpack.decode(_read(self._process.stdout), type=Answer)
                waiting = self._waiting.pop(answer.number, None)
                if waiting is not None:
                    waiting.set_result(answer)
        with self._lock:
            self.ended = True
            for number, waiting in self._waiting.items():
                waiting.set_result(_ended(number))
            self._waiting.clear()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def _ended(number: int) -> Answer:
    return Answer(number, problem="The process that talks to the embedding service has ended.")


def _write(pipe: BinaryIO | Any, message: bytes) -> None:
    pipe.write(_LENGTH.pack(len(message)) + message)
    pipe.flush()


def _read(pipe: BinaryIO | Any) -> bytes:
    return _exactly(pipe, _LENGTH.unpack(_exactly(pipe, _LENGTH.size))[0])


def _exactly(pipe: BinaryIO | Any, length: int) -> bytes:
    data: bytes = pipe.read(length)
    if len(data) < length:
        raise EOFError("the pipe was closed")
    return data


# ── inside the process ──


def be_process() -> None:
    """Answer questions until standard input closes. LiteLLM prints advice for programmers: it goes nowhere."""
    import signal

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    lock = threading.Lock()
    threads = ThreadPoolExecutor(_AT_ONCE)
    with contextlib.suppress(EOFError):
        while True:
            question = msgspec.msgpack.decode(_read(questions), type=Question)
            threads.submit(_answer, litellm.embedding, question, answers, lock)
    os._exit(0)  # no one waits for what is still under way


def _answer(embed: Callable[..., Any], question: Question, answers: BinaryIO, lock: threading.Lock) -> None:
    import numpy as np

    try:
        found = embed(**question.arguments)
    except Exception as error:  # noqa: BLE001 - whatever it is, the one who asked is told
        answer = Answer(question.number, [], _told(error), getattr(error, "status_code", None), _retry_after(error))
    else:
        try:
            vectors = [(int(each["index"]), np.asarray(each["embedding"], np.float32).tobytes()) for each in found.data]
            answer = Answer(question.number, vectors)
        except (TypeError, ValueError, KeyError, AttributeError):
            answer = Answer(question.number, [], "The answer holds no vectors.")
    with lock:
        _write(answers, msgspec.msgpack.encode(answer))


def _told(error: Exception) -> str:
    """What went wrong, by its kind. LiteLLM gives a status also to what never was an answer."""
    kinds = {type(each).__name__ for each in _causes(error)}
    if "HTTPStatusError" in kinds:
        return f"The embedding service answered {_named(getattr(error, 'status_code', 0))}."
    if kinds & {"ConnectError", "ConnectionError", "ConnectionRefusedError", "gaierror"}:
        return "The embedding service cannot be reached."
    if kinds & {"Timeout", "TimeoutError", "APITimeoutError"}:
        return "The embedding service does not answer in time."
    return f"The embedding service gave no answer that can be used ({type(error).__name__})."


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _named(status: int) -> str:
    with contextlib.suppress(ValueError):
        return f"{status} {HTTPStatus(status).phrase}"
    return str(status)


def _retry_after(error: Exception) -> float | None:
    """The seconds a service asks us to wait, if it gives a number."""
    for headers in (
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
    ):
        said = headers.get("retry-after") if headers else None
        if said:
            with contextlib.suppress(ValueError):
                return float(said)
    return None
