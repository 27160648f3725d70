"""What chunks were cut from, in columns that only grow, so that a filter looks at all of them at once.

A snapshot is a part of the same columns: what is added later stands behind it.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from findspot.engines.embedded.growing import Growing
from findspot.engines.protocol import Source, Within

Mask: TypeAlias = npt.NDArray[np.bool_]
_Row: TypeAlias = tuple[int | None, str, int, int, int]  # the fields of a Source

NO_DOCUMENT = np.iinfo(np.int64).min
_LINES = msgspec.json.Decoder(_Row)
_KEPT = 100_000  # about 30 MB: sources that come again later than that are written again, which does no harm


@dataclass(frozen=True, slots=True)
class Places:
    """A snapshot: the columns of all sources that there were."""

    document_ids: npt.NDArray[np.int64]
    pointers: npt.NDArray[Any]
    cuts: npt.NDArray[np.int64]  # size and overlap
    lengths: npt.NDArray[np.int64]

    def within(self, within: Within) -> Mask:
        """Which sources a filter lets pass."""
        mask = self.lengths >= within.least_length
        if within.pointer:
            below = np.strings.startswith(self.pointers, within.pointer + "/")
            mask &= below | (self.pointers == within.pointer)
        if within.cut is not None:
            mask &= (self.cuts == within.cut).all(axis=1)
        if within.document_ids is not None:
            mask &= np.isin(self.document_ids, np.fromiter(within.document_ids, np.int64))
        return mask


class Sources:
    """All sources of a namespace, by number."""

    def __init__(self) -> None:
        self._document_ids = Growing(np.int64)
        self._pointers = Growing(np.dtypes.StringDType())
        self._cuts = Growing(np.int64, 2)
        self._lengths = Growing(np.int64)
        self._numbers: dict[Source, int] = {}

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, number: int) -> Source:
        document_id = int(self._document_ids.array[number])
        size, overlap = map(int, self._cuts.array[number])
        return Source(
            None if document_id == NO_DOCUMENT else document_id,
            str(self._pointers.array[number]),
            size,
            overlap,
            int(self._lengths.array[number]),
        )

    def places(self) -> Places:
        return Places(self._document_ids.array, self._pointers.array, self._cuts.array, self._lengths.array)

    def number(self, sources: Sequence[Source]) -> tuple[npt.NDArray[np.int32], list[Source]]:
        """The numbers of these sources, and those among them that are new and have to be added."""
        fresh: dict[Source, int] = {}
        numbers = np.empty(len(sources), np.int32)
        for place, source in enumerate(sources):
            known = self._numbers.get(source)
            numbers[place] = known if known is not None else fresh.setdefault(source, len(self) + len(fresh))
        return numbers, list(fresh)

    def add(self, sources: Sequence[Source]) -> None:
        if len(self._numbers) + len(sources) > _KEPT:
            self._numbers.clear()
        self._numbers.update(zip(sources, range(len(self), len(self) + len(sources)), strict=True))
        self._extend([astuple(each) for each in sources])

    def read(self, lines: bytes) -> None:
        """Add what `lines` wrote."""
        self._extend(_LINES.decode_lines(lines))

    def _extend(self, rows: Sequence[_Row]) -> None:
        documents, pointers, sizes, overlaps, lengths = zip(*rows, strict=True) if rows else ((),) * 5
        self._document_ids.extend([NO_DOCUMENT if each is None else each for each in documents])
        self._pointers.extend(pointers)
        self._cuts.extend(np.array([sizes, overlaps], np.int64).T)
        self._lengths.extend(lengths)


def lines(sources: Sequence[Source]) -> bytes:
    """A line of JSON for each source."""
    return b"".join(msgspec.json.encode(astuple(each)) + b"\n" for each in sources)
