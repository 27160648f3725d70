"""JSON-RPC messages on standard input and output, one on each line."""

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

_READ_SIZE = 1024 * 1024
_writing = asyncio.Lock()


@dataclass(frozen=True, slots=True)
class Message:
    """A request, or a notification if it has no id, and the line that it came in."""

    id: Any
    method: str
    params: dict[str, Any]
    line: bytes


def parse(line: bytes) -> Message | None:
    """Return the message of a line; None if it is not a request or notification."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("method"), str):
        return None
    params = value.get("params")
    id = value.get("id")
    return Message(
        id if isinstance(id, int | str) else None, value["method"], params if isinstance(params, dict) else {}, line
    )


async def messages_of_stdin() -> AsyncIterator[Message | None]:
    """Yield the messages of standard input until it ends; None for a line that is not one.

    A thread reads. It does not keep the process alive, so an interrupt ends the bridge while it waits for input.
    """
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def read(source: BinaryIO) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            for line in _lines(source):
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, None)

    source = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)  # a lock of the buffer would outlive the loop
    threading.Thread(target=read, args=(source,), daemon=True, name="stdin").start()
    while (line := await lines.get()) is not None:
        yield parse(line)


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file that are not empty."""
    parts: list[bytes] = []
    while piece := source.read(_READ_SIZE):
        *ended, rest = piece.split(b"\n")
        for end in ended:
            if line := b"".join([*parts, end]).strip():
                yield line
            parts = []
        parts.append(rest)
    if line := b"".join(parts).strip():
        yield line


async def write_to_stdout(message: bytes) -> None:
    """Write a message as one line. Line breaks between JSON tokens become blanks; strings contain none."""
    async with _writing:
        await asyncio.to_thread(_write, message.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
