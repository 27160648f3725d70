"""The processes of one server on one machine: what they share, and how they wake each other.

The supervisor makes a `Team` before it forks. Each process becomes one of its members.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass

from findspot.runtime.counts import SharedCounts

WORKER = 0  # the number of the index worker's process; API processes count from 1
_MAX_MESSAGE = 64 * 1024


class Team:
    """What all processes of a server share. Made once, and inherited by every fork."""

    def __init__(self, api_processes: int) -> None:
        self.api_processes = api_processes
        self.searches = SharedCounts(api_processes + 1)  # in progress, by project
        self.callers = SharedCounts(api_processes + 1)  # requests, by caller
        self._bells = [Channel() for _ in range(api_processes + 1)]
        self._hits = Channel()

    def forget(self, number: int) -> None:
        """Drop what a process that has ended had in progress."""
        self.searches.forget(number)
        self.callers.forget(number)

    def close(self) -> None:
        """Close what the supervisor would keep open until it ends."""
        self.searches.close()
        self.callers.close()
        for channel in (*self._bells, self._hits):
            channel.close()

    def member(self, number: int) -> "Peers":
        """Return the place of this process in the team."""
        self.searches.become(number)
        self.callers.become(number)
        others = [bell for each, bell in enumerate(self._bells) if each not in (WORKER, number)]
        return Peers(
            number, self.api_processes, self.searches, self.callers, self._bells[number], self._bells[WORKER], others,
            self._hits,
        )  # fmt: skip


class Channel:
    """Short messages from any process to one. A message that does not fit is dropped."""

    def __init__(self) -> None:
        self._receiver, self._sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._receiver.setblocking(False)
        self._sender.setblocking(False)

    def close(self) -> None:
        self._receiver.close()
        self._sender.close()

    def send(self, message: bytes = b"!") -> bool:
        """Send without waiting. Return False if the receiver has many messages to read already."""
        try:
            self._sender.send(message)
        except OSError:
            return False
        return True

    def listen(self, received: Callable[[bytes], None]) -> Callable[[], object]:
        """Call a function with every message, in the running event loop. Return how to end that."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            with contextlib.suppress(BlockingIOError):
                while True:
                    received(self._receiver.recv(_MAX_MESSAGE))

        loop.add_reader(self._receiver, read)
        return lambda: loop.remove_reader(self._receiver)


@dataclass(frozen=True, slots=True)
class Peers:
    """One process among those of its server."""

    number: int
    api_processes: int
    searches: SharedCounts
    callers: SharedCounts
    bell: Channel  # rings in this process
    worker: Channel  # rings in the index worker's process
    others: list[Channel]  # ring in the other API processes
    hits: Channel  # from API processes to the index worker's: chunks that were found

    @property
    def is_worker(self) -> bool:
        return self.number == WORKER
