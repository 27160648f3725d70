"""Do store and engine hold the same chunks? Compares them and repairs the differences."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from findspot.engines.protocol import Damaged, Engine
from findspot.indexing.feeding import Feeding
from findspot.indexing.leases import Leases
from findspot.models import NamespaceKey
from findspot.runtime.threads import ThreadPool
from findspot.store import chunks as chunk_rows
from findspot.store import index_states
from findspot.store import projects as project_rows
from findspot.store import tables as table_rows
from findspot.store.database import Store

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

log = logging.getLogger(__name__)

MARKED_AT_ONCE = 5000  # chunks in one transaction, so that no writer waits long


class Reconciliation:
    """Makes the engine hold the chunks that the store says it holds. The engine only knows what it has."""

    def __init__(self, store: Store, leases: Leases, engine: Engine, feeding: Feeding, threads: ThreadPool) -> None:
        self._store = store
        self._leases = leases
        self._engine = engine
        self._feeding = feeding
        self._threads = threads

    async def run(self, key: NamespaceKey) -> bool:
        """Reconcile a namespace; return False if its table or project no longer exists, and it was dropped.

        Raises Damaged if the engine has lost everything.
        """
        if not await has_source(self._store, key):
            await self._threads.run(partial(self._engine.drop, key.namespace, fence=self._leases.fence(key)))
            return False
        if self._engine.files is not None:  # open them while the store is read: after a start, searches wait for it
            self._threads.submit(self._engine.warm, key.namespace)
        # The store is read before the engine: a chunk that is written in between does not count as missing.
        async with self._store.read() as connection:
            known = await chunk_rows.ids(connection, key.namespace)
            waiting = await chunk_rows.waiting_ids(connection, key.namespace)
        held = await self._threads.run(self._engine.ids, key.namespace)
        found = await asyncio.to_thread(differences, known, waiting, held)
        self._feeding.lost(key, found.waiting_not_held)
        if found.missing and not len(held):
            raise Damaged(f"the index is empty, and should hold {len(found.missing)} chunks")
        await self._index_again(key, found.missing)
        await self._delete(key, found.extra)
        return True

    async def _index_again(self, key: NamespaceKey, missing: Sequence[int]) -> None:
        if missing:
            log.warning("%s: %d chunks are missing in the engine, and are indexed again", key.namespace, len(missing))
        for start in range(0, len(missing), MARKED_AT_ONCE):
            some = missing[start : start + MARKED_AT_ONCE]
            async with self._leases.write(key) as connection:
                await chunk_rows.mark(connection, some, indexed=False)
                await index_states.mark_incomplete(connection, some)

    async def _delete(self, key: NamespaceKey, extra: Sequence[int]) -> None:
        if extra:
            # Read again: a chunk that was written in between is not extra.
            async with self._store.read() as connection:
                existing = await chunk_rows.existing(connection, extra)
            gone = [id for id in extra if id not in existing]
            await self._threads.run(partial(self._engine.delete, key.namespace, gone, fence=self._leases.fence(key)))


async def has_source(store: Store, key: NamespaceKey) -> bool:
    """Return whether the table or project of a namespace exists."""
    async with store.read() as connection:
        if key.table_id is not None:
            return await table_rows.get(connection, key.table_id) is not None
        return await project_rows.get(connection, key.project_id) is not None


class Differences(NamedTuple):
    """How store and engine differ."""

    missing: list[int]  # the engine should hold them, and does not
    extra: list[int]  # the engine holds them, and the store does not know them
    waiting_not_held: set[int]  # they wait for the engine, which does not even hold their keywords


def differences(known: Sequence[int], waiting: Sequence[int], held: "npt.NDArray[np.int64]") -> Differences:
    """Compare chunk ids. To be called in a thread: there may be millions."""
    import numpy as np

    ids, waits = np.array(known, np.int64), np.array(waiting, np.int64)
    wanted = np.setdiff1d(ids, waits, assume_unique=True)
    missing, extra, not_held = (
        np.setdiff1d(*each, assume_unique=True).tolist() for each in ((wanted, held), (held, ids), (waits, held))
    )
    return Differences(missing, extra, set(not_held))
