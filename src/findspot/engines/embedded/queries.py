"""The query side of the embedded engine, over the snapshots of open namespaces."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from findspot.engines.embedded.index import Snapshot
from findspot.engines.embedded.keyword_search import Best
from findspot.engines.embedded.namespaces import Namespaces, OpenNamespace
from findspot.engines.embedded.os_errors import is_damage, translate_os_errors
from findspot.engines.protocol import (
    EVERYTHING,
    Damaged,
    DimensionMismatch,
    Recall,
    Status,
    Stop,
    Vector,
    Within,
    Words,
)

log = logging.getLogger(__name__)

T = TypeVar("T")
N = TypeVar("N", bound=OpenNamespace)

_DOCUMENTS = "_documents"  # suffix of namespaces whose chunks come from documents
_TRIES = 5  # of a query whose files another process replaces meanwhile


class Queries(Generic[N]):
    """Answers queries. `EmbeddedEngine` adds writing; `EmbeddedReader` follows an index that another process writes."""

    def __init__(self, namespaces: Namespaces[N]) -> None:
        self._namespaces = namespaces
        self._pool = ThreadPoolExecutor(max(4, 2 * (os.cpu_count() or 1)), thread_name_prefix="keywords")

    @translate_os_errors()
    def prepare(self) -> None:
        import faiss  # noqa: F401

    def warm(self, namespace: str) -> None:
        """Open the index: one of a million chunks takes half a second."""
        try:
            self._namespaces.snapshot(self._namespaces.get(namespace))
        except (Damaged, OSError, ValueError) as error:  # the next recall reports it
            log.info("%s could not be opened: %s", namespace, error)

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
        counting: bool = False,
        timeout_s: float | None = None,
    ) -> Recall:
        def read(opened: OpenNamespace, snapshot: Snapshot) -> Recall:
            if vector is not None and len(vector) != snapshot.manifest.dimension:
                raise DimensionMismatch(f"{namespace} has {snapshot.manifest.dimension} dimensions, not {len(vector)}")
            recall = Recall()
            if limit > 0:
                recall = self._search(opened, snapshot, words, vector, limit, within, stop, counting)
            if also:
                recall = _with_scores_of(also, opened, snapshot, words, vector, recall)
            if namespace.endswith(_DOCUMENTS):
                recall = replace(recall, documents=snapshot.vectors.documents({**recall.keyword, **recall.vector}))
            opened.check_unchanged(snapshot)
            return recall

        stop()
        return self._read(namespace, read, Recall(exists=False))

    def _search(
        self,
        namespace: OpenNamespace,
        snapshot: Snapshot,
        words: Words | None,
        vector: Vector | None,
        limit: int,
        within: Within,
        stop: Stop,
        counting: bool,
    ) -> Recall:
        """Run both legs in parallel, then score what only one of them found with the other."""
        if vector is None:
            keyword, full, matches = _best(namespace, snapshot, words, limit, within, counting)
            return Recall(keyword, full_matches=full, more_full_matches=len(full) == limit, matches=matches)
        running = self._pool.submit(_best, namespace, snapshot, words, limit, within, counting)
        try:
            found = _nearest(snapshot, vector, limit, within, stop)
            keyword, full, matches = running.result()
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
        return Recall(keyword, found, keyword_also, vector_also, full, more, matches=matches)

    @translate_os_errors()
    def count(self, namespace: str, words: Words | None, within: Within = EVERYTHING) -> int:
        def read(opened: OpenNamespace, snapshot: Snapshot) -> int:
            if words is None:
                return _vector_count(snapshot, within)
            with _reading(opened):
                count = snapshot.keywords.count(words, within)
            opened.check_unchanged(snapshot)
            return count

        return self._read(namespace, read, 0)

    @translate_os_errors()
    def frequencies(self, namespace: str, terms: Sequence[str], *, prefix: str | None = None) -> dict[str, int]:
        def read(opened: OpenNamespace, snapshot: Snapshot) -> dict[str, int]:
            with _reading(opened):
                found = snapshot.keywords.frequencies(terms, prefix)
            opened.check_unchanged(snapshot)
            return found

        return self._read(namespace, read, {})

    @translate_os_errors()
    def ids(self, namespace: str) -> npt.NDArray[np.int64]:
        return self._read(namespace, lambda _, snapshot: snapshot.vectors.ids(), np.empty(0, np.int64))

    def doc_ids(self, namespace: str) -> None:
        """Return None: chunks are known by our ids alone."""

    @translate_os_errors()
    def kind(self, namespace: str) -> tuple[str, int]:
        def read(_: OpenNamespace, snapshot: Snapshot) -> tuple[str, int]:
            return snapshot.manifest.fingerprint, snapshot.manifest.dimension

        return self._read(namespace, read, ("", 0))

    @translate_os_errors()
    def status(self, namespace: str) -> Status:
        return self._read(namespace, lambda _, snapshot: _status(snapshot), Status(0, 0, 0, "", 0))

    @translate_os_errors()
    def namespaces(self, project_id: int) -> list[str]:
        return self._namespaces.names(project_id)

    def cancel(self) -> None:
        """Do nothing: no call waits for a service."""

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._namespaces.close()

    def _read(self, name: str, read: Callable[[OpenNamespace, Snapshot], T], nothing: T) -> T:
        """Return what `read` finds in the current snapshot, or `nothing` without an index.

        If the files of a snapshot are gone because another process has replaced them, read the next one.
        """
        namespace = self._namespaces.get(name)
        for attempt in range(1, _TRIES + 1):
            snapshot = self._namespaces.snapshot(namespace)
            if snapshot is None:
                break
            try:
                return read(namespace, snapshot)
            except Damaged:
                if attempt == _TRIES or not namespace.has_moved_on(snapshot):
                    raise
        return nothing


def _status(snapshot: Snapshot) -> Status:
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


def _best(
    namespace: OpenNamespace, snapshot: Snapshot, words: Words | None, limit: int, within: Within, counting: bool
) -> Best:
    """Return the best chunks by keywords. Without words, there are as many matches as vectors.

    To count here, beside the vector leg, saves a search a hop to a thread and back.
    """
    if words is None:
        return Best({}, set(), _vector_count(snapshot, within) if counting else None)
    with _reading(namespace):
        return snapshot.keywords.best(words, limit, within, counting=counting)


def _vector_count(snapshot: Snapshot, within: Within) -> int:
    return int(np.count_nonzero(snapshot.vectors.mask(within)))


def _scores(namespace: OpenNamespace, snapshot: Snapshot, words: Words | None, ids: Sequence[int]) -> dict[int, float]:
    with _reading(namespace):
        return snapshot.keywords.scores(words, ids) if words else {}


def _nearest(snapshot: Snapshot, vector: Vector, limit: int, within: Within, stop: Stop) -> dict[int, float]:
    ids, cosines = snapshot.vectors.nearest(vector, limit, snapshot.vectors.mask(within), stop)
    return dict(zip(ids.tolist(), cosines.tolist(), strict=True))


def _with_scores_of(
    ids: Sequence[int],
    namespace: OpenNamespace,
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
def _reading(namespace: OpenNamespace) -> Iterator[None]:
    """If tantivy raises or panics, verify the files: the error is Damaged if they are damaged."""
    try:
        yield
    except BaseException as error:
        if is_damage(error):
            namespace.verify_after(error)
        raise
