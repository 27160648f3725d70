"""What a namespace held at one moment. It never changes, so any number of threads may read it while rows are added."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from findspot.engines.embedded import scan
from findspot.engines.embedded.codes import Coder
from findspot.engines.embedded.finder import Finder, Ids, Living
from findspot.engines.embedded.sources import NO_DOCUMENT, Mask, Places
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
    known: Mask  # rows that have a vector
    evicted: Mask  # rows that had one
    coded: Ids  # the rows that have a code, in the order of the codes
    places: Places
    finder: Finder
    _masks: dict[_Filter, Mask] = field(default_factory=dict)

    @cached_property
    def hits(self) -> Mask:
        """The rows that a query may find: they live and have a vector."""
        return self.living & self.known

    @cached_property
    def _every(self) -> Mask:
        return self.hits[self.coded]

    def ids(self) -> Ids:
        """The ids of all chunks, in ascending order."""
        return np.sort(self.chunk_ids[self.living], kind="stable")

    def vector_ids(self) -> Ids:
        """The ids of those that have a vector."""
        return np.sort(self.chunk_ids[self.hits], kind="stable")

    def documents(self, ids: Iterable[int]) -> dict[int, int]:
        """The documents that these chunks were cut from, without those that are not there or were not."""
        wanted = np.unique(np.fromiter(ids, np.int64))
        rows = self.finder.find(wanted, self.chunk_ids, self.living)
        found = self.places.document_ids[self.numbers[rows]]
        known = (rows >= 0) & (found != NO_DOCUMENT)
        return dict(zip(wanted[known].tolist(), found[known].tolist(), strict=True))

    def mask(self, within: Within) -> Mask:
        """The codes that a query may find under a filter."""
        if within == EVERYTHING:
            return self._every
        documents = None if within.document_ids is None else frozenset(within.document_ids)
        key = within.pointer, within.cut, within.least_length, documents
        mask = self._masks.get(key)
        if mask is None:
            mask = (self.places.within(within)[self.numbers] & self.hits)[self.coded]
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
        codes, cosines = scan.nearest(self.parts, looked_for, limit, self._every if mask is None else mask, stop)
        return self.chunk_ids[self.coded[codes]], cosines

    def cosines(self, query: Vector, ids: Sequence[int]) -> dict[int, float]:
        """The cosines of these chunks, without those that are not there or have no vector."""
        looked_for = self.coder.query(query)
        rows = self.finder.find(np.unique(np.asarray(ids, np.int64)), self.chunk_ids, self.living)
        rows = rows[rows >= 0]
        codes = np.searchsorted(self.coded, np.sort(rows[self.known[rows]]))
        if looked_for is None:
            return {}
        codes, cosines = scan.best(self.parts, looked_for, len(codes), codes, lambda: None)
        return dict(zip(self.chunk_ids[self.coded[codes]].tolist(), cosines.tolist(), strict=True))
