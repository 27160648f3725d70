"""Calculations too long for the event loop: small ones run at once, large ones in a helper process.

A JSON parser holds Python's lock, so a thread would not help: with 50 MB at hand every other request would wait. A
helper process does not share that lock. Helpers start when first needed, are kept for the next time, and end with this
process, because their standard input closes.
"""

import asyncio
import contextlib
import os
import queue
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

import msgspec

from findspot.agents import views
from findspot.content import drafts, intake
from findspot.errors import FindspotError
from findspot.indexing import cutting
from findspot.jsontext import operations as jsontext

OPERATIONS = {
    **jsontext.OPERATIONS,
    **drafts.OPERATIONS,
    **intake.OPERATIONS,
    **cutting.OPERATIONS,
    **views.OPERATIONS,
}

# Up to so many bytes these are done where they are called: a matter of a millisecond. Everything else goes to a helper
# whatever its size: a short patch can ask for seconds of work, and a document brings its parser along.
AT_ONCE = {**dict.fromkeys(("accept", "open_table", "read", "put"), 128 * 1024), "index_terms": 32 * 1024}
HELPERS = 2

Text: TypeAlias = bytes | bytearray
Part: TypeAlias = Text | Sequence[bytes]  # a text, whole or still in pieces

_PIECE = 1 << 20
_COUNT = struct.Struct("!I")
_LENGTH = struct.Struct("!Q")


class Offload:
    """Runs the named operations on JSON texts."""

    def __init__(self, helpers: int = HELPERS) -> None:
        self._seats = asyncio.Semaphore(helpers)
        self._idle: queue.SimpleQueue[_Helper] = queue.SimpleQueue()
        self._all: set[_Helper] = set()
        self._closed = False

    async def run(self, operation: str, *parts: Part) -> tuple[Text, ...]:
        if sum(map(_length, parts)) <= AT_ONCE.get(operation, -1):
            return OPERATIONS[operation](*(b"".join(_pieces(part)) for part in parts))
        await self._seats.acquire()
        work = asyncio.get_running_loop().run_in_executor(None, self._ask, operation, parts)
        work.add_done_callback(self._done)  # a caller that gives up leaves its helper at work
        return await asyncio.shield(work)

    def _done(self, work: "asyncio.Future[tuple[Text, ...]]") -> None:
        self._seats.release()
        if not work.cancelled():
            work.exception()  # whoever still waits gets it; if no one does, that is no one's fault

    def _ask(self, operation: str, parts: Sequence[Part]) -> tuple[Text, ...]:
        try:
            helper = self._idle.get_nowait()
        except queue.Empty:
            helper = _Helper()
            self._all.add(helper)
        try:
            answer = helper.ask(operation, parts)
        except FindspotError:
            self._keep(helper)
            raise
        except (OSError, EOFError) as error:
            self._all.discard(helper)
            helper.stop()
            raise FindspotError("INTERNAL", "A helper process ended early. Nothing was changed; try again.") from error
        self._keep(helper)
        return answer

    def _keep(self, helper: "_Helper") -> None:
        if self._closed:
            helper.stop()
        else:
            self._idle.put(helper)

    async def close(self) -> None:
        """End the helpers, also those at work: whoever waits for them is told that nothing was changed."""
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                helper = self._idle.get_nowait()
                helper.stop()
                self._all.discard(helper)
        for helper in list(self._all):
            helper.kill()


class _Helper:
    """One helper process and the pipes to it. Used by one thread at a time."""

    def __init__(self) -> None:
        # -P: what lies in the working directory is not imported
        command = [sys.executable, "-P", "-c", "from findspot.runtime.helpers import be_helper; be_helper()"]
        theirs, self._to = os.pipe()
        self._from, back = os.pipe()
        self._process = subprocess.Popen(command, stdin=theirs, stdout=back)
        os.close(theirs)
        os.close(back)

    def ask(self, operation: str, parts: Sequence[Part]) -> tuple[Text, ...]:
        _send(self._to, (operation.encode(), *parts))
        outcome, *rest = _receive(self._from)
        if outcome == b"ok":
            return tuple(rest)
        code, message, fields = msgspec.json.decode(rest[0])
        raise FindspotError(code, message, **fields)

    def kill(self) -> None:
        self._process.kill()

    def stop(self) -> None:
        os.close(self._to)
        os.close(self._from)
        self._process.wait()


def _pieces(part: Part) -> Sequence[Text]:
    return (part,) if isinstance(part, bytes | bytearray) else part


def _length(part: Part) -> int:
    return sum(map(len, _pieces(part)))


def _send(pipe: int, parts: Sequence[Part]) -> None:
    head = _COUNT.pack(len(parts)) + b"".join(_LENGTH.pack(_length(part)) for part in parts)
    for piece in chain((head,), *map(_pieces, parts)):
        view = memoryview(piece)
        while view:
            view = view[os.write(pipe, view) :]


def _receive(pipe: int) -> list[bytearray]:
    count = _COUNT.unpack(_read(pipe, _COUNT.size))[0]
    lengths = [_LENGTH.unpack(_read(pipe, _LENGTH.size))[0] for _ in range(count)]
    return [_read(pipe, length) for length in lengths]


def _read(pipe: int, length: int) -> bytearray:
    """Read exactly so many bytes. Growing step by step never holds the lock for longer than one small copy."""
    data = bytearray()
    while len(data) < length:
        piece = os.read(pipe, min(_PIECE, length - len(data)))
        if not piece:
            raise EOFError("the pipe was closed")
        data += piece
    return data


def be_helper() -> None:
    """A helper process. A signal to the whole group, such as Ctrl-C, is for the server to heed; it closes our input."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            _send(1, _answer(_receive(0)))


def _answer(question: list[bytearray]) -> tuple[bytes, ...]:
    try:
        name, *parts = map(bytes, question)
        return (b"ok", *OPERATIONS[name.decode()](*parts))
    except FindspotError as error:
        return (b"error", msgspec.json.encode((error.code, error.message, error.fields)))
    except MemoryError:
        return (b"error", msgspec.json.encode(("CONTENT_TOO_LARGE", "There is not enough memory for this.", {})))
