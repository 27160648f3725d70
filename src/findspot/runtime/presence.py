"""This process among all that run: a row with its heart-beat, and its metrics for whichever process is scraped."""

import asyncio
import logging
import os
import secrets
import socket
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from findspot import __version__
from findspot.errors import FindspotError
from findspot.store import processes
from findspot.store.database import Store
from findspot.store.processes import Process

log = logging.getLogger(__name__)

Role: TypeAlias = Literal["api", "worker", "all"]  # answers requests, indexes, or does both

BEAT_S, EXPIRE_S = 5.0, 30.0  # a process without a heart-beat for EXPIRE_S is gone


class Presence:
    """The id and role of this process. Servers call `begin`; commands that end soon have no row."""

    def __init__(self, store: Store, role: Role) -> None:
        self.id = secrets.token_hex(6)
        self.role = role
        self.is_draining = False  # it is about to stop, and takes on no more work
        self._store = store
        self._process: Process | None = None
        self._metrics: Callable[[], bytes] = bytes
        self._written = b""  # metrics
        self._others = 0  # processes that were running at the last heart-beat
        self._is_failing = False  # which is logged once
        self._task: asyncio.Task[None] | None = None

    async def begin(self, serves: str, metrics: Callable[[], bytes]) -> None:
        """Write the first heart-beat, and the others in the background. `metrics` is called in a thread."""
        host, now = socket.gethostname(), datetime.now(UTC)
        self._process = Process(self.id, self.role, host, os.getpid(), __version__, serves, now)
        self._metrics = metrics
        await self._try_to_beat()
        self._task = asyncio.create_task(self._beat_regularly(), name="heart-beat")

    async def close(self) -> None:
        """End the heart-beats, and remove the row of this process."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        try:
            async with self._store.write(durable=False, frees=True) as connection:
                await processes.delete(connection, self.id)
        except FindspotError as error:  # it expires
            log.warning("the row of this process could not be removed: %s", error.message)

    async def _beat_regularly(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            await self._try_to_beat()

    async def _try_to_beat(self) -> None:
        try:
            await self.beat()
            self._is_failing = False
        except FindspotError as error:
            if not self._is_failing:
                log.warning("heart-beats cannot be written: %s", error.message)
            self._is_failing = True
        except Exception:
            log.exception("a heart-beat failed")

    async def beat(self) -> None:
        """Write a heart-beat. It has the metrics if they have changed, and if there is another process to show them."""
        assert self._process is not None
        text = await asyncio.to_thread(self._metrics) if self._others else b""
        packed = None if text == self._written else await asyncio.to_thread(zlib.compress, text, 1)
        async with self._store.write(durable=False) as connection:
            self._others = await processes.beat(connection, self._process, packed, EXPIRE_S)
        self._written = text

    async def metrics_of_others(self) -> list[bytes]:
        """Return the metrics of the other processes, as of their last heart-beats."""
        async with self._store.read() as connection:
            found = await processes.metrics_of_others(connection, self.id)
        return await asyncio.to_thread(lambda: [zlib.decompress(each) for each in found])
