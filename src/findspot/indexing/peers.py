"""Connects the index worker with the API processes of the same server, if they are processes of their own.

A write in an API process wakes the worker. Progress of the worker wakes the requests that wait for it. What searches
find is passed on to the worker, which evicts the vectors that are found least. Nothing here is needed for a correct
index: rows in the store say what has to be done, and a message that is lost only delays it.
"""

import asyncio
from array import array
from collections.abc import Callable

from findspot.indexing.status import IndexStatus
from findspot.runtime.peers import Peers
from findspot.store.database import Store

PASS_ON_S = 1.0  # between two messages about hits
_MOST_HITS = 1000  # in one message


class IndexPeers:
    """The messages that one process sends and receives."""

    def __init__(self, peers: Peers, store: Store, status: IndexStatus) -> None:
        self._peers = peers
        self._store = store
        self._status = status
        self._endings: list[Callable[[], object]] = []
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to listen and, in an API process, to tell the worker."""
        if self._peers.is_worker:
            self._endings.append(self._peers.bell.listen(lambda _: self._store.written.set()))
            self._endings.append(self._peers.hits.listen(lambda ids: self._status.note_hits(array("q", ids))))
            self._status.on_announced = self._ring_api_processes
            return
        self._endings.append(self._peers.bell.listen(self._announce))
        self._status.passes_hits_on = True
        self._tasks = [asyncio.create_task(self._wake_worker()), asyncio.create_task(self._pass_hits_on())]

    async def close(self) -> None:
        for end in self._endings:
            end()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ring_api_processes(self) -> None:
        for bell in self._peers.others:
            bell.send()

    def _announce(self, _: bytes) -> None:
        self._tasks = [each for each in self._tasks if not each.done()]
        self._tasks.append(asyncio.create_task(self._status.announce()))

    async def _wake_worker(self) -> None:
        while True:
            await self._store.written.wait()
            self._store.written.clear()
            self._peers.worker.send()  # if it is dropped, others wait to be read, and each wakes the worker

    async def _pass_hits_on(self) -> None:
        while True:
            await asyncio.sleep(PASS_ON_S)
            hits = self._status.take_hits()
            for start in range(0, len(hits), _MOST_HITS):
                self._peers.hits.send(array("q", hits[start : start + _MOST_HITS]).tobytes())
