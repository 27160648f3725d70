"""Which vectors are evicted where a project has more than it may have? Those that were hits least recently."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from findspot.engines.protocol import Damaged, Engine, LocalFiles
from findspot.indexing.states import NamespaceStates
from findspot.models import NamespaceKey
from findspot.runtime.embeddings import Embeddings
from findspot.settings import Settings
from findspot.store import index_states
from findspot.store.database import Store
from findspot.store.namespace_states import RebuildReason

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

log = logging.getLogger(__name__)

KEPT = 0.95  # of the vectors that a project may have, after an eviction


class Eviction:
    """Evicts vectors. Keyword search still finds the chunks that lose theirs."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        embeddings: Embeddings,
        settings: Settings,
        namespaces: NamespaceStates,
        recent_hits: Callable[[], Sequence[int]],
    ) -> None:
        self._store = store
        self._engine = engine
        self._embeddings = embeddings
        self._settings = settings
        self._namespaces = namespaces
        self._recent_hits = recent_hits

    async def make_room(self, project_id: int) -> None:
        """Evict vectors if a project has too many. To be called after vectors were added.

        A namespace that turns out to be damaged is rebuilt; the others are evicted from without it. Any other error is
        logged: no one's index is wrong because of it, and the next call tries again.
        """
        try:
            await self._make_room(project_id)
        except Exception:
            log.exception("evicting vectors of project %d failed", project_id)

    async def _make_room(self, project_id: int) -> None:
        files = self._engine.files
        if files is None:
            return
        _, dimension = await self._embeddings.kind()
        limit = self._settings.max_vectors // dimension
        async with self._store.read() as connection:
            if await index_states.chunks_of_project(connection, project_id) <= limit:
                return
        held = await self._held(files, project_id)
        total = sum(map(len, held.values()))
        if total <= limit:
            return
        chosen = await asyncio.to_thread(least_recent, held, self._recent_hits(), total - int(limit * KEPT))
        for namespace, ids in chosen.items():
            log.warning("%s: %d vectors are evicted, because the project has too many", namespace, len(ids))
            try:
                await asyncio.to_thread(files.evict, namespace, ids)
            except Damaged as damage:
                self._namespaces.want_rebuild(NamespaceKey.of(namespace), RebuildReason.DAMAGED, damage)

    async def _held(self, files: LocalFiles, project_id: int) -> "dict[str, npt.NDArray[np.int64]]":
        """Return the chunks with a vector, by namespace."""
        held = {}
        for namespace in await asyncio.to_thread(self._engine.namespaces, project_id):
            try:
                held[namespace] = await asyncio.to_thread(files.vector_ids, namespace)
            except Damaged as damage:
                self._namespaces.want_rebuild(NamespaceKey.of(namespace), RebuildReason.DAMAGED, damage)
        return held


def least_recent(
    held: "Mapping[str, npt.NDArray[np.int64]]", hits: Sequence[int], count: int
) -> "dict[str, list[int]]":
    """Choose `count` chunks, by namespace: first those that were never a hit, in order of their ids; then `hits`, which
    are in order from the least recent."""
    import numpy as np

    ids, recent = np.concatenate(list(held.values())), np.array(hits, np.int64)
    never, once = np.sort(ids[~np.isin(ids, recent)]), recent[np.isin(recent, ids)]
    chosen = np.concatenate([never, once])[:count]
    found = {namespace: np.intersect1d(mine, chosen).tolist() for namespace, mine in held.items()}
    return {namespace: mine for namespace, mine in found.items() if mine}
