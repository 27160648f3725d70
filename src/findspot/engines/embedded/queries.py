"""The query side of the embedded engine, over the snapshots of open namespaces."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from findspot.engines.embedded.index import Snapshot
from findspot.engines.embedded.legs import Legs, reading, vector_count
from findspot.engines.embedded.namespaces import Namespaces, OpenNamespace
from findspot.engines.embedded.os_errors import translate_os_errors
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

    def prepare(self) -> None:
        """Do nothing: there is nothing to load."""

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
        count_to: int = 0,
        timeout_s: float | None = None,
    ) -> Recall:
        def read(opened: OpenNamespace, snapshot: Snapshot) -> Recall:
            if vector is not None and len(vector) != snapshot.manifest.dimension:
                raise DimensionMismatch(f"{namespace} has {snapshot.manifest.dimension} dimensions, not {len(vector)}")
            query = None if vector is None else snapshot.vectors.query(vector)
            has_documents = namespace.endswith(_DOCUMENTS)
            legs = Legs(opened, snapshot, words, query, limit, within, stop, count_to, has_documents)
            recall = Recall()
            if limit > 0 and vector is None:
                recall = legs.by_words()
            elif limit > 0 and words is None:
                recall = legs.by_vector()
            elif limit > 0:
                recall = legs.by_both(self._pool)
            if also:
                recall = legs.with_scores_of(also, recall)
            opened.check_unchanged(snapshot)
            return recall

        stop()
        return self._read(namespace, read, Recall(exists=False))

    @translate_os_errors()
    def count(self, namespace: str, words: Words | None, within: Within = EVERYTHING) -> int:
        def read(opened: OpenNamespace, snapshot: Snapshot) -> int:
            if words is None:
                return vector_count(snapshot, within)
            with reading(opened):
                count = snapshot.keywords.count(words, within)
            opened.check_unchanged(snapshot)
            return count

        return self._read(namespace, read, 0)

    @translate_os_errors()
    def frequencies(self, namespace: str, terms: Sequence[str], *, prefix: str | None = None) -> dict[str, int]:
        def read(opened: OpenNamespace, snapshot: Snapshot) -> dict[str, int]:
            with reading(opened):
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
