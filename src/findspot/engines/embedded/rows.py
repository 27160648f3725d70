"""The vectors of a namespace on disk, a row for each: four files in a folder, which only grow.

`rows` says which chunk it is, what it was cut from and whether it has a vector, `codes` holds what codes.py makes of
the vectors of those that have one, `sources` a line for each thing that chunks were cut from, and `dead` the numbers of
the rows that no longer count. Whoever keeps
the marks of the four files (`Rows.marks`) can open exactly that state again, whatever was written after it.

One thread at a time may write. Views (view.py) are for readers: they never change.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from findspot.engines.embedded import marked, scan
from findspot.engines.embedded.codes import Coder, Codes
from findspot.engines.embedded.finder import Finder
from findspot.engines.embedded.growing import Growing
from findspot.engines.embedded.marked import Mark
from findspot.engines.embedded.sources import Mask, Sources, lines
from findspot.engines.embedded.view import View
from findspot.engines.protocol import Damaged, Source, Stop, Vectors

FILES: Final = ("codes", "rows", "sources", "dead")

_RECORD = np.dtype([("id", "<i8"), ("source", "<i4"), ("kind", "u1")])
_VECTORLESS, _VECTOR, _EVICTED = range(3)  # kinds: a vector that is zero everywhere is none; one may be given up
_DEAD = np.dtype("<u4")
_COPIED_AT_ONCE = 16_384  # rows


class Rows:
    def __init__(self, folder: Path, dimension: int, marks: Mapping[str, Mark]) -> None:
        self.folder = folder
        self.dimension = dimension
        self._marks = dict(marks)
        self._coder = Coder(dimension)
        self._sources = Sources()
        self._ids = Growing(np.int64)
        self._numbers = Growing(np.int32)  # of the sources
        self._kinds = Growing(np.uint8)
        self._coded = Growing(np.int64)  # the rows that have a code, in the order of the codes
        self._living = Growing(np.bool_)
        self._finder = Finder.of(self._ids.array, self._living.array)
        self._parts: tuple[scan.Part, ...] = ()
        self.alive = 0

    @classmethod
    def create(cls, folder: Path, dimension: int) -> "Rows":
        """Begin with no rows, in a folder that exists."""
        return cls(folder, dimension, {name: marked.create(folder / name) for name in FILES})

    @classmethod
    def open(cls, folder: Path, dimension: int, marks: Mapping[str, Sequence[int]]) -> "Rows":
        """What the files held when these were their marks. Raises Damaged if that cannot be had.

        All is checked but the codes, which are many: for them there is `verify`.
        """
        try:
            rows = cls(folder, dimension, {name: Mark(*marks[name]) for name in FILES})
        except KeyError as missing:
            raise Damaged(f"there is no mark for {missing}") from None
        for name in FILES:
            marked.cut(folder / name, rows._marks[name])
        rows._read()
        return rows

    @property
    def dead(self) -> int:
        return len(self._ids) - self.alive

    def marks(self) -> dict[str, Mark]:
        """The length and the CRC-32 of every file: what `open` needs, and what says how large they are."""
        return dict(self._marks)

    def append(self, ids: Sequence[int], sources: Sequence[Source], vectors: Vectors) -> None:
        """Add chunks, in place of any with the same ids; of two with one id in this call, the later counts."""
        last = {each: place for place, each in enumerate(ids)}
        places = np.fromiter(last.values(), np.int64, len(last))
        vectors = np.asarray(vectors, np.float32)[places]
        records = np.empty(len(last), _RECORD)
        records["id"] = np.fromiter(last, np.int64, len(last))
        known = vectors.any(axis=1)
        records["kind"] = np.where(known, _VECTOR, _VECTORLESS)
        self._add(records, [sources[place] for place in places], self._coder.codes(vectors[known]))

    def held(self, ids: Sequence[int]) -> list[int]:
        """Those of these chunks that are there."""
        rows = self._rows_of(np.unique(np.asarray(ids, np.int64)))
        held: list[int] = self._ids.array[rows].tolist()
        return held

    def delete(self, ids: Sequence[int]) -> None:
        """Forget chunks; ids that are not there are passed over."""
        rows = self._rows_of(np.unique(np.asarray(ids, np.int64)))
        marks = self._marks | {"dead": self._append("dead", rows.astype(_DEAD))}
        self._bury(rows)
        self._marks = marks

    def evict(self, ids: Sequence[int]) -> None:
        """Give up the vectors of chunks; they stay, and their codes go when the dead rows do."""
        rows = self._rows_of(np.unique(np.asarray(ids, np.int64)))
        rows = rows[self._kinds.array[rows] == _VECTOR]
        records = np.empty(len(rows), _RECORD)
        records["id"], records["source"], records["kind"] = self._ids.array[rows], self._numbers.array[rows], _EVICTED
        marks = {"rows": self._append("rows", records), "dead": self._append("dead", rows.astype(_DEAD))}
        self._bury(rows)
        self._extend(records, np.ones(len(records), np.bool_))
        self._marks |= marks

    def verify(self, stop: Stop = lambda: None) -> None:
        """Read all files again. Raises Damaged if a byte is not what was written."""
        for name, mark in self.marks().items():
            marked.verify(self.folder / name, mark, stop)

    def view(self) -> View:
        """What is there now, to search in. It costs little after a small append."""
        self._parts = scan.grown(self._parts, self.folder / "codes", len(self._coded), self.dimension)
        return View(
            coder=self._coder,
            parts=self._parts,
            chunk_ids=self._ids.array,
            numbers=self._numbers.array,
            living=self._living.array.copy(),
            known=self._kinds.array == _VECTOR,
            evicted=self._kinds.array == _EVICTED,
            coded=self._coded.array,
            places=self._sources.places(),
            finder=self._finder,
        )

    def compacted(self, folder: Path) -> "Rows":
        """A copy without the dead rows, and without the sources that only they had."""
        copy = Rows.create(folder, self.dimension)
        for start in range(0, len(self._ids), _COPIED_AT_ONCE):
            living = self._living.array[start : start + _COPIED_AT_ONCE]
            rows = np.flatnonzero(living) + start
            first, last = np.searchsorted(self._coded.array, (start, start + len(living)))
            codes = scan.read(self.folder / "codes", first, last - first, self.dimension)
            numbers = self._numbers.array[rows].tolist()
            sources = {number: self._sources[number] for number in set(numbers)}
            records = np.empty(len(rows), _RECORD)
            records["id"], records["kind"] = self._ids.array[rows], self._kinds.array[rows]
            kept = self._living.array[self._coded.array[first:last]]
            copy._add(records, [sources[number] for number in numbers], codes[kept])
        return copy

    def _add(self, records: npt.NDArray[Any], sources: Sequence[Source], codes: Codes) -> None:
        """Nothing in memory changes before all is written, so a full disk leaves everything as it was."""
        records["source"], fresh = self._sources.number(sources)
        replaced = self._rows_of(records["id"])
        marks = {
            "codes": self._append("codes", codes),
            "rows": self._append("rows", records),
            "sources": marked.append(self.folder / "sources", self._marks["sources"], lines(fresh)),
            "dead": self._append("dead", replaced.astype(_DEAD)),
        }
        self._bury(replaced)
        self._sources.add(fresh)
        self._extend(records, np.ones(len(records), np.bool_))
        self._marks = marks

    def _append(self, name: str, array: npt.NDArray[Any]) -> Mark:
        return marked.append(self.folder / name, self._marks[name], np.ascontiguousarray(array).tobytes())

    def _bury(self, rows: npt.NDArray[np.int64]) -> None:
        self._living.array[rows] = False
        self.alive -= len(rows)

    def _rows_of(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The living rows of those ids that have one."""
        rows = self._finder.find(ids, self._ids.array, self._living.array)
        return rows[rows >= 0]

    def _extend(self, records: npt.NDArray[Any], living: Mask) -> None:
        self._ids.extend(records["id"])
        self._numbers.extend(records["source"])
        self._coded.extend(np.flatnonzero(records["kind"] == _VECTOR) + len(self._kinds))
        self._kinds.extend(records["kind"])
        self._living.extend(living)
        self.alive += int(np.count_nonzero(living))
        if self._finder.behind(len(self._ids)):
            self._finder = Finder.of(self._ids.array, self._living.array)

    def _read(self) -> None:
        read = {name: marked.read(self.folder / name, self._marks[name]) for name in FILES if name != "codes"}
        try:
            self._sources.read(read["sources"])
            records = np.frombuffer(read["rows"], _RECORD)
            dead = np.frombuffer(read["dead"], _DEAD).astype(np.int64)
        except (ValueError, msgspec.MsgspecError) as error:
            raise Damaged(f"the files of {self.folder.name} cannot be read: {error}") from None
        if self._marks["codes"].size != np.count_nonzero(records["kind"] == _VECTOR) * self.dimension:
            raise Damaged(f"there are not as many codes as vectors in {self.folder.name}")
        living: Mask = np.ones(len(records), np.bool_)
        living[dead] = False
        self._extend(records, living)
