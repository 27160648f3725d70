"""A namespace of the service that is written beside the one in service, and then takes its place in the catalogue."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from findspot.engines.protocol import Abandoned, Batch
from findspot.engines.turbopuffer.catalog import Catalog, Placement

if TYPE_CHECKING:
    from findspot.engines.turbopuffer.engine import TurbopufferEngine


class TurbopufferBuild:
    """Implements Build. What is copied has the revision of the start of the build, so that it never replaces what was
    written since. What was deleted since is remembered here."""

    def __init__(
        self, engine: TurbopufferEngine, catalog: Catalog, namespace: str, placement: Placement, revision: int
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._placement = placement
        self._revision = revision
        self._deleted: set[int] = set()
        self._lock = threading.Lock()  # a copy and a delete of the same chunk must not overlap
        self._following = threading.Lock()  # no switch between a change of the index in service and its repetition here
        self._is_over = False
        self.namespace = namespace

    def write(self, batch: Batch) -> None:
        with self._lock:
            self._check()
            self._engine.put(self._placement, batch, self._revision, skipped=frozenset(self._deleted))

    def switch(self) -> None:
        self._engine.warm_up(self._placement)  # may take seconds, in which changes go on
        with self._following, self._lock:
            self._check()
            self._is_over = True
            if not self._catalog.switch(self.namespace, self._placement.name):
                raise Abandoned(f"{self._placement.name}: this build is no longer wanted")
        self._engine.build_ended(self)

    def abandon(self) -> None:
        if not self._is_over:
            self.end()
            self._catalog.discard(self._placement.name)
            self._engine.build_ended(self)

    def end(self) -> None:
        """Accept nothing any more."""
        self._is_over = True

    def require_kind(self, fingerprint: str, dimension: int) -> None:
        """Raise ValueError if vectors of this kind do not belong into the new index."""
        if (self._placement.fingerprint, self._placement.dimension) != (fingerprint, dimension):
            raise ValueError(f"{self.namespace} is being rebuilt for {self._placement.fingerprint}, not {fingerprint}")

    @contextmanager
    def following(self) -> Iterator[TurbopufferBuild | None]:
        """Keep the index from being switched while another one is changed, and give this build if it has to follow."""
        with self._following:
            yield None if self._is_over else self

    def follow_write(self, batch: Batch, revision: int) -> None:
        """Repeat a write that was made to the index in service."""
        with self._lock:
            if not self._is_over:
                self._engine.put(self._placement, batch, revision)

    def follow_delete(self, ids: Sequence[int], fence: int, revision: int) -> None:
        """Repeat a delete that was made in the index in service."""
        with self._lock:
            if not self._is_over:
                self._deleted.update(ids)
                self._engine.remove(self._placement, ids, fence, revision)

    def _check(self) -> None:
        if self._is_over:
            raise Abandoned(f"{self._placement.name}: this build is over")
