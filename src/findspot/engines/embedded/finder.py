"""Which row holds the chunk with a certain id? Sorted arrays, because a dictionary of millions takes much room."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_UNSORTED = 4096  # rows that are sorted anew at every question, which takes a fraction of a millisecond

Ids = npt.NDArray[np.int64]
Living = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Finder:
    """Knows the rows that there were when it was made, and looks through those that came after."""

    ids: Ids  # in ascending order
    rows: npt.NDArray[np.int64]
    end: int  # the first row that came after

    @classmethod
    def of(cls, ids: Ids, living: Living, start: int = 0) -> "Finder":
        """Of the living rows from `start` on. No two of them have the same id."""
        rows = np.flatnonzero(living[start:]) + start
        order = np.argsort(ids[rows], kind="stable")  # quick where they came in ascending order
        rows = rows[order]
        return cls(ids[rows], rows, len(ids))

    def behind(self, length: int) -> bool:
        return length - self.end > _UNSORTED

    def find(self, wanted: Ids, ids: Ids, living: Living) -> npt.NDArray[np.int64]:
        """The living row of each wanted id, -1 where there is none. `ids` and `living` are all rows there are."""
        found = self._look(wanted, living)
        if self.end < len(ids):
            later = Finder.of(ids, living, self.end)._look(wanted, living)
            found = np.maximum(found, later)
        return found

    def _look(self, wanted: Ids, living: Living) -> npt.NDArray[np.int64]:
        if not len(self.ids):
            return np.full(len(wanted), -1, np.int64)
        places = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        rows = self.rows[places]
        return np.where((self.ids[places] == wanted) & living[rows], rows, -1)
