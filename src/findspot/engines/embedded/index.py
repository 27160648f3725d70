"""How do words and vectors of the same chunks advance together? Both are written, then one manifest names both."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from findspot.engines.embedded import manifest as manifests
from findspot.engines.embedded import marked
from findspot.engines.embedded.keywords import Keywords
from findspot.engines.embedded.lookup import Lookup
from findspot.engines.embedded.manifest import Manifest
from findspot.engines.embedded.rows import FILES, Rows
from findspot.engines.embedded.stamps import Stamps
from findspot.engines.embedded.view import View
from findspot.engines.protocol import Batch, Damaged

_KEPT, _WORK, _VECTORS = "kept", "work", "vectors"
_UNREAD = (".pos", ".store")  # files of a segment that no search reads
_MANY_SEGMENTS = 40  # where merges never come to an end, because the index is closed before: then one waits for them
_DEAD_ENOUGH = 1000  # rows, before it is worth while to write the others anew


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An index at one moment: both halves know the same chunks."""

    manifest: Manifest
    lookup: Lookup
    vectors: View
    stamps: Stamps


class Index:
    """Chunks in one folder. What is written counts once the manifest that `commit` returns is in its place."""

    def __init__(self, folder: Path, manifest: Manifest, keywords: Keywords, rows: Rows) -> None:
        self.folder = folder
        self.manifest = manifest
        self.keywords = keywords
        self.rows = rows
        self._shortest: int | None = manifest.shortest if rows.alive else None
        self._stamps = Stamps({})

    @classmethod
    def create(cls, folder: Path, fingerprint: str, dimension: int, *, bulk: bool = False) -> Index:
        folder.mkdir()
        (folder / _KEPT).mkdir()
        manifest = Manifest(
            generation=folder.name, fingerprint=fingerprint, dimension=dimension, vectors=f"{_VECTORS}-1"
        )
        keywords = Keywords.create(folder / f"{_WORK}-1", bulk=bulk)
        vectors = folder / manifest.vectors
        vectors.mkdir()
        return cls(folder, manifest, keywords, Rows.create(vectors, dimension))

    @classmethod
    def open(cls, folder: Path, manifest: Manifest) -> Index:
        """Go back to what the manifest names. Raises Damaged if that is not there."""
        work = next_name(folder, _WORK)
        kept = folder / _KEPT
        with manifests.files_in(folder):
            for path in [*folder.iterdir(), *kept.iterdir()]:
                if path.name not in (_KEPT, manifest.vectors, *manifest.keywords):
                    remove(path)
            manifests.check_sizes(kept, manifest.keywords)
            keywords = Keywords.lay(folder / work, kept, manifest.meta, manifest.keywords)
            rows = Rows.open(folder / manifest.vectors, manifest.dimension, manifest.rows)
        return cls(folder, manifest, keywords, rows)

    def write(self, batch: Batch) -> None:
        """Keep these chunks in place of any with the same ids; of two in the batch, the last."""
        places = list({id: place for place, id in enumerate(batch.ids)}.values())
        ids = [int(batch.ids[place]) for place in places]
        sources = [batch.sources[place] for place in places]
        self.keywords.remove(self.rows.held(ids))
        self.keywords.add(ids, sources, [batch.terms[place] for place in places])
        self.rows.append(ids, sources, batch.vectors[places])
        shortest = min(source.length for source in sources)
        self._shortest = shortest if self._shortest is None else min(shortest, self._shortest)

    def delete(self, ids: Sequence[int]) -> None:
        self.keywords.remove(self.rows.held(ids))
        self.rows.delete(ids)

    def evict(self, ids: Sequence[int]) -> None:
        self.rows.evict(ids)

    def commit(self) -> Manifest:
        """The manifest of all that was written so far."""
        self.keywords.commit()
        if sum(name.endswith(".store") for name in self.manifest.keywords) > _MANY_SEGMENTS:
            self.keywords.settle()
        return self._named()

    def finish(self) -> Manifest:
        """The same at the end of a build: everything in as few segments as tantivy likes."""
        self.keywords.commit()
        self.keywords.settle()
        return self._named()

    def accept(self, manifest: Manifest) -> None:
        """The manifest is in its place: free the room of all that only the one before named."""
        before, self.manifest = self.manifest, manifest
        for name in before.keywords.keys() - manifest.keywords.keys():
            (self.folder / _KEPT / name).unlink(missing_ok=True)
        if before.vectors != manifest.vectors:
            remove(self.folder / before.vectors)

    def snapshot(self) -> Snapshot:
        self._stamps = self._stamped()
        return Snapshot(self.manifest, self.keywords.lookup(self.manifest.shortest), self.rows.view(), self._stamps)

    def look(self) -> None:
        """Read again what someone has touched. Raises Damaged if something is not as it was written; a manifest is
        written anew, because what it should say is known."""
        for path in map(Path, self._stamps.changed()):
            if path == self._manifest_file:
                manifests.write(self.folder.parent, self.manifest)
            elif not path.exists():
                raise Damaged(f"{path} is gone")
            elif path.parent.name == _KEPT:
                manifests.check_sums(path.parent, {path.name: self.manifest.keywords[path.name]})
            else:
                marked.verify(path, marked.Mark(*self.manifest.rows[path.name]), lambda: None)
            self._stamps.renew([str(path)])

    def verify(self) -> None:
        """Read everything again that the manifest names. Raises Damaged if something is not as it was written."""
        manifests.check_sums(self.folder / _KEPT, self.manifest.keywords)
        for name, mark in self.manifest.rows.items():
            marked.verify(self.folder / self.manifest.vectors / name, marked.Mark(*mark), lambda: None)

    @property
    def _manifest_file(self) -> Path:
        return self.folder.parent / manifests.FILE

    def _stamped(self) -> Stamps:
        """Of a segment's files, those from when they were new are kept; the others change with every write."""
        kept = [str(self.folder / _KEPT / name) for name in self.manifest.keywords]
        grown = {name: str(self.folder / self.manifest.vectors / name) for name in FILES}
        before = self._stamps.known
        stamps = Stamps(
            {path: before[path] for path in kept if path in before},
            tuple(path for path in kept if not path.endswith(_UNREAD)),
            (grown["codes"],),
        )
        stamps.renew([*(path for path in kept if path not in before), *grown.values(), str(self._manifest_file)])
        return stamps

    def _named(self) -> Manifest:
        vectors = self.manifest.vectors
        if self.rows.dead > max(_DEAD_ENOUGH, self.rows.alive // 3):
            vectors = next_name(self.folder, _VECTORS)
            (self.folder / vectors).mkdir()
            self.rows = self.rows.compacted(self.folder / vectors)
        meta, files = self.keywords.keep(self.folder / _KEPT, self.manifest.keywords)
        return replace(
            self.manifest,
            shortest=self._shortest or 0,
            meta=meta,
            keywords=files,
            vectors=vectors,
            rows={name: (mark.size, mark.crc) for name, mark in self.rows.marks().items()},
        )


def remove(path: Path) -> None:
    """Free the room of a file or folder. What a merge that was given up still writes there, the next opening finds."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def next_name(folder: Path, kind: str) -> str:
    """A name that no folder there has: one that is given up may still be written to for a moment."""
    numbers = [int(each.name.rpartition("-")[2]) for each in folder.glob(f"{kind}-[0-9]*")]
    return f"{kind}-{max(numbers, default=0) + 1}"
