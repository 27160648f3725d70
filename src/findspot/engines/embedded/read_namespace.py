"""One namespace that another process writes: read-only snapshots that follow its manifest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from findspot.engines.embedded import manifest as manifests
from findspot.engines.embedded.index import Index, Snapshot, remove
from findspot.engines.embedded.manifest import Manifest
from findspot.engines.embedded.namespace import CHECK_EVERY_S, DAMAGED, verified_snapshot
from findspot.engines.embedded.os_errors import is_damage
from findspot.engines.protocol import Damaged

_TRIES = 20  # to read a state before the writer replaces it


@dataclass(frozen=True, slots=True)
class _State:
    """What was found under one version of the manifest: a snapshot, damage, or (with neither) no index."""

    version: bytes | None
    snapshot: Snapshot | None = None
    damage: str | None = None


class ReadNamespace:
    """Reads what the manifest names, and looks at the manifest before every query.

    Segment files are linked into `work`, where tantivy needs a folder. The files of the writer are never changed.
    """

    is_writing = False

    def __init__(self, folder: Path, work: Path) -> None:
        self._folder = folder
        self._work = work
        self._numbers = count(1)
        self._lock = threading.RLock()
        self._index: Index | None = None
        self._state: _State | None = None
        self._checked_at = 0.0
        self.used = 0.0

    @property
    def is_open(self) -> bool:
        return self._state is not None and self._state.snapshot is not None

    @property
    def size(self) -> int:
        """Bytes of the open index; 0 if it is out of date, so that its files are freed when it is idle."""
        state = self._state
        if state is None or state.snapshot is None or state.version != manifests.version(self._folder):
            return 0
        return state.snapshot.manifest.bytes

    def snapshot(self) -> Snapshot | None:
        """Return the snapshot to read from, or None if there is no index. Waits while a new state is read."""
        state = self._state
        if state is None or state.version != manifests.version(self._folder):
            with self._lock:
                state = self._follow()
        if state.damage is not None:
            raise Damaged(state.damage)
        if state.snapshot is not None and time.monotonic() - self._checked_at > CHECK_EVERY_S:
            self._checked_at = time.monotonic()
            try:
                self._check(state.snapshot, self._check_all)
            except Damaged:
                if self._state is not None:
                    raise
                return self.snapshot()  # the files that were checked have been replaced
        return state.snapshot

    def check_unchanged(self, snapshot: Snapshot) -> None:
        """Raise Damaged if a file was changed while it was read. Call this after reading from a snapshot."""
        stats = snapshot.stats
        if stats.overwritten(stats.immutable) or stats.overwritten(stats.appended):
            self._check(snapshot, Index.check_changed_files)

    def has_moved_on(self, snapshot: Snapshot) -> bool:
        """Return whether the writer has replaced what this snapshot reads."""
        state = self._state
        return state is None or state.snapshot is not snapshot or state.version != manifests.version(self._folder)

    def verify_after(self, error: BaseException) -> None:
        """Verify the files because of an error. Raises Damaged from it if they are not as they were written."""
        state = self._state
        try:
            if state is not None and state.snapshot is not None:
                self._check(state.snapshot, Index.verify)
        except Damaged as damage:
            raise damage from error

    # ── closing ──

    def close(self) -> None:
        """Close all files. The next call opens them again."""
        with self._lock:
            index, self._index, self._state = self._index, None, None
            if index is not None:
                remove(index.keywords.folder)

    shut_down = close

    def close_writer(self) -> None:
        """Do nothing: readers have no writer."""

    serve_merges = close_writer

    def unless_busy(self, do: Callable[[], None]) -> None:
        """Call a function with the lock held, or skip it if another thread holds the lock."""
        if self._lock.acquire(blocking=False):
            try:
                do()
            finally:
                self._lock.release()

    # ── private ──

    def _check(self, snapshot: Snapshot, check: Callable[[Index], object]) -> None:
        """Check the files of the current state. Remember damage, unless the writer has moved on meanwhile."""
        with self._lock:
            state, index = self._state, self._index
            if state is None or index is None or state.snapshot is not snapshot:
                return
            try:
                check(index)
            except Damaged as damage:
                if self.has_moved_on(snapshot):
                    self._state = None
                    raise
                self._state = _State(state.version, damage=str(damage))
                raise

    def _check_all(self, index: Index) -> None:
        _check_mark(self._folder, index)
        index.check_changed_files()

    def _follow(self) -> _State:
        """Return the state under the present manifest; the caller holds the lock."""
        for _ in range(_TRIES):
            version = manifests.version(self._folder)
            if self._state is not None and self._state.version == version:
                return self._state  # another thread was faster
            try:
                state = _State(version, self._read(version))
            except Damaged as damage:
                if manifests.version(self._folder) != version:
                    continue
                state = _State(version, damage=str(damage))
            self._state, self._checked_at = state, time.monotonic()
            return state
        raise OSError("it is replaced faster than it can be opened")

    def _read(self, version: bytes | None) -> Snapshot | None:
        """Return a snapshot of what the manifest names. Raises Damaged if files are missing or not as written."""
        manifest = None if version is None else manifests.read(self._folder)
        if manifest is None or not manifest.generation:
            self.close()
            return None
        try:
            return self._read_files(manifest, version)
        except BaseException as error:
            if not is_damage(error):
                raise
            raise Damaged(f"{self._folder.name}: {error}") from error

    def _read_files(self, manifest: Manifest, version: bytes | None) -> Snapshot:
        index = self._index
        if index is not None:
            try:
                if index.follow(manifest):
                    return index.snapshot()
            except Damaged:
                if manifests.version(self._folder) != version:  # go on from here with the next manifest
                    raise
        work = self._work / f"{self._folder.name}-{next(self._numbers)}"
        self._work.mkdir(parents=True, exist_ok=True)  # someone may have deleted the whole index folder
        new = Index.open_to_read(self._folder / manifest.generation, manifest, work)
        _check_mark(self._folder, new)
        snapshot = verified_snapshot(new)
        self._index = new
        if index is not None:
            remove(index.keywords.folder)
        return snapshot


def _check_mark(folder: Path, index: Index) -> None:
    """Raise Damaged if the writer has marked the index as damaged."""
    mark = folder / index.manifest.generation / DAMAGED
    if mark.exists():
        raise Damaged(mark.read_text(encoding="utf-8"))
