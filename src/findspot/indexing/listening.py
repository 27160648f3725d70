"""Wakes the index worker when a process or program changes PostgreSQL, be it with plain SQL."""

import asyncio
import contextlib
import logging

from findspot.errors import FindspotError
from findspot.models import Backoff
from findspot.store import notifications
from findspot.store.database import Store

log = logging.getLogger(__name__)

RECONNECT = Backoff(first_s=0.5, longest_s=30.0, jitter=0.2)


class ChangeListener:
    """Listens on a connection of its own, and connects again with backoff when that is lost.

    While `is_listening` is False, changes of other processes are found only by polling. `was_lost` is set when the
    connection is lost and, because the database may restart again meanwhile, when there is one again. The worker
    clears it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._failures = 0
        self.is_listening = False
        self.was_lost = False
        self._hurry = asyncio.Event()

    def reconnect(self) -> None:
        """Connect now instead of after the delay, because the database answers again."""
        self._hurry.set()

    async def run(self) -> None:
        """Set `store.written` after each change, until cancelled."""
        while True:
            try:
                await self._listen()
            except FindspotError as error:
                log.warning("changes of other processes are polled for: %s", error.message)
            except Exception:
                log.exception("changes of other processes are polled for")
            finally:
                self.was_lost = self.was_lost or self.is_listening
                self.is_listening = False
            self._failures += 1
            self._store.written.set()  # the worker may be in a long sleep, and has to poll from now on
            self._hurry.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RECONNECT.delay_s(self._failures)):
                    await self._hurry.wait()

    async def _listen(self) -> None:
        async with contextlib.aclosing(notifications.listen(self._store)) as changes:
            async for _ in changes:  # the first one stands for all that was missed before
                self.was_lost = self.was_lost or self._failures > 0
                self.is_listening, self._failures = True, 0
                self._store.written.set()
