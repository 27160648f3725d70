"""Who writes to a namespace, and what do readers see? One writes at a time; readers hold a snapshot and never wait."""

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
from findspot.engines.embedded.index import Index, Snapshot, next_name, remove
from findspot.engines.embedded.leftovers import Leftovers
from findspot.engines.embedded.manifest import Manifest, telling_of_trouble, tells_of_damage
from findspot.engines.protocol import Abandoned, Batch, Damaged

_CHECKED_AT_ONCE = 256 << 20  # bytes that are read when a namespace is opened; of more, only the sizes are looked at
_COMMIT_EVERY = 100_000  # chunks of a build, so that tantivy merges some while others are written
_LOOK_S = 1.0  # how often readers have all files looked at; those that they read, they look at each time
_DAMAGED = "damaged"  # a file in a generation that cannot be trusted; it goes with it


class Namespace:
    """A folder with a manifest and the generation that it names, and maybe one that is being built."""

    def __init__(self, folder: Path, leftovers: Leftovers) -> None:
        self._folder = folder
        self._leftovers = leftovers
        self._lock = threading.RLock()
        self._index: Index | None = None
        self._snapshot: Snapshot | None = None
        self._damage: str | None = None
        self._advancing = False  # files grow and go, as they should
        self._spoiled = False  # a write has failed: who writes next opens the index again; readers keep what they have
        self._held = False  # there was something, and it was not dropped
        self._looked = 0.0
        self._build: Build | None = None
        self.used = 0.0  # when, on the engine's clock

    @property
    def is_open(self) -> bool:
        return self._snapshot is not None

    @property
    def size(self) -> int:
        """The bytes of what is open."""
        snapshot = self._snapshot
        return 0 if snapshot is None else snapshot.manifest.bytes

    @property
    def is_writing(self) -> bool:
        index = self._index
        return index is not None and index.keywords.writing

    def snapshot(self) -> Snapshot | None:
        """What can be read; None if there is nothing. Waits only for the first one."""
        snapshot = self._snapshot
        if snapshot is None:
            if self._damage is not None:  # not behind the lock, which a build holds again and again
                raise Damaged(self._damage)
            if self._build is not None and not self._held:  # nor here: it is the first there is
                return None
            with self._lock:
                self._opened()
                snapshot = self._snapshot
        elif time.monotonic() - self._looked > _LOOK_S:
            self._looked = time.monotonic()
            if snapshot.stamps.changed():
                self._suspect(snapshot)
        return snapshot

    def trust(self, snapshot: Snapshot) -> None:
        """To be called when something was read. Raises Damaged if that may not be what was written."""
        stamps = snapshot.stamps
        if stamps.overwritten(stamps.fixed):
            with self._lock:
                self._look()
        elif stamps.overwritten(stamps.growing):
            self._suspect(snapshot)

    def write(self, fingerprint: str, batch: Batch) -> None:
        """A batch belongs to the index that is being built, if there is one. Until then, an index with vectors of
        another kind knows it by its words alone."""
        with self._lock:
            index, build = self._in_service(), self._build
            target = build.index.manifest if build else index.manifest if index else None
            if target is not None and (fingerprint, batch.vectors.shape[1]) != (target.fingerprint, target.dimension):
                raise ValueError(f"{self._folder.name} holds vectors of {target.fingerprint}, not of {fingerprint}")
            if not len(batch):
                return
            if index is None and self._damage is None:
                index = self._begun(fingerprint, batch.vectors.shape[1])
            if index is not None:
                here = batch if index.manifest.fingerprint == fingerprint else _without_vectors(batch, index.manifest)
                self._advance(index, lambda: index.write(here))
            if build is not None:
                build.follow(batch.ids, lambda: build.index.write(batch))

    def delete(self, ids: Sequence[int]) -> None:
        with self._lock:
            index, build = self._in_service(), self._build
            if index is not None and ids:
                self._advance(index, lambda: index.delete(ids))
            if build is not None:
                build.follow(ids, lambda: build.index.delete(ids))

    def evict(self, ids: Sequence[int]) -> None:
        """What is being built keeps its vectors until it is in service."""
        with self._lock:
            index = self._in_service()
            if index is not None and ids:
                self._advance(index, lambda: index.evict(ids))

    def build(self, fingerprint: str, dimension: int) -> Build:
        with self._lock:
            if self._build is not None:
                self._build.abandon()
            with suppress(Damaged):
                self._opened()  # so that readers know whether there is something
            self._exist()
            folder = self._folder / next_name(self._folder, "gen")
            self._build = Build(self, self._lock, Index.create(folder, fingerprint, dimension, bulk=True))
            return self._build

    def switch(self, manifest: Manifest) -> None:
        """From now on, this counts; the lock is held."""
        manifests.write(self._folder, manifest)

    def adopt(self, index: Index, manifest: Manifest) -> None:
        """Show what was built to readers; the lock is held."""
        before, self._build = self._index, None
        try:
            self._serve(index, manifest)
        finally:
            self._damage = None  # until then readers are told at once; from here on, this is what they get
        if before is not None:
            before.keywords.rest()
        self._tidy(manifest)

    def forget(self, build: Build) -> None:
        """A build is given up; the lock is held."""
        if self._build is build:
            self._build = None
        build.index.keywords.rest()  # or it would still write there
        remove(build.index.folder)

    def verify(self) -> None:
        """Read every file again. Raises Damaged if one is not as it was written."""
        with self._lock, self._noticing():
            index = self._index or self._opened()
            if index is not None:
                index.verify()

    def doubt(self, error: BaseException) -> None:
        """Something went wrong: raises Damaged from it if the files are not as they were written."""
        try:
            self.verify()
        except Damaged as damage:
            raise damage from error

    def drop(self) -> None:
        with self._lock:
            self.end()
            self._damage, self._held = None, False
            self._leftovers.take(self._folder)

    def end(self) -> None:
        """Close, and give up what is being built."""
        with self._lock:
            if self._build is not None:
                self._build.abandon()
            self.close()

    def close(self) -> None:
        """Let go of all files. The next call opens them again."""
        with self._lock:
            self.rest()
            self._index = self._snapshot = None
            self._spoiled = False

    def try_to(self, do: Callable[[Namespace], None]) -> None:
        """Do something that can wait, unless someone writes."""
        if self._lock.acquire(blocking=False):
            try:
                do(self)
            finally:
                self._lock.release()

    def rest(self) -> None:
        """Close the writer; the lock is held."""
        if self._index is not None:
            self._index.keywords.rest()

    def _in_service(self) -> Index | None:
        """The index in service; None if there is none, or if it is damaged and another is being built."""
        try:
            index = self._opened()
            self._look()
        except Damaged:
            if self._build is None:
                raise
            return None
        return index

    def _suspect(self, snapshot: Snapshot) -> None:
        """Files of a snapshot have changed: look whether that is damage, unless it is due to a write."""
        if self._damage is None and (self._advancing or snapshot is not self._snapshot):
            return
        with self._lock:
            self._look()

    def _look(self) -> None:
        """Raises Damaged if someone has damaged what is open; the lock is held."""
        if self._damage is not None:
            raise Damaged(self._damage)
        if self._index is not None:
            with self._noticing():
                self._index.look()

    def _opened(self) -> Index | None:
        if self._damage is not None:
            raise Damaged(self._damage)
        if (self._index is None or self._spoiled) and (self._held or self._folder.is_dir()):
            with self._noticing():
                self._open()
        return self._index

    def _open(self) -> None:
        manifest = manifests.read(self._folder)
        self._tidy(manifest)
        if not manifest.generation:
            return
        folder = self._folder / manifest.generation
        if (folder / _DAMAGED).exists():
            raise Damaged((folder / _DAMAGED).read_text(encoding="utf-8"))
        try:
            index = Index.open(folder, manifest)
            with ThreadPoolExecutor(1) as beside:  # files are checked while what reads them is prepared
                checked = beside.submit(index.verify if manifest.bytes <= _CHECKED_AT_ONCE else lambda: None)
                try:
                    index.accept(manifest)
                    snapshot = index.snapshot()
                finally:
                    checked.result()  # damage says more than what came of it
            self._index, self._snapshot, self._held, self._spoiled = index, snapshot, True, False
        except BaseException as error:
            if not tells_of_damage(error):
                raise
            raise Damaged(f"{folder}: {error}") from error

    def _serve(self, index: Index, manifest: Manifest) -> None:
        """Show readers what the manifest names."""
        try:
            index.accept(manifest)
            self._index, self._snapshot, self._held, self._spoiled = index, index.snapshot(), True, False
        except BaseException:
            self.close()
            raise

    def _advance(self, index: Index, change: Callable[[], None]) -> None:
        """Both halves change, or neither: what fails is forgotten, and the next write opens what the manifest names.
        Readers keep what they have, because opening takes room, and the disk may be full."""
        self._advancing = True
        try:
            change()
            manifest = index.commit()
            manifests.write(self._folder, manifest)
            self._serve(index, manifest)
        except BaseException as error:
            index.keywords.rest()
            self._spoiled = True
            if tells_of_damage(error):
                self.doubt(error)
            raise
        finally:
            self._advancing = False

    def _begun(self, fingerprint: str, dimension: int) -> Index:
        self._exist()
        return Index.create(self._folder / next_name(self._folder, "gen"), fingerprint, dimension)

    def _exist(self) -> None:
        """A folder is never seen without its manifest: one that has lost it is damaged."""
        if not self._folder.is_dir():
            self._leftovers.bring(self._folder, lambda folder: manifests.write(folder, Manifest()))

    def _tidy(self, manifest: Manifest) -> None:
        """Remove what the manifest does not name."""
        spared = [manifests.FILE, manifest.generation]
        if self._build is not None:
            spared.append(self._build.index.folder.name)
        for path in self._folder.iterdir():
            if path.name not in spared:
                remove(path)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Damage stays until another index takes the place of this one, also when the process ends before."""
        try:
            yield
        except Damaged as damage:
            if self._damage is None:
                self._damage = str(damage)  # before it is closed: readers who still hold a snapshot have to know
                self._note(self._damage)
            self.close()
            raise

    def _note(self, damage: str) -> None:
        try:
            generation = manifests.read(self._folder).generation
        except Damaged:
            return  # it shows again at every opening
        if generation and (self._folder / generation).is_dir():
            with suppress(OSError):  # a full disk: it is found again
                (self._folder / generation / _DAMAGED).write_text(damage, encoding="utf-8")


class Build:
    """An index that is written beside the one in service."""

    def __init__(self, namespace: Namespace, lock: threading.RLock, index: Index) -> None:
        self._namespace = namespace
        self._lock = lock
        self._newer: set[int] = set()  # ids that were written or deleted since it was begun
        self._uncommitted = 0
        self._over = False
        self.index = index

    @telling_of_trouble()
    def write(self, batch: Batch) -> None:
        with self._lock, self._going_on():
            places = [place for place, id in enumerate(batch.ids) if id not in self._newer]
            if places:
                self.index.write(batch if len(places) == len(batch) else _part(batch, places))
            self._uncommitted += len(places)
            if self._uncommitted >= _COMMIT_EVERY:
                self.index.keywords.commit()
                self._uncommitted = 0

    def follow(self, ids: Sequence[int], change: Callable[[], None]) -> None:
        """Do what was done to the index in service."""
        with self._going_on():
            self._newer.update(ids)
            change()

    @telling_of_trouble()
    def switch(self) -> None:
        with self._lock:
            with self._going_on():
                manifest = self.index.finish()
                self._namespace.switch(manifest)
            self._over = True
            self._namespace.adopt(self.index, manifest)

    def abandon(self) -> None:
        with self._lock:
            if not self._over:
                self._over = True
                self._namespace.forget(self)

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """A build that fails in the middle is good for nothing."""
        if self._over:
            raise Abandoned(f"{self.index.folder}: this build is over")
        try:
            yield
        except BaseException:
            self.abandon()
            raise


def _part(batch: Batch, places: Sequence[int]) -> Batch:
    columns = batch.ids, batch.doc_ids, batch.sources, batch.terms
    ids, doc_ids, sources, terms = ([column[place] for place in places] for column in columns)
    return Batch(ids, doc_ids, sources, terms, batch.vectors[places])  # type: ignore[arg-type]


def _without_vectors(batch: Batch, manifest: Manifest) -> Batch:
    return replace(batch, vectors=np.zeros((len(batch), manifest.dimension), np.float32))
