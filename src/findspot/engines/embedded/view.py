"""What a namespace held at one moment. It never changes, so any number of threads may read it while rows are added."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from findspot.engines.embedded import scan
from findspot.engines.embedded.codes import Coder
from findspot.engines.embedded.finder import Finder, Ids, Living
from findspot.engines.embedded.sources import Mask, Places
from findspot.engines.protocol import EVERYTHING, Stop, Vector, Within

_MASKS_KEPT = 16

_Filter: TypeAlias = tuple[str, tuple[int, int] | None, int, frozenset[int] | None]


@dataclass(frozen=True)
class View:
    coder: Coder
    parts: tuple[scan.Part, ...]
    chunk_ids: Ids  # of every row, dead ones among them
    numbers: npt.NDArray[np.int32]  # of the sources
    living: Living
    known: Mask
    places: Places
    finder: Finder
    _masks: dict[_Filter, Mask] = field(default_factory=dict)

    @cached_property
    def hits(self) -> Mask:
        """The rows that a query may find: they live, and their vector is not zero everywhere."""
        return self.living & self.known

    def ids(self) -> Ids:
        """The ids of all chunks, in ascending order."""
        return np.sort(self.chunk_ids[self.living], kind="stable")

    def mask(self, within: Within) -> Mask:
        """The rows that a query may find under a filter."""
        if within == EVERYTHING:
            return self.hits
        documents = None if within.document_ids is None else frozenset(within.document_ids)
        key = within.pointer, within.cut, within.least_length, documents
        mask = self._masks.get(key)
        if mask is None:
            mask = self.places.within(within)[self.numbers] & self.hits
            if len(self._masks) >= _MASKS_KEPT:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def nearest(
        self, query: Vector, limit: int, mask: Mask | None = None, stop: Stop = lambda: None
    ) -> tuple[Ids, Vector]:
        """The ids of the nearest chunks and their cosines, the nearest first. `mask` is what `mask` returned."""
        looked_for = self.coder.query(query)
        if looked_for is None or limit < 1:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        rows, cosines = scan.nearest(self.parts, looked_for, limit, self.hits if mask is None else mask, stop)
        return self.chunk_ids[rows], cosines

    def cosines(self, query: Vector, ids: Sequence[int]) -> dict[int, float]:
        """The cosines of these chunks, without those that are not there or have no vector."""
        looked_for = self.coder.query(query)
        rows = self.finder.find(np.unique(np.asarray(ids, np.int64)), self.chunk_ids, self.living)
        rows = rows[rows >= 0]
        rows = np.sort(rows[self.known[rows]])
        if looked_for is None:
            return {}
        rows, cosines = scan.best(self.parts, looked_for, len(rows), rows, lambda: None)
        return dict(zip(self.chunk_ids[rows].tolist(), cosines.tolist(), strict=True))
