"""Finds the row of a chunk id with sorted arrays, because a dictionary of millions of ids takes too much memory."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MAX_UNSORTED = 4096  # rows that every search sorts again, which takes a fraction of a millisecond

Ids = npt.NDArray[np.int64]
Living = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RowFinder:
    """An index of the rows that existed when it was made. Later rows are sorted at every search."""

    ids: Ids  # in ascending order
    rows: npt.NDArray[np.int64]
    end: int  # the first later row

    @classmethod
    def of(cls, ids: Ids, living: Living, start: int = 0) -> "RowFinder":
        """Index the living rows from `start` on. No two of them have the same id."""
        rows = np.flatnonzero(living[start:]) + start
        order = np.argsort(ids[rows], kind="stable")  # fast if the ids are already in ascending order
        rows = rows[order]
        return cls(ids[rows], rows, len(ids))

    def is_outdated(self, length: int) -> bool:
        return length - self.end > MAX_UNSORTED

    def find(self, wanted: Ids, ids: Ids, living: Living) -> npt.NDArray[np.int64]:
        """Return the living row of each wanted id, or -1. `ids` and `living` describe all current rows."""
        found = self._find_indexed(wanted, living)
        if self.end < len(ids):
            later = RowFinder.of(ids, living, self.end)._find_indexed(wanted, living)
            found = np.maximum(found, later)
        return found

    def _find_indexed(self, wanted: Ids, living: Living) -> npt.NDArray[np.int64]:
        if not len(self.ids):
            return np.full(len(wanted), -1, np.int64)
        positions = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        rows = self.rows[positions]
        return np.where((self.ids[positions] == wanted) & living[rows], rows, -1)
