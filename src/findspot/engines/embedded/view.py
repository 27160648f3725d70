"""A read-only snapshot of the vectors. Any number of threads may read it while rows are added."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from findspot.engines.embedded import scan
from findspot.engines.embedded.codes import Coder, Query
from findspot.engines.embedded.row_finder import Ids, Living, RowFinder
from findspot.engines.embedded.sources import NO_DOCUMENT, Mask, SourceColumns
from findspot.engines.protocol import EVERYTHING, Stop, Vector, Within

_MAX_MASKS = 16

_Filter: TypeAlias = tuple[str, tuple[int, int] | None, int, frozenset[int] | None]


@dataclass(frozen=True)
class View:
    coder: Coder
    parts: tuple[scan.Part, ...]
    chunk_ids: Ids  # of all rows, including dead ones
    numbers: npt.NDArray[np.int32]  # the number of the source of each row
    living: Living
    known: Mask  # rows that have a vector
    evicted: Mask  # rows whose vector was evicted
    coded: Ids  # the rows that have a code, in the order of the codes
    sources: SourceColumns
    finder: RowFinder
    _masks: dict[_Filter, Mask] = field(default_factory=dict)

    @cached_property
    def hits(self) -> Mask:
        """The rows that a query may find: living rows with a vector."""
        return self.living & self.known

    @cached_property
    def _all_codes(self) -> Mask:
        return self.hits[self.coded]

    def ids(self) -> Ids:
        """Return the ids of all chunks, in ascending order."""
        return np.sort(self.chunk_ids[self.living], kind="stable")

    def vector_ids(self) -> Ids:
        """Return the ids of the chunks that have a vector, in ascending order."""
        return np.sort(self.chunk_ids[self.hits], kind="stable")

    def find(self, ids: Sequence[int]) -> Ids:
        """Return the rows of those of these chunks that exist."""
        rows = self.finder.find(np.asarray(ids, np.int64), self.chunk_ids, self.living)
        return rows[rows >= 0]

    def documents(self, rows: Ids) -> dict[int, int]:
        """Return the documents of the chunks in these rows, by chunk id. Chunks without a document are left out."""
        found = self.sources.document_ids[self.numbers[rows]]
        known = found != NO_DOCUMENT
        return dict(zip(self.chunk_ids[rows[known]].tolist(), found[known].tolist(), strict=True))

    def mask(self, within: Within) -> Mask:
        """Return the codes that a query with this filter may find."""
        if within == EVERYTHING:
            return self._all_codes
        documents = None if within.document_ids is None else frozenset(within.document_ids)
        key = within.pointer, within.cut, within.least_length, documents
        mask = self._masks.get(key)
        if mask is None:
            mask = (self.sources.mask(within)[self.numbers] & self.hits)[self.coded]
            if len(self._masks) >= _MAX_MASKS:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def query(self, vector: Vector) -> Query | None:
        """Return the query for `nearest` and `cosines`; None for a vector of zeros, which is near nothing."""
        return self.coder.query(vector)

    def nearest(
        self, query: Query | None, limit: int, mask: Mask | None = None, stop: Stop = lambda: None
    ) -> tuple[Ids, Vector]:
        """Return the rows of the nearest chunks and their cosines, nearest first. `mask` comes from `self.mask`."""
        if query is None or limit < 1:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        codes, cosines = scan.nearest(self.parts, query, limit, self._all_codes if mask is None else mask, stop)
        return self.coded[codes], cosines

    def cosines(self, query: Query | None, rows: Ids) -> dict[int, float]:
        """Return the cosines of the chunks in these rows by chunk id, nearest first. Chunks without a vector are left
        out."""
        if query is None:
            return {}
        codes = self._codes(np.unique(rows[self.known[rows]]))
        codes, cosines = scan.best(self.parts, query, len(codes), codes)
        return dict(zip(self.chunk_ids[self.coded[codes]].tolist(), cosines.tolist(), strict=True))

    def _codes(self, rows: Ids) -> Ids:
        """Return the positions of the codes of rows that have one, in the same order."""
        return rows if len(self.coded) == len(self.chunk_ids) else np.searchsorted(self.coded, rows)
