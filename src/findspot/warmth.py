"""Which chunks were shown of late? What has not been is the first to lose its vector where there is no room for all."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

REMEMBERED = 200_000  # chunks; a restart forgets them


class Warmth:
    """The chunks that were hits."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._hits: OrderedDict[int, None] = OrderedDict()

    def touch(self, ids: Iterable[int]) -> None:
        for id in ids:
            self._hits[id] = None
            self._hits.move_to_end(id)
        while len(self._hits) > self._most:
            self._hits.popitem(last=False)

    def hits(self) -> list[int]:
        """All that are remembered, the one that was a hit longest ago first."""
        return list(self._hits)


def coldest(ids: "npt.NDArray[np.int64]", hits: Sequence[int], count: int) -> "npt.NDArray[np.int64]":
    """Those of these chunks that were never a hit, the oldest first; then those that were one longest ago."""
    import numpy as np

    warm = np.array(hits, np.int64)
    never = np.sort(ids[~np.isin(ids, warm)])
    return np.concatenate([never, warm[np.isin(warm, ids)]])[:count]
