"""Can this process do its work? Answers probes, without asking the engine more often than needed."""

import asyncio
import time
from collections.abc import Callable

import sqlalchemy as sa

from findspot.errors import FindspotError
from findspot.runtime.deployment import Deployment
from findspot.runtime.presence import Presence
from findspot.store.database import Store

PROBE_S = 3.0  # for an engine to answer
KEPT_S = 5.0  # the answer of the engine is used again
STOPPING_MS = 1000


class Readiness:
    """Checks the parts that a process needs. `ask_engine` is a call that only a working engine answers."""

    def __init__(
        self, store: Store, ask_engine: Callable[[], object], deployment: Deployment, presence: Presence
    ) -> None:
        self._store = store
        self._ask_engine = ask_engine
        self._deployment = deployment
        self._presence = presence
        self._asked_at = float("-inf")
        self._error: FindspotError | None = None  # of the engine

    async def check(self) -> None:
        """Raise an error that says what cannot be done; with `reads`, searches still work."""
        if self._presence.is_draining:
            raise FindspotError("SERVER_BUSY", "This process is about to stop.", retryAfterMs=STOPPING_MS)
        await self._deployment.require_owned()
        async with self._store.read() as connection:
            await connection.execute(sa.text("SELECT 1"))
        try:
            await self._store.require_writable()
        except FindspotError as error:
            error.fields.update(reads=True, writes=False)
            raise
        await self._require_engine()

    async def _require_engine(self) -> None:
        if time.monotonic() - self._asked_at > KEPT_S:
            self._error = await self._engine_error()
            self._asked_at = time.monotonic()
        if self._error is not None:
            raise FindspotError(self._error.code, self._error.message)

    async def _engine_error(self) -> FindspotError | None:
        try:
            async with asyncio.timeout(PROBE_S):
                await asyncio.to_thread(self._ask_engine)
        except FindspotError as error:
            return error
        except TimeoutError:
            return FindspotError("ENGINE_UNAVAILABLE", f"The search engine did not answer within {PROBE_S:g} seconds.")
        return None
