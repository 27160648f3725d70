"""The embedded engine: keyword search with tantivy and vector search, in this process. See docs/embedded-engine.md."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from findspot.engines.embedded.files import EmbeddedFiles
from findspot.engines.embedded.index import Snapshot
from findspot.engines.embedded.namespace import Namespace
from findspot.engines.embedded.namespaces import Namespaces
from findspot.engines.embedded.os_errors import is_damage, translate_os_errors
from findspot.engines.protocol import EVERYTHING, Batch, DimensionMismatch, Recall, Status, Stop, Vector, Within, Words

_DOCUMENTS = "_documents"  # suffix of namespaces whose chunks come from documents


class EmbeddedEngine:
    """All namespaces below one folder, which belongs to this process alone."""

    def __init__(self, folder: Path) -> None:
        self._namespaces = Namespaces(folder)
        self._pool = ThreadPoolExecutor(max(4, 2 * (os.cpu_count() or 1)), thread_name_prefix="keywords")
        self.files = EmbeddedFiles(self._namespaces)

    @translate_os_errors()
    def prepare(self) -> None:
        import faiss  # noqa: F401

    @translate_os_errors()
    def write(self, namespace: str, fingerprint: str, batch: Batch) -> None:
        self._namespaces.get(namespace).write(fingerprint, batch)
        self._namespaces.close_idle()

    @translate_os_errors()
    def delete(self, namespace: str, ids: Sequence[int]) -> None:
        self._namespaces.get(namespace).delete([int(id) for id in ids])
        self._namespaces.close_idle()

    @translate_os_errors()
    def recall(
        self,
        namespace: str,
        words: Words | None,
        vector: Vector | None,
        *,
        limit: int,
        within: Within = EVERYTHING,
        also: Sequence[int] = (),
        stop: Stop = lambda: None,
    ) -> Recall:
        stop()
        opened, snapshot = self._open(namespace)
        if snapshot is None:
            return Recall(exists=False)
        if vector is not None and len(vector) != snapshot.manifest.dimension:
            raise DimensionMismatch(f"{namespace} has {snapshot.manifest.dimension} dimensions, not {len(vector)}")
        recall = self._search(opened, snapshot, words, vector, limit, within, stop) if limit > 0 else Recall()
        if also:
            recall = _with_scores_of(also, opened, snapshot, words, vector, recall)
        if namespace.endswith(_DOCUMENTS):
            recall = replace(recall, documents=snapshot.vectors.documents({**recall.keyword, **recall.vector}))
        opened.check_unchanged(snapshot)
        return recall

    def _search(
        self,
        namespace: Namespace,
        snapshot: Snapshot,
        words: Words | None,
        vector: Vector | None,
        limit: int,
        within: Within,
        stop: Stop,
    ) -> Recall:
        """Run both legs in parallel, then score what only one of them found with the other."""
        if vector is None:
            keyword, full = _best(namespace, snapshot, words, limit, within)
            return Recall(keyword, full_matches=full, more_full_matches=len(full) == limit)
        running = self._pool.submit(_best, namespace, snapshot, words, limit, within)
        try:
            found = _nearest(snapshot, vector, limit, within, stop)
            keyword, full = running.result()
            stop()
        finally:
            running.cancel()
        # If keywords found fewer than the limit, no other chunk matches them.
        vector_only = [id for id in found if id not in keyword] if len(keyword) == limit else []
        vector_also = snapshot.vectors.cosines(vector, [id for id in keyword if id not in found])
        keyword_also, more = _scores(namespace, snapshot, words, vector_only), len(full) == limit
        if words and more:
            with _reading(namespace):
                full |= snapshot.keywords.full_matches(words, list(keyword_also))
        return Recall(keyword, found, keyword_also, vector_also, full, more)

    @translate_os_errors()
    def count(self, namespace: str, words: Words | None, within: Within = EVERYTHING) -> int:
        opened, snapshot = self._open(namespace)
        if snapshot is None:
            return 0
        if words is None:
            return int(np.count_nonzero(snapshot.vectors.mask(within)))
        with _reading(opened):
            count = snapshot.keywords.count(words, within)
        opened.check_unchanged(snapshot)
        return count

    @translate_os_errors()
    def frequencies(self, namespace: str, terms: Sequence[str], *, prefix: str | None = None) -> dict[str, int]:
        opened, snapshot = self._open(namespace)
        if snapshot is None:
            return {}
        with _reading(opened):
            found = snapshot.keywords.frequencies(terms, prefix)
        opened.check_unchanged(snapshot)
        return found

    @translate_os_errors()
    def ids(self, namespace: str) -> npt.NDArray[np.int64]:
        _, snapshot = self._open(namespace)
        return np.empty(0, np.int64) if snapshot is None else snapshot.vectors.ids()

    @translate_os_errors()
    def status(self, namespace: str) -> Status:
        _, snapshot = self._open(namespace)
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
            manifest.is_outdated,
        )

    @translate_os_errors()
    def namespaces(self, project_id: int) -> list[str]:
        return self._namespaces.names(project_id)

    @translate_os_errors()
    def drop(self, namespace: str) -> None:
        self._namespaces.get(namespace).drop()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._namespaces.close()

    def _open(self, name: str) -> tuple[Namespace, Snapshot | None]:
        namespace = self._namespaces.get(name)
        return namespace, self._namespaces.snapshot(namespace)


def _best(
    namespace: Namespace, snapshot: Snapshot, words: Words | None, limit: int, within: Within
) -> tuple[dict[int, float], set[int]]:
    """Return the best chunks by keywords, and which of them are full matches."""
    with _reading(namespace):
        return snapshot.keywords.best(words, limit, within) if words else ({}, set())


def _scores(namespace: Namespace, snapshot: Snapshot, words: Words | None, ids: Sequence[int]) -> dict[int, float]:
    with _reading(namespace):
        return snapshot.keywords.scores(words, ids) if words else {}


def _nearest(snapshot: Snapshot, vector: Vector, limit: int, within: Within, stop: Stop) -> dict[int, float]:
    ids, cosines = snapshot.vectors.nearest(vector, limit, snapshot.vectors.mask(within), stop)
    return dict(zip(ids.tolist(), cosines.tolist(), strict=True))


def _with_scores_of(
    ids: Sequence[int],
    namespace: Namespace,
    snapshot: Snapshot,
    words: Words | None,
    vector: Vector | None,
    recall: Recall,
) -> Recall:
    """Add the scores of these chunks to those that a recall has."""
    by_words = _scores(namespace, snapshot, words, [id for id in ids if id not in recall.keyword])
    cosines = {} if vector is None else snapshot.vectors.cosines(vector, [id for id in ids if id not in recall.vector])
    return replace(
        recall, keyword_also={**recall.keyword_also, **by_words}, vector_also={**recall.vector_also, **cosines}
    )


@contextmanager
def _reading(namespace: Namespace) -> Iterator[None]:
    """If tantivy raises or panics, verify the files: the error is Damaged if they are damaged."""
    try:
        yield
    except BaseException as error:
        if is_damage(error):
            namespace.verify_after(error)
        raise
