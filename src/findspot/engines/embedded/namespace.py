"""One namespace: a single writer at a time, and snapshots for readers, which never wait for the writer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from findspot.engines.embedded import manifest as manifests
from findspot.engines.embedded.build import EmbeddedBuild
from findspot.engines.embedded.index import Index, Snapshot, next_name, remove
from findspot.engines.embedded.manifest import Manifest
from findspot.engines.embedded.os_errors import is_damage
from findspot.engines.embedded.staging import Staging
from findspot.engines.protocol import Batch, Damaged

VERIFIED_AT_OPENING = 256 << 20  # bytes: of a larger index, only the sizes of the files are checked at opening
CHECK_EVERY_S = 1.0  # how often readers check all files; the files that a query reads are checked after every query
DAMAGED = "damaged"  # file that marks a damaged generation; removed with the generation


class Namespace:
    """A folder with a manifest, the generation that the manifest names, and perhaps a build."""

    def __init__(self, folder: Path, staging: Staging) -> None:
        self._folder = folder
        self._staging = staging
        self._lock = threading.RLock()
        self._index: Index | None = None
        self._snapshot: Snapshot | None = None
        self._damage: str | None = None
        self._is_committing = False  # files change because of a write
        self._write_failed = False  # the next write reopens the index; readers keep their snapshot
        self._existed = False  # an index was open, and was not dropped
        self._checked_at = 0.0
        self._build: EmbeddedBuild | None = None
        self.used = 0.0  # time of the last use, by the monotonic clock

    @property
    def is_open(self) -> bool:
        return self._snapshot is not None

    @property
    def size(self) -> int:
        """Bytes of the open index."""
        snapshot = self._snapshot
        return 0 if snapshot is None else snapshot.manifest.bytes

    @property
    def is_writing(self) -> bool:
        index = self._index
        return index is not None and index.keywords.has_writer

    # ── reading ──

    def snapshot(self) -> Snapshot | None:
        """Return the snapshot to read from, or None if there is no index. Waits only while the index is opened."""
        snapshot = self._snapshot
        if snapshot is None:
            if self._damage is not None:  # before the lock, which a build holds for long
                raise Damaged(self._damage)
            if self._build is not None and not self._existed:  # the first build of this namespace: also before the lock
                return None
            with self._lock:
                self._open_index()
                snapshot = self._snapshot
        elif time.monotonic() - self._checked_at > CHECK_EVERY_S:
            self._checked_at = time.monotonic()
            if snapshot.stats.changed():
                self._check_unless_committing(snapshot)
        return snapshot

    def check_unchanged(self, snapshot: Snapshot) -> None:
        """Raise Damaged if a file was changed while it was read. Call this after reading from a snapshot."""
        stats = snapshot.stats
        if stats.overwritten(stats.immutable):
            with self._lock:
                self._check_files()
        elif stats.overwritten(stats.appended):
            self._check_unless_committing(snapshot)

    def has_moved_on(self, snapshot: Snapshot) -> bool:
        """Return False: no other process writes here."""
        return False

    # ── writing ──

    def write(self, fingerprint: str, batch: Batch) -> None:
        """Write to the index in service and to the build, if there is one. Their fingerprints may differ: the batch
        must have the one of the build, and the index in service then takes it without vectors."""
        with self._lock:
            index, build = self._in_service(), self._build
            target = build.index.manifest if build else index.manifest if index else None
            if target is not None and (fingerprint, batch.vectors.shape[1]) != (target.fingerprint, target.dimension):
                raise ValueError(f"{self._folder.name} has vectors of {target.fingerprint}, not of {fingerprint}")
            if not len(batch):
                return
            if index is None and self._damage is None:
                index = self._create_index(fingerprint, batch.vectors.shape[1])
            if index is not None:
                here = batch if index.manifest.fingerprint == fingerprint else _without_vectors(batch, index.manifest)
                self._commit(index, lambda: index.write(here))
            if build is not None:
                build.apply(batch.ids, lambda: build.index.write(batch))

    def delete(self, ids: Sequence[int]) -> None:
        with self._lock:
            index, build = self._in_service(), self._build
            if index is not None and ids:
                self._commit(index, lambda: index.delete(ids))
            if build is not None:
                build.apply(ids, lambda: build.index.delete(ids))

    def evict(self, ids: Sequence[int]) -> None:
        """Delete vectors from the index in service; a build keeps its own."""
        with self._lock:
            index = self._in_service()
            if index is not None and ids:
                self._commit(index, lambda: index.evict(ids))

    def serve_merges(self) -> None:
        """Show readers the segments that were merged since the last write; the caller holds the lock."""
        if self._write_failed or not self.is_writing:
            return
        self._check_files()  # damage would go unnoticed if merged files replaced the damaged ones
        index = self._index
        manifest = index.merged() if index is not None else None
        if index is None or manifest is None:
            return
        self._is_committing = True
        try:
            manifests.write(self._folder, manifest)
            self._serve(index, manifest)
        except BaseException as error:
            if is_damage(error):
                self.verify_after(error)
            raise
        finally:
            self._is_committing = False

    # ── building ──

    def build(self, fingerprint: str, dimension: int) -> EmbeddedBuild:
        with self._lock:
            if self._build is not None:
                self._build.abandon()
            with suppress(Damaged):
                self._open_index()  # so that readers know whether an index exists
            self._ensure_folder()
            folder = self._folder / next_name(self._folder, "gen")
            self._build = EmbeddedBuild(self, self._lock, Index.create(folder, fingerprint, dimension, bulk=True))
            return self._build

    def write_manifest(self, manifest: Manifest) -> None:
        """Make a manifest the valid one; the caller holds the lock."""
        manifests.write(self._folder, manifest)

    def serve_build(self, index: Index, manifest: Manifest) -> None:
        """Show a finished build to readers; the caller holds the lock."""
        before, self._build = self._index, None
        try:
            self._serve(index, manifest)
        finally:
            self._damage = None  # not earlier: until here readers of the old index must get Damaged
        if before is not None:
            before.keywords.close_writer()
        self._remove_unnamed(manifest)

    def discard_build(self, build: EmbeddedBuild) -> None:
        """Remove the files of an abandoned build; the caller holds the lock."""
        if self._build is build:
            self._build = None
        build.index.keywords.close_writer()  # or it would go on writing there
        remove(build.index.folder)

    # ── damage ──

    def verify(self) -> None:
        """Read every file again. Raises Damaged if one is not as it was written."""
        with self._lock, self._recording_damage():
            index = self._index or self._open_index()
            if index is not None:
                index.verify()

    def verify_after(self, error: BaseException) -> None:
        """Verify the files because of an error. Raises Damaged from it if they are not as they were written."""
        try:
            self.verify()
        except Damaged as damage:
            raise damage from error

    # ── closing ──

    def drop(self) -> None:
        with self._lock:
            self.shut_down()
            self._damage, self._existed = None, False
            self._staging.remove(self._folder)

    def shut_down(self) -> None:
        """Close, and abandon the build."""
        with self._lock:
            if self._build is not None:
                self._build.abandon()
            self.close()

    def close(self) -> None:
        """Close all files. The next call opens them again."""
        with self._lock:
            self.close_writer()
            self._index = self._snapshot = None
            self._write_failed = False

    def unless_busy(self, do: Callable[[], None]) -> None:
        """Call a function with the lock held, or skip it if another thread holds the lock."""
        if self._lock.acquire(blocking=False):
            try:
                do()
            finally:
                self._lock.release()

    def close_writer(self) -> None:
        """Close the writer; the caller holds the lock."""
        if self._index is not None:
            self._index.keywords.close_writer()

    # ── private: the caller holds the lock ──

    def _in_service(self) -> Index | None:
        """Return the index in service; None if there is none, or if it is damaged and being rebuilt."""
        try:
            index = self._open_index()
            self._check_files()
        except Damaged:
            if self._build is None:
                raise
            return None
        return index

    def _check_unless_committing(self, snapshot: Snapshot) -> None:
        """Check the changed files of a snapshot, unless a write changed them. Takes the lock."""
        if self._damage is None and (self._is_committing or snapshot is not self._snapshot):
            return
        with self._lock:
            self._check_files()

    def _check_files(self) -> None:
        """Raise Damaged if a changed file is not as it was written."""
        if self._damage is not None:
            raise Damaged(self._damage)
        if self._index is not None:
            with self._recording_damage():
                self._index.check_changed_files()

    def _open_index(self) -> Index | None:
        if self._damage is not None:
            raise Damaged(self._damage)
        if (self._index is None or self._write_failed) and (self._existed or self._folder.is_dir()):
            with self._recording_damage():
                self._open_files()
        return self._index

    def _open_files(self) -> None:
        manifest = manifests.read(self._folder)
        self._remove_unnamed(manifest)
        if not manifest.generation:
            return
        folder = self._folder / manifest.generation
        if (folder / DAMAGED).exists():
            raise Damaged((folder / DAMAGED).read_text(encoding="utf-8"))
        try:
            index = Index.open(folder, manifest)
            self._index, self._snapshot = index, verified_snapshot(index)
            self._existed, self._write_failed = True, False
        except BaseException as error:
            if not is_damage(error):
                raise
            raise Damaged(f"{folder}: {error}") from error

    def _serve(self, index: Index, manifest: Manifest) -> None:
        """Show readers the files that the manifest names."""
        try:
            index.accept(manifest)
            self._index, self._snapshot, self._existed, self._write_failed = index, index.snapshot(), True, False
        except BaseException:
            self.close()
            raise

    def _commit(self, index: Index, change: Callable[[], None]) -> None:
        """Change keywords and vectors, or neither. After a failure the next write reopens what the manifest names.
        Readers keep their snapshot, because reopening needs disk space, and the disk may be full."""
        self._is_committing = True
        try:
            change()
            manifest = index.commit()
            manifests.write(self._folder, manifest)
            self._serve(index, manifest)
        except BaseException as error:
            index.keywords.close_writer()
            self._write_failed = True
            if is_damage(error):
                self.verify_after(error)
            raise
        finally:
            self._is_committing = False

    def _create_index(self, fingerprint: str, dimension: int) -> Index:
        self._ensure_folder()
        return Index.create(self._folder / next_name(self._folder, "gen"), fingerprint, dimension)

    def _ensure_folder(self) -> None:
        """Create the folder together with an empty manifest: a folder without a manifest is damaged."""
        if not self._folder.is_dir():
            self._staging.create(self._folder, lambda folder: manifests.write(folder, Manifest()))

    def _remove_unnamed(self, manifest: Manifest) -> None:
        """Remove everything that neither the manifest nor the build needs."""
        needed = [manifests.FILE, manifest.generation]
        if self._build is not None:
            needed.append(self._build.index.folder.name)
        for path in self._folder.iterdir():
            if path.name not in needed:
                remove(path)

    @contextmanager
    def _recording_damage(self) -> Iterator[None]:
        """Remember damage until a build replaces the index, even if the process ends before."""
        try:
            yield
        except Damaged as damage:
            if self._damage is None:
                self._damage = str(damage)  # before closing: readers that hold a snapshot must get it too
                self._mark_damaged(self._damage)
            self.close()
            raise

    def _mark_damaged(self, damage: str) -> None:
        with suppress(Damaged, OSError):  # a damaged manifest, or for example a full disk: the damage is found again
            generation = manifests.read(self._folder).generation
            if generation and (self._folder / generation).is_dir():
                (self._folder / generation / DAMAGED).write_text(damage, encoding="utf-8")


def verified_snapshot(index: Index) -> Snapshot:
    """Return the first snapshot of an index that was opened, and verify its files meanwhile, unless it is large."""
    with ThreadPoolExecutor(1) as beside:
        verified = beside.submit(index.verify if index.manifest.bytes <= VERIFIED_AT_OPENING else lambda: None)
        try:
            return index.snapshot()
        finally:
            verified.result()  # a checksum error says more than the error it causes elsewhere


def _without_vectors(batch: Batch, manifest: Manifest) -> Batch:
    return replace(batch, vectors=np.zeros((len(batch), manifest.dimension), np.float32))
