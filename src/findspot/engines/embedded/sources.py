"""The sources that chunks were cut from, in append-only columns, so that a filter is a few numpy operations.

A snapshot shares the columns: sources that are added later come after its end.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from findspot.engines.embedded.growable import GrowableArray
from findspot.engines.protocol import Source, Within

Mask: TypeAlias = npt.NDArray[np.bool_]
_Row: TypeAlias = tuple[int | None, str, int, int, int]  # the fields of a Source

NO_DOCUMENT = np.iinfo(np.int64).min
_LINES = msgspec.json.Decoder(_Row)
_MAX_REMEMBERED = 100_000  # sources, about 30 MB; a source that was forgotten is written again, which does no harm


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """A snapshot of all sources, as columns."""

    document_ids: npt.NDArray[np.int64]
    pointers: npt.NDArray[Any]
    cuts: npt.NDArray[np.int64]  # size and overlap
    lengths: npt.NDArray[np.int64]

    def mask(self, within: Within) -> Mask:
        """Return which sources pass a filter."""
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
        self._document_ids = GrowableArray(np.int64)
        self._pointers = GrowableArray(np.dtypes.StringDType())
        self._cuts = GrowableArray(np.int64, 2)
        self._lengths = GrowableArray(np.int64)
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

    def snapshot(self) -> SourceColumns:
        return SourceColumns(self._document_ids.array, self._pointers.array, self._cuts.array, self._lengths.array)

    def number(self, sources: Sequence[Source]) -> tuple[npt.NDArray[np.int32], list[Source]]:
        """Return the numbers of these sources, and the new ones among them, which `add` takes."""
        fresh: dict[Source, int] = {}
        numbers = np.empty(len(sources), np.int32)
        for position, source in enumerate(sources):
            known = self._numbers.get(source)
            numbers[position] = known if known is not None else fresh.setdefault(source, len(self) + len(fresh))
        return numbers, list(fresh)

    def add(self, sources: Sequence[Source]) -> None:
        if len(self._numbers) + len(sources) > _MAX_REMEMBERED:
            self._numbers.clear()
        self._numbers.update(zip(sources, range(len(self), len(self) + len(sources)), strict=True))
        self._extend([astuple(each) for each in sources])

    def read(self, lines: bytes) -> None:
        """Add the sources that `lines` encoded."""
        self._extend(_LINES.decode_lines(lines))

    def _extend(self, rows: Sequence[_Row]) -> None:
        documents, pointers, sizes, overlaps, lengths = zip(*rows, strict=True) if rows else ((),) * 5
        self._document_ids.extend([NO_DOCUMENT if each is None else each for each in documents])
        self._pointers.extend(pointers)
        self._cuts.extend(np.array([sizes, overlaps], np.int64).T)
        self._lengths.extend(lengths)


def lines(sources: Sequence[Source]) -> bytes:
    """Return one line of JSON for each source."""
    return b"".join(msgspec.json.encode(astuple(each)) + b"\n" for each in sources)
