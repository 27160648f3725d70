"""Which chunks were shown of late? Where a project has more vectors than it may have, the others lose theirs first."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from findspot.engines.protocol import Damaged, Engine, LocalFiles
from findspot.runtime.embeddings import Embeddings
from findspot.settings import Settings
from findspot.store import index_states as states
from findspot.store.database import Store

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

log = logging.getLogger(__name__)

REMEMBERED = 200_000  # chunks; a restart forgets them
LEFT = 0.95  # of the vectors that a project may have, when some are given up


class Warmth:
    """Remembers what was a hit, and gives up the vectors of what was not."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        embeddings: Embeddings,
        settings: Settings,
        heal: Callable[[str, Damaged], None],
    ) -> None:
        self._store = store
        self._engine = engine
        self._embeddings = embeddings
        self._settings = settings
        self._heal = heal
        self._hits: OrderedDict[int, None] = OrderedDict()  # the one that was a hit longest ago first

    def touch(self, ids: Iterable[int]) -> None:
        for id in ids:
            self._hits[id] = None
            self._hits.move_to_end(id)
        while len(self._hits) > REMEMBERED:
            self._hits.popitem(last=False)

    async def make_room(self, project_id: int) -> None:
        """To be called when vectors were added: if they are too many, words alone find the coldest from now on. A
        namespace that turns out to be damaged is healed, and the others make room without it."""
        files = self._engine.files
        if files is None:
            return
        _, dimension = await self._embeddings.kind()
        most = self._settings.max_vectors // dimension
        async with self._store.read() as connection:
            if await states.chunks_of_project(connection, project_id) <= most:
                return
        held = await self._held(files, project_id)
        total = sum(map(len, held.values()))
        if total <= most:
            return
        given_up = await asyncio.to_thread(coldest, held, list(self._hits), total - int(most * LEFT))
        for namespace, ids in given_up.items():
            log.warning("%s gives up %d vectors: the project has too many", namespace, len(ids))
            try:
                await asyncio.to_thread(files.evict, namespace, ids)
            except Damaged as damage:
                self._heal(namespace, damage)

    async def _held(self, files: LocalFiles, project_id: int) -> "dict[str, npt.NDArray[np.int64]]":
        held = {}
        for namespace in await asyncio.to_thread(self._engine.namespaces, project_id):
            try:
                held[namespace] = await asyncio.to_thread(files.vector_ids, namespace)
            except Damaged as damage:
                self._heal(namespace, damage)
        return held


def coldest(held: "Mapping[str, npt.NDArray[np.int64]]", hits: Sequence[int], count: int) -> "dict[str, list[int]]":
    """So many of the chunks, by namespace: those that were never a hit, the oldest first; then those that were one
    longest ago. `hits` are in that order."""
    import numpy as np

    ids, warm = np.concatenate(list(held.values())), np.array(hits, np.int64)
    never, once = np.sort(ids[~np.isin(ids, warm)]), warm[np.isin(warm, ids)]
    chosen = np.concatenate([never, once])[:count]
    found = {namespace: np.intersect1d(mine, chosen).tolist() for namespace, mine in held.items()}
    return {namespace: mine for namespace, mine in found.items() if mine}
