"""An index that is written beside the one in service, and then replaces it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from findspot.engines.embedded.os_errors import translate_os_errors
from findspot.engines.protocol import Abandoned, Batch

if TYPE_CHECKING:
    from findspot.engines.embedded.index import Index
    from findspot.engines.embedded.namespace import Namespace

_COMMIT_EVERY = 100_000  # chunks: tantivy merges earlier segments while later ones are written


class EmbeddedBuild:
    """Implements Build. Shares the lock of its namespace."""

    def __init__(self, namespace: Namespace, lock: threading.RLock, index: Index) -> None:
        self._namespace = namespace
        self._lock = lock
        self._newer: set[int] = set()  # ids that were written or deleted since the build started
        self._uncommitted = 0
        self._over = False
        self.index = index

    @translate_os_errors()
    def write(self, batch: Batch) -> None:
        with self._lock, self._abandoned_on_error():
            positions = [position for position, id in enumerate(batch.ids) if id not in self._newer]
            if positions:
                self.index.write(batch if len(positions) == len(batch) else _part(batch, positions))
            self._uncommitted += len(positions)
            if self._uncommitted >= _COMMIT_EVERY:
                self.index.keywords.commit()
                self._uncommitted = 0

    def apply(self, ids: Sequence[int], change: Callable[[], None]) -> None:
        """Repeat a change that was made to the index in service; the caller holds the lock."""
        with self._abandoned_on_error():
            self._newer.update(ids)
            change()

    @translate_os_errors()
    def switch(self) -> None:
        with self._lock:
            with self._abandoned_on_error():
                manifest = self.index.finish()
                self._namespace.write_manifest(manifest)
            self._over = True
            self._namespace.serve_build(self.index, manifest)

    def abandon(self) -> None:
        with self._lock:
            if not self._over:
                self._over = True
                self._namespace.discard_build(self)

    @contextmanager
    def _abandoned_on_error(self) -> Iterator[None]:
        """Abandon the build if a step fails, because the index may be half written."""
        if self._over:
            raise Abandoned(f"{self.index.folder}: this build is over")
        try:
            yield
        except BaseException:
            self.abandon()
            raise


def _part(batch: Batch, positions: Sequence[int]) -> Batch:
    columns = batch.ids, batch.doc_ids, batch.sources, batch.terms
    ids, doc_ids, sources, terms = ([column[position] for position in positions] for column in columns)
    contexts = [batch.context(position) for position in positions]
    return Batch(ids, doc_ids, sources, terms, batch.vectors[positions], contexts)  # type: ignore[arg-type]
