"""Do store and engine hold the same chunks? Where that is unsure they are compared, and what differs is put right."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from findspot.engines.protocol import Damaged, Engine
from findspot.indexing.feeding import Filling
from findspot.models import NamespaceKey
from findspot.store import chunks as rows
from findspot.store import index_states as states
from findspot.store import projects as project_rows
from findspot.store import tables as table_rows
from findspot.store.database import Store

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

log = logging.getLogger(__name__)

MARKED_AT_ONCE = 5000  # chunks in one transaction: whoever writes waits for no more


class Agreeing:
    """Compares. An engine knows what it has, and never what it should have."""

    def __init__(
        self, store: Store, engine: Engine, filling: Filling, in_thread: Callable[..., Awaitable[Any]]
    ) -> None:
        self._store = store
        self._engine = engine
        self._filling = filling
        self._in_thread = in_thread

    async def is_there(self, place: NamespaceKey) -> bool:
        """Whether the store has what a namespace is of."""
        async with self._store.read() as connection:
            if place.table_id is not None:
                return await table_rows.get(connection, place.table_id) is not None
            return await project_rows.get(connection, place.project_id) is not None

    async def agree(self, place: NamespaceKey) -> bool:
        """Let the engine hold just what the store says it holds; whether that is a namespace at all. Raises Damaged if
        the engine has lost everything."""
        if not await self.is_there(place):
            await self._in_thread(self._engine.drop, place.namespace)
            return False
        async with self._store.read() as connection:  # before the engine is asked: what is written now is not missing
            known = await rows.ids(connection, place.namespace)
            waiting = await rows.waiting_ids(connection, place.namespace)
        held = await self._in_thread(self._engine.ids, place.namespace)
        found = await asyncio.to_thread(differences, known, waiting, held)
        self._filling.lost(found.unheld)
        if found.missing and not len(held):
            raise Damaged(f"{place.namespace} holds nothing, and should hold {len(found.missing)} chunks")
        await self._index_again(place, found.missing)
        await self._forget(place, found.extra)
        return True

    async def _index_again(self, place: NamespaceKey, missing: Sequence[int]) -> None:
        if missing:
            log.warning("%s lacks %d chunks, which are indexed again", place.namespace, len(missing))
        for start in range(0, len(missing), MARKED_AT_ONCE):
            some = missing[start : start + MARKED_AT_ONCE]
            async with self._store.write(durable=False) as connection:
                await rows.mark(connection, some, indexed=False)
                await states.resume(connection, some)

    async def _forget(self, place: NamespaceKey, extra: Sequence[int]) -> None:
        if extra:
            async with self._store.read() as connection:  # after: what was written meanwhile is not too much
                there = await rows.existing(connection, extra)
            await self._in_thread(self._engine.delete, place.namespace, [each for each in extra if each not in there])


class Differences(NamedTuple):
    """What the engine should hold and does not, what it holds and the store does not know, and what waits for it
    without being there by its words."""

    missing: list[int]
    extra: list[int]
    unheld: set[int]


def differences(known: Sequence[int], waiting: Sequence[int], held: "npt.NDArray[np.int64]") -> Differences:
    """Of millions this takes a while: to be called in a thread."""
    import numpy as np

    ids, waits = np.array(known, np.int64), np.array(waiting, np.int64)
    wanted = np.setdiff1d(ids, waits, assume_unique=True)
    missing, extra, unheld = (
        np.setdiff1d(*each, assume_unique=True).tolist() for each in ((wanted, held), (held, ids), (waits, held))
    )
    return Differences(missing, extra, set(unheld))
