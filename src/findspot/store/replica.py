"""A read replica of PostgreSQL, for long reads. It is used only while it has everything that was saved before them."""

import asyncio
import contextlib
import logging
import time

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from findspot.models import Backoff

_log = logging.getLogger(__name__)

SAVED = sa.text(
    "SELECT CAST(pg_current_wal_flush_lsn() AS text)"
)  # on the primary: all acknowledged writes are before it
CATCH_UP_S = 1.0  # how long a read waits for the replica
AWAY_S = 30.0  # how long a replica that fails or is too far behind is not asked again
_POLL = Backoff(first_s=0.01, longest_s=0.2)
_REACHED = sa.text("SELECT pg_last_wal_replay_lsn() >= CAST(:saved AS pg_lsn)")  # NULL if it is no replica


class Replica:
    """Gives connections to a replica as long as it can be used."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._away_until = 0.0

    @property
    def is_away(self) -> bool:
        return time.monotonic() < self._away_until

    async def connect(self, saved: str, closing: contextlib.AsyncExitStack) -> AsyncConnection | None:
        """Return a connection that sees all writes up to the position `saved`, to be closed by `closing`.

        Return None if that is not possible soon.
        """
        reason = "it is too far behind, or not a replica"
        try:
            async with contextlib.AsyncExitStack() as opened:
                connection = await opened.enter_async_context(self._engine.connect())
                if await _reaches(connection, saved):
                    await closing.enter_async_context(opened.pop_all())
                    return connection
        except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:
            reason = type(error).__name__
        _log.warning("The replica is not used for %d seconds: %s.", AWAY_S, reason)
        self._away_until = time.monotonic() + AWAY_S
        return None

    async def close(self) -> None:
        await self._engine.dispose()


async def _reaches(connection: AsyncConnection, saved: str) -> bool:
    """Wait for the replica to apply the log up to a position; return whether it does so in time."""
    began, failures = time.monotonic(), 0
    while not (reached := (await connection.execute(_REACHED, {"saved": saved})).scalar_one()):
        failures += 1
        if reached is None or time.monotonic() - began > CATCH_UP_S:
            return False
        await asyncio.sleep(_POLL.delay_s(failures))
    return True
