"""An index: the keywords and the vectors of the same chunks. Both are written, then one manifest names both."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from findspot.engines.embedded import append_only
from findspot.engines.embedded import manifest as manifests
from findspot.engines.embedded.file_stats import FileStats, stat
from findspot.engines.embedded.keyword_index import KeywordIndex
from findspot.engines.embedded.keyword_search import KeywordSearcher
from findspot.engines.embedded.manifest import Manifest
from findspot.engines.embedded.os_errors import damage_if_missing
from findspot.engines.embedded.rows import FILES, Rows
from findspot.engines.embedded.view import View
from findspot.engines.protocol import Batch, Damaged

_KEPT, _WORK, _VECTORS = "kept", "work", "vectors"
_UNREAD = (".pos", ".store")  # segment files that no query reads
MANY_SEGMENTS = 40  # commits wait for merges above this; without it, an index that is closed often never merges
_FIXED = ("format", "generation", "fingerprint", "dimension", "vectors")  # of an index that can be followed
MIN_DEAD = 1000  # dead rows before the vector files are compacted


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A read-only state of an index. Both halves hold the same chunks."""

    manifest: Manifest
    keywords: KeywordSearcher
    vectors: View
    stats: FileStats


class Index:
    """Chunks in one folder. A write counts only once the manifest that `commit` returns has been saved."""

    def __init__(
        self, folder: Path, manifest: Manifest, keywords: KeywordIndex, rows: Rows, *, follows: bool = False
    ) -> None:
        self._follows = follows  # another process writes
        self.folder = folder
        self.manifest = manifest
        self.keywords = keywords
        self.rows = rows
        self._shortest: int | None = manifest.shortest if rows.alive else None
        self._stats = FileStats({})

    @classmethod
    def create(cls, folder: Path, fingerprint: str, dimension: int, *, bulk: bool = False) -> Index:
        folder.mkdir()
        (folder / _KEPT).mkdir()
        manifest = Manifest(
            generation=folder.name, fingerprint=fingerprint, dimension=dimension, vectors=f"{_VECTORS}-1"
        )
        keywords = KeywordIndex.create(folder / f"{_WORK}-1", bulk=bulk)
        vectors = folder / manifest.vectors
        vectors.mkdir()
        return cls(folder, manifest, keywords, Rows.create(vectors, dimension))

    @classmethod
    def open(cls, folder: Path, manifest: Manifest) -> Index:
        """Open the state that the manifest names. Raises Damaged if files are missing."""
        kept = folder / _KEPT
        with damage_if_missing(folder):
            work = next_name(folder, _WORK)
            for path in [*folder.iterdir(), *kept.iterdir()]:
                if path.name not in (_KEPT, manifest.vectors, *manifest.keywords):
                    remove(path)
            manifests.check_sizes(kept, manifest.keywords)
            keywords = KeywordIndex.restore(
                folder / work, kept, manifest.meta, manifest.keywords, has_contexts=not manifest.is_outdated
            )
            rows = Rows.open(folder / manifest.vectors, manifest.dimension, manifest.rows)
        return cls(folder, manifest, keywords, rows)

    @classmethod
    def open_to_read(cls, folder: Path, manifest: Manifest, work: Path) -> Index:
        """Open the state that the manifest names while another process writes. `work` is a new folder for tantivy."""
        kept = folder / _KEPT
        with damage_if_missing(folder):
            manifests.check_sizes(kept, manifest.keywords)
            keywords = KeywordIndex.restore(
                work, kept, manifest.meta, manifest.keywords, has_contexts=not manifest.is_outdated
            )
            rows = Rows.open_to_read(folder / manifest.vectors, manifest.dimension, manifest.rows)
        return cls(folder, manifest, keywords, rows, follows=True)

    def follow(self, manifest: Manifest) -> bool:
        """Read what another process has committed since. Return False if the index has to be opened again."""
        before = self.manifest
        if any(getattr(before, name) != getattr(manifest, name) for name in _FIXED):
            return False
        codes = str(self.folder / manifest.vectors / "codes")
        known, now = self._stats.known.get(codes), stat(codes)
        if known is None or now is None or known[2] != now[2]:  # a folder of the same name that was created later
            return False
        with damage_if_missing(self.folder):
            self.rows.follow(manifest.rows)
            self.keywords.follow(self.folder / _KEPT, manifest.meta, manifest.keywords)
        self.manifest = manifest
        return True

    def write(self, batch: Batch) -> None:
        """Write chunks, replacing any with the same ids. If the batch has an id twice, the last one counts."""
        positions = list({id: position for position, id in enumerate(batch.ids)}.values())
        ids = [int(batch.ids[position]) for position in positions]
        sources = [batch.sources[position] for position in positions]
        self.keywords.remove(self.rows.existing(ids))
        contexts = [batch.context(position) for position in positions]
        self.keywords.add(ids, sources, [batch.terms[position] for position in positions], contexts)
        self.rows.append(ids, sources, batch.vectors[positions])
        shortest = min(source.length for source in sources)
        self._shortest = shortest if self._shortest is None else min(shortest, self._shortest)

    def delete(self, ids: Sequence[int]) -> None:
        self.keywords.remove(self.rows.existing(ids))
        self.rows.delete(ids)

    def evict(self, ids: Sequence[int]) -> None:
        self.rows.evict(ids)

    def commit(self) -> Manifest:
        """Commit both halves and return their manifest."""
        self.keywords.commit()
        if sum(name.endswith(".store") for name in self.manifest.keywords) > MANY_SEGMENTS:
            self.keywords.wait_for_merges()
        return self._make_manifest()

    def merged(self) -> Manifest | None:
        """Return a manifest of the same chunks in the segments that were merged since the last commit; None if none
        were. Without it they would be served after the next write, and lost if there is none before a restart."""
        if not self.keywords.has_merged(self.manifest.meta):
            return None
        meta, files = self.keywords.retain(self.folder / _KEPT, self.manifest.keywords)
        return replace(self.manifest, meta=meta, keywords=files)

    def finish(self) -> Manifest:
        """Commit at the end of a build, after all merges: tantivy then has as few segments as it wants."""
        self.keywords.commit()
        self.keywords.wait_for_merges()
        return self._make_manifest()

    def accept(self, manifest: Manifest) -> None:
        """Remove the files that only the previous manifest named. Call this when the manifest is written."""
        before, self.manifest = self.manifest, manifest
        for name in before.keywords.keys() - manifest.keywords.keys():
            (self.folder / _KEPT / name).unlink(missing_ok=True)
        if before.vectors != manifest.vectors:
            remove(self.folder / before.vectors)

    def snapshot(self) -> Snapshot:
        self._stats = self._current_stats()
        return Snapshot(self.manifest, self.keywords.searcher(self.manifest.shortest), self.rows.view(), self._stats)

    def check_changed_files(self) -> None:
        """Verify the files whose stats have changed. Raises Damaged if one is not as it was written. A changed manifest
        is written again, because its content is known."""
        for path in map(Path, self._stats.changed()):
            if path == self._manifest_file:
                manifests.write(self.folder.parent, self.manifest)
            elif not path.exists():
                raise Damaged(f"{path} is missing")
            elif path.parent.name == _KEPT:
                manifests.verify_files(path.parent, {path.name: self.manifest.keywords[path.name]})
            else:
                append_only.verify(path, self.manifest.rows[path.name])
            self._stats.refresh([str(path)])

    def verify(self) -> None:
        """Read all files that the manifest names. Raises Damaged if one is not as it was written."""
        manifests.verify_files(self.folder / _KEPT, self.manifest.keywords)
        for name, checksum in self.manifest.rows.items():
            append_only.verify(self.folder / self.manifest.vectors / name, checksum)

    @property
    def _manifest_file(self) -> Path:
        return self.folder.parent / manifests.FILE

    def _current_stats(self) -> FileStats:
        """Return the stats of all files. Segment files keep their first ones, because they never change."""
        kept = [str(self.folder / _KEPT / name) for name in self.manifest.keywords]
        appended = {name: str(self.folder / self.manifest.vectors / name) for name in FILES}
        before = self._stats.known
        stats = FileStats(
            {path: before[path] for path in kept if path in before},
            tuple(path for path in kept if not path.endswith(_UNREAD)),
            (appended["codes"],),
            frozenset(appended.values()) if self._follows else frozenset(),
        )
        stats.refresh([*(path for path in kept if path not in before), *appended.values()])
        if not self._follows:
            stats.refresh([str(self._manifest_file)])
        return stats

    def _make_manifest(self) -> Manifest:
        vectors = self.manifest.vectors
        if self.rows.dead > max(MIN_DEAD, self.rows.alive // 3):
            vectors = next_name(self.folder, _VECTORS)
            (self.folder / vectors).mkdir()
            self.rows = self.rows.compacted(self.folder / vectors)
        meta, files = self.keywords.retain(self.folder / _KEPT, self.manifest.keywords)
        return replace(
            self.manifest,
            shortest=self._shortest or 0,
            meta=meta,
            keywords=files,
            vectors=vectors,
            rows=self.rows.checksums(),
        )


def remove(path: Path) -> None:
    """Delete a file or folder. A merge may still write there; the next opening removes the rest."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def next_name(folder: Path, kind: str) -> str:
    """Return a new name for a folder. Names are not reused: a merge may still write to an abandoned folder.

    Uses `iterdir`, because newer versions of `glob` ignore errors such as too many open files.
    """
    numbered = (each.name.partition(f"{kind}-") for each in folder.iterdir())
    numbers = [int(number) for before, separator, number in numbered if separator and not before and number.isdigit()]
    return f"{kind}-{max(numbers, default=0) + 1}"
