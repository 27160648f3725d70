"""The engine: namespaces by name, and both legs of a recall."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from findspot.engines.embedded.index import Snapshot
from findspot.engines.embedded.leftovers import Leftovers
from findspot.engines.embedded.manifest import telling_of_trouble, tells_of_damage
from findspot.engines.embedded.namespace import Build, Namespace
from findspot.engines.protocol import EVERYTHING, Batch, Misfit, Recall, Status, Stop, Vector, Within, Words

_NAME = re.compile(r"(project_\d+)_(?:table_\d+|documents)", re.ASCII)
_OF_DOCUMENTS = "_documents"  # ends the name of a namespace that has such chunks
_MOST_OPEN = 512  # namespaces: each has some dozen mapped files, of which a process may have 65,530
_MOST_WRITING = 4  # writers: each has some 20 MB and six threads
_IDLE_S = 120  # after that, a writer is closed, and an index that is opened again in no time
_SMALL = 8 << 20  # bytes of such an index; while it is open, tantivy looks twice a second whether it has changed
_LOOK_S = 30


class EmbeddedEngine:
    """All namespaces below one folder, which belongs to this process alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._leftovers = Leftovers(folder / ".leftovers")
        self._namespaces: dict[str, Namespace] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._watch = threading.Thread(target=self._shed_now_and_then, name="engine", daemon=True)
        self._watch.start()
        self._pool = ThreadPoolExecutor(max(4, 2 * (os.cpu_count() or 1)), thread_name_prefix="keywords")

    def prepare(self) -> None:
        import faiss  # noqa: F401

    @telling_of_trouble()
    def write(self, namespace: str, fingerprint: str, batch: Batch) -> None:
        self._at(namespace).write(fingerprint, batch)
        self._shed()

    @telling_of_trouble()
    def delete(self, namespace: str, ids: Sequence[int]) -> None:
        self._at(namespace).delete([int(id) for id in ids])
        self._shed()

    @telling_of_trouble()
    def evict(self, namespace: str, ids: Sequence[int]) -> None:
        self._at(namespace).evict([int(id) for id in ids])
        self._shed()

    @telling_of_trouble()
    def recall(
        self,
        namespace: str,
        words: Words | None,
        vector: Vector | None,
        *,
        limit: int,
        within: Within = EVERYTHING,
        stop: Stop = lambda: None,
    ) -> Recall:
        stop()
        place = self._at(namespace)
        snapshot = self._snapshot(place)
        if snapshot is None or limit <= 0:
            return Recall(is_there=snapshot is not None)
        if vector is not None and len(vector) != snapshot.manifest.dimension:
            raise Misfit(f"{namespace} holds vectors of {snapshot.manifest.dimension} numbers, not {len(vector)}")
        recall = self._recalled(place, snapshot, words, vector, limit, within, stop)
        if namespace.endswith(_OF_DOCUMENTS):
            recall = replace(recall, documents=snapshot.vectors.documents({**recall.keyword, **recall.vector}))
        place.trust(snapshot)
        return recall

    def _recalled(
        self,
        place: Namespace,
        snapshot: Snapshot,
        words: Words | None,
        vector: Vector | None,
        limit: int,
        within: Within,
        stop: Stop,
    ) -> Recall:
        """What both legs find, side by side."""
        if vector is None:
            keyword, full = _best(place, snapshot, words, limit, within)
            return Recall(keyword, full=full, more_full=len(full) == limit)
        running = self._pool.submit(_best, place, snapshot, words, limit, within)
        try:
            found = _nearest(snapshot, vector, limit, within, stop)
            keyword, full = running.result()
            stop()
        finally:
            running.cancel()
        alone = [id for id in found if id not in keyword] if len(keyword) == limit else []  # else no others match
        vector_also = snapshot.vectors.cosines(vector, [id for id in keyword if id not in found])
        keyword_also, more_full = _scores(place, snapshot, words, alone), len(full) == limit
        if words and more_full:
            with _reading(place):
                full |= snapshot.lookup.full(words, list(keyword_also))
        return Recall(keyword, found, keyword_also, vector_also, full, more_full)

    @telling_of_trouble()
    def count(self, namespace: str, words: Words | None, within: Within = EVERYTHING) -> int:
        place = self._at(namespace)
        snapshot = self._snapshot(place)
        if snapshot is None:
            return 0
        if words is None:
            return int(np.count_nonzero(snapshot.vectors.mask(within)))
        with _reading(place):
            count = snapshot.lookup.count(words, within)
        place.trust(snapshot)
        return count

    @telling_of_trouble()
    def scores(self, namespace: str, words: Words, ids: Sequence[int]) -> dict[int, float]:
        place = self._at(namespace)
        snapshot = self._snapshot(place)
        if snapshot is None:
            return {}
        scores = _scores(place, snapshot, words, ids)
        place.trust(snapshot)
        return scores

    @telling_of_trouble()
    def cosines(self, namespace: str, vector: Vector, ids: Sequence[int]) -> dict[int, float]:
        place = self._at(namespace)
        snapshot = self._snapshot(place)
        if snapshot is None or len(vector) != snapshot.manifest.dimension:
            return {}
        cosines = snapshot.vectors.cosines(vector, ids)
        place.trust(snapshot)
        return cosines

    @telling_of_trouble()
    def build(self, namespace: str, fingerprint: str, dimension: int) -> Build:
        return self._at(namespace).build(fingerprint, dimension)

    @telling_of_trouble()
    def ids(self, namespace: str) -> npt.NDArray[np.int64]:
        snapshot = self._snapshot(self._at(namespace))
        return np.empty(0, np.int64) if snapshot is None else snapshot.vectors.ids()

    @telling_of_trouble()
    def vector_ids(self, namespace: str) -> npt.NDArray[np.int64]:
        snapshot = self._snapshot(self._at(namespace))
        return np.empty(0, np.int64) if snapshot is None else snapshot.vectors.vector_ids()

    @telling_of_trouble()
    def status(self, namespace: str) -> Status:
        snapshot = self._snapshot(self._at(namespace))
        if snapshot is None:
            return Status(0, 0, 0, "", 0)
        manifest, vectors = snapshot.manifest, snapshot.vectors
        return Status(
            int(np.count_nonzero(vectors.living)),
            int(np.count_nonzero(vectors.hits)),
            manifest.bytes,
            manifest.fingerprint,
            manifest.dimension,
            int(np.count_nonzero(vectors.living & vectors.evicted)),
        )

    @telling_of_trouble()
    def verify(self, namespace: str) -> None:
        """Read every file again. Raises Damaged if one is not as it was written."""
        self._at(namespace).verify()

    def namespaces(self, project_id: int) -> list[str]:
        folder = self._folder / f"project_{project_id}"
        found = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        return sorted(filter(_NAME.fullmatch, found))  # a file browser may have left something of its own there

    @telling_of_trouble()
    def drop(self, namespace: str) -> None:
        self._at(namespace).drop()

    def drop_project(self, project_id: int) -> None:
        with self._lock:
            known = [name for name in self._namespaces if _project(name) == f"project_{project_id}"]
        for name in {*known, *self.namespaces(project_id)}:
            self.drop(name)

    def close(self) -> None:
        self._closed.set()
        self._watch.join()
        self._pool.shutdown(cancel_futures=True)
        with self._lock:
            namespaces = list(self._namespaces.values())
        for namespace in namespaces:
            namespace.end()

    def _at(self, name: str) -> Namespace:
        folder = self._folder / _project(name) / name
        with self._lock:
            namespace = self._namespaces.get(name)
            if namespace is None:
                namespace = self._namespaces[name] = Namespace(folder, self._leftovers)
        namespace.used = time.monotonic()
        return namespace

    def _snapshot(self, namespace: Namespace) -> Snapshot | None:
        if namespace.is_open:
            return namespace.snapshot()
        snapshot = namespace.snapshot()
        self._shed()
        return snapshot

    def _shed_now_and_then(self) -> None:
        while not self._closed.wait(_LOOK_S):
            self._shed()

    def _shed(self) -> None:
        """Close what was not used for longest if too much is open, and what is idle if it costs something."""
        with self._lock:
            namespaces = list(self._namespaces.values())
        in_use = sorted((each for each in namespaces if each.is_open), key=lambda each: each.used)
        writing = [each for each in in_use if each.is_writing]
        idle = [each for each in in_use if each.used < time.monotonic() - _IDLE_S]
        for each in [*in_use[:-_MOST_OPEN], *(each for each in idle if each.size < _SMALL)]:
            each.try_to(Namespace.close)
        for each in [*writing[:-_MOST_WRITING], *idle]:
            each.try_to(Namespace.rest)


def _project(name: str) -> str:
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is no name of a namespace")
    return match[1]


def _best(
    place: Namespace, snapshot: Snapshot, words: Words | None, limit: int, within: Within
) -> tuple[dict[int, float], set[int]]:
    with _reading(place):
        return snapshot.lookup.best(words, limit, within) if words else ({}, set())


def _scores(place: Namespace, snapshot: Snapshot, words: Words | None, ids: Sequence[int]) -> dict[int, float]:
    with _reading(place):
        return snapshot.lookup.scores(words, ids) if words else {}


def _nearest(snapshot: Snapshot, vector: Vector, limit: int, within: Within, stop: Stop) -> dict[int, float]:
    ids, cosines = snapshot.vectors.nearest(vector, limit, snapshot.vectors.mask(within), stop)
    return dict(zip(ids.tolist(), cosines.tolist(), strict=True))


@contextmanager
def _reading(namespace: Namespace) -> Iterator[None]:
    """What tantivy raises, or panics with, is damage if there is some."""
    try:
        yield
    except BaseException as error:
        if tells_of_damage(error):
            namespace.doubt(error)
        raise
