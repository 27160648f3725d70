"""The vectors of an index on disk, one row for each chunk, in four append-only files.

`rows` has the chunk id, the number of its source and whether it has a vector. `codes` has the quantized vectors of the
rows that have one (codes.py). `sources` has one line of JSON for each source. `dead` has the numbers of deleted rows.
The checksums of the four files (`Rows.checksums`) identify a state: with them it can be opened again, whatever was
written later.

Only one thread at a time may write. Readers use views (view.py), which never change.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from findspot.engines.embedded import append_only, scan
from findspot.engines.embedded.codes import Coder, Codes
from findspot.engines.embedded.growable import GrowableArray
from findspot.engines.embedded.manifest import Checksum, Checksums
from findspot.engines.embedded.row_finder import RowFinder
from findspot.engines.embedded.sources import Mask, Sources, lines
from findspot.engines.embedded.view import View
from findspot.engines.protocol import Damaged, Source, Stop, Vectors

FILES: Final = ("codes", "rows", "sources", "dead")

_RECORD = np.dtype([("id", "<i8"), ("source", "<i4"), ("kind", "u1")])
_NO_VECTOR, _VECTOR, _EVICTED = range(3)  # kinds of rows; a vector of zeros is none
_DEAD = np.dtype("<u4")
_ROWS_PER_COPY = 16_384


class Rows:
    def __init__(self, folder: Path, dimension: int, checksums: Checksums) -> None:
        self.folder = folder
        self.dimension = dimension
        self._checksums = dict(checksums)
        self._coder = Coder(dimension)
        self._sources = Sources()
        self._ids = GrowableArray(np.int64)
        self._numbers = GrowableArray(np.int32)  # of the source of each row
        self._kinds = GrowableArray(np.uint8)
        self._coded = GrowableArray(np.int64)  # the rows that have a code, in the order of the codes
        self._living = GrowableArray(np.bool_)
        self._finder = RowFinder.of(self._ids.array, self._living.array)
        self._parts: tuple[scan.Part, ...] = ()
        self.alive = 0

    @classmethod
    def create(cls, folder: Path, dimension: int) -> "Rows":
        """Create the files of an index without rows, in an existing folder."""
        return cls(folder, dimension, {name: append_only.create(folder / name) for name in FILES})

    @classmethod
    def open(cls, folder: Path, dimension: int, checksums: Checksums) -> "Rows":
        """Open the state with these checksums. Raises Damaged if the files do not have it.

        Everything is checked except the codes, which are large; `verify` checks them.
        """
        for name in FILES:
            append_only.truncate(folder / name, _checksum_of(name, checksums))
        return cls.open_to_read(folder, dimension, checksums)

    @classmethod
    def open_to_read(cls, folder: Path, dimension: int, checksums: Checksums) -> "Rows":
        """Open the state with these checksums, and leave alone what another process appends meanwhile."""
        rows = cls(folder, dimension, dict.fromkeys(FILES, Checksum(0, 0)))
        rows.follow(checksums)
        return rows

    @property
    def dead(self) -> int:
        return len(self._ids) - self.alive

    def checksums(self) -> dict[str, Checksum]:
        """Return the checksum of every file, which `open` needs."""
        return dict(self._checksums)

    def append(self, ids: Sequence[int], sources: Sequence[Source], vectors: Vectors) -> None:
        """Add chunks, replacing any with the same ids. If an id occurs twice in this call, the last one counts."""
        last = {each: position for position, each in enumerate(ids)}
        positions = np.fromiter(last.values(), np.int64, len(last))
        vectors = np.asarray(vectors, np.float32)[positions]
        records = np.empty(len(last), _RECORD)
        records["id"] = np.fromiter(last, np.int64, len(last))
        known = vectors.any(axis=1)
        records["kind"] = np.where(known, _VECTOR, _NO_VECTOR)
        self._add(records, [sources[position] for position in positions], self._coder.codes(vectors[known]))

    def existing(self, ids: Sequence[int]) -> list[int]:
        """Return those of these ids that exist."""
        rows = self._rows_of(np.unique(np.asarray(ids, np.int64)))
        existing: list[int] = self._ids.array[rows].tolist()
        return existing

    def delete(self, ids: Sequence[int]) -> None:
        """Delete chunks; unknown ids are ignored."""
        rows = self._rows_of(np.unique(np.asarray(ids, np.int64)))
        dead = self._append("dead", rows.astype(_DEAD))
        self._mark_dead(rows)
        self._checksums["dead"] = dead

    def evict(self, ids: Sequence[int]) -> None:
        """Delete the vectors of chunks, which get a new row without a vector. Compaction removes their codes."""
        rows = self._rows_of(np.unique(np.asarray(ids, np.int64)))
        rows = rows[self._kinds.array[rows] == _VECTOR]
        records = np.empty(len(rows), _RECORD)
        records["id"], records["source"], records["kind"] = self._ids.array[rows], self._numbers.array[rows], _EVICTED
        written = {"rows": self._append("rows", records), "dead": self._append("dead", rows.astype(_DEAD))}
        self._mark_dead(rows)
        self._extend(records, np.ones(len(records), np.bool_))
        self._checksums |= written

    def verify(self, stop: Stop = lambda: None) -> None:
        """Read all files again. Raises Damaged if one is not as it was written."""
        for name, checksum in self.checksums().items():
            append_only.verify(self.folder / name, checksum, stop)

    def view(self) -> View:
        """Return a snapshot to search in. Cheap after a small append."""
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
            sources=self._sources.snapshot(),
            finder=self._finder,
        )

    def compacted(self, folder: Path) -> "Rows":
        """Copy the living rows and their sources to another folder."""
        copy = Rows.create(folder, self.dimension)
        for start in range(0, len(self._ids), _ROWS_PER_COPY):
            living = self._living.array[start : start + _ROWS_PER_COPY]
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
        """Append to the files first and then in memory, so that a full disk changes nothing."""
        records["source"], fresh = self._sources.number(sources)
        replaced = self._rows_of(records["id"])
        written = {
            "codes": self._append("codes", codes),
            "rows": self._append("rows", records),
            "sources": append_only.append(self.folder / "sources", self._checksums["sources"], lines(fresh)),
            "dead": self._append("dead", replaced.astype(_DEAD)),
        }
        self._mark_dead(replaced)
        self._sources.add(fresh)
        self._extend(records, np.ones(len(records), np.bool_))
        self._checksums = written

    def _append(self, name: str, array: npt.NDArray[Any]) -> Checksum:
        return append_only.append(self.folder / name, self._checksums[name], np.ascontiguousarray(array).tobytes())

    def _mark_dead(self, rows: npt.NDArray[np.int64]) -> None:
        self._living.array[rows] = False
        self.alive -= len(rows)

    def _rows_of(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the living rows of these ids, without those that do not exist."""
        rows = self._finder.find(ids, self._ids.array, self._living.array)
        return rows[rows >= 0]

    def _extend(self, records: npt.NDArray[Any], living: Mask) -> None:
        self._ids.extend(records["id"])
        self._numbers.extend(records["source"])
        self._coded.extend(np.flatnonzero(records["kind"] == _VECTOR) + len(self._kinds))
        self._kinds.extend(records["kind"])
        self._living.extend(living)
        self.alive += int(np.count_nonzero(living))
        if self._finder.is_outdated(len(self._ids)):
            self._finder = RowFinder.of(self._ids.array, self._living.array)

    def follow(self, checksums: Checksums) -> None:
        """Read what was appended since. Raises Damaged, and changes nothing, if these are not the same files."""
        now = {name: _checksum_of(name, checksums) for name in FILES}
        added = {
            name: append_only.read_added(self.folder / name, self._checksums[name], now[name])
            for name in ("rows", "sources", "dead")
        }
        append_only.require_size(self.folder / "codes", now["codes"].size)
        try:
            records = np.frombuffer(added["rows"], _RECORD)
            dead = np.frombuffer(added["dead"], _DEAD).astype(np.int64)
            coded = len(self._coded) + int(np.count_nonzero(records["kind"] == _VECTOR))
            if now["codes"].size != coded * self.dimension:
                raise Damaged(f"the number of codes and of vectors differ in {self.folder.name}")
            self._sources.read(added["sources"])
        except (ValueError, msgspec.MsgspecError) as error:
            raise Damaged(f"the files of {self.folder.name} cannot be read: {error}") from None
        first = len(self._ids)
        self._mark_dead(dead[dead < first])
        living: Mask = np.ones(len(records), np.bool_)
        living[dead[dead >= first] - first] = False
        self._extend(records, living)
        self._checksums = now


def _checksum_of(name: str, checksums: Checksums) -> Checksum:
    try:
        return checksums[name]
    except KeyError:
        raise Damaged(f"there is no checksum for {name!r}") from None
