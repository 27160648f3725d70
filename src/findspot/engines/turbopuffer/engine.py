"""The engine: namespaces of the service, found through the catalogue."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from findspot.engines.protocol import (
    EVERYTHING,
    Batch,
    Damaged,
    DimensionMismatch,
    Recall,
    Status,
    Stop,
    Vector,
    Within,
    Words,
)
from findspot.engines.turbopuffer import queries, rows
from findspot.engines.turbopuffer.asked import Asked
from findspot.engines.turbopuffer.build import TurbopufferBuild
from findspot.engines.turbopuffer.catalog import Catalog, Placement
from findspot.engines.turbopuffer.queries import AGGREGATION, Keywords
from findspot.engines.turbopuffer.schema import METRIC, schema
from findspot.engines.turbopuffer.transport import Missing, Transport
from findspot.errors import FindspotError

log = logging.getLogger(__name__)

T = TypeVar("T")

DELETED_AT_ONCE = 5000  # chunks named in one filter
_NOTHING = Status(0, 0, 0, "", 0)


class TurbopufferEngine:
    """Implements Engine. It keeps nothing in this process that others have to know, except builds in progress: these
    belong to the process that writes the namespace."""

    files = None

    def __init__(self, transport: Transport, catalog: Catalog, batch_size: int = 1000) -> None:
        self._transport = transport
        self._catalog = catalog
        self._batch_size = batch_size
        self._revisions = rows.Revisions()
        self._lock = threading.Lock()
        self._builds: dict[str, TurbopufferBuild] = {}

    def prepare(self) -> None:
        """Do nothing: the library was loaded when the engine was opened."""

    def warm(self, namespace: str) -> None:
        try:
            if (placement := self._catalog.serving(namespace)) is not None:
                self.warm_up(placement)
        except FindspotError as error:  # of the store
            log.info("%s could not be warmed: %s", namespace, error)

    def warm_up(self, placement: Placement) -> None:
        """Have the service load one of its namespaces. Searches work without it."""
        try:
            self._transport.warm(placement.name)
        except (Missing, FindspotError) as error:
            log.info("%s could not be warmed: %s", placement.name, error)

    # ── writing ──

    def write(self, namespace: str, fingerprint: str, batch: Batch) -> None:
        dimension = batch.vectors.shape[1]
        with self._following(namespace) as build:
            if build is not None:
                build.require_kind(fingerprint, dimension)
            placement, is_new = self._catalog.claim(namespace, fingerprint, dimension, batch.fence)
            if is_new:
                self._create(placement)
            fits = (placement.fingerprint, placement.dimension) == (fingerprint, dimension)
            if not fits and build is None:
                held = f"{placement.fingerprint} ({placement.dimension})"
                raise ValueError(f"{namespace} has vectors of {held}, not {fingerprint} ({dimension})")
            revision = self._revisions.next()
            self.put(placement, batch, revision, vectors=fits)
            if build is not None:
                build.follow_write(batch, revision)

    @contextmanager
    def _following(self, namespace: str) -> Iterator[TurbopufferBuild | None]:
        """Give the build that a change has to follow to, if there is one. It is switched before the change or after."""
        build = self._builds.get(namespace)
        with build.following() if build is not None else nullcontext() as following:
            yield following

    def put(
        self,
        placement: Placement,
        batch: Batch,
        revision: int,
        *,
        vectors: bool = True,
        skipped: frozenset[int] = frozenset(),
    ) -> None:
        """Write a batch to one namespace of the service, in parts."""
        for positions in rows.parts(batch, self._batch_size, skipped):
            columns = rows.columns(batch, positions, revision, dimension=placement.dimension, vectors=vectors)
            try:
                self._transport.write(
                    placement.name,
                    upsert_columns=columns,
                    upsert_condition=rows.IS_NEWER,
                    distance_metric=METRIC,
                    schema=schema(placement.dimension),
                    create_namespace=False,  # a late write must not bring back what was deleted
                )
            except Missing as error:
                raise Damaged(f"{placement.name} is missing in turbopuffer") from error

    def _create(self, placement: Placement) -> None:
        """Create a namespace of the service, without rows."""
        self._transport.write(
            placement.name, create_namespace=True, distance_metric=METRIC, schema=schema(placement.dimension)
        )

    def delete(self, namespace: str, ids: Sequence[int], *, fence: int = 0) -> None:
        wanted = [int(id) for id in ids]
        with self._following(namespace) as build:
            revision = self._revisions.next()
            placement = self._catalog.admit(namespace, fence)
            if placement is not None:
                self.remove(placement, wanted, fence, revision)
            if build is not None:
                build.follow_delete(wanted, fence, revision)

    def remove(self, placement: Placement, ids: Sequence[int], fence: int, revision: int) -> None:
        """Delete chunks from one namespace of the service, in parts, until none is left."""
        for start in range(0, len(ids), DELETED_AT_ONCE):
            some = ["chunk_id", "In", list(ids[start : start + DELETED_AT_ONCE])]
            remaining = True
            while remaining:
                try:
                    written = self._transport.write(
                        placement.name,
                        delete_by_filter=["And", [some, rows.not_newer(fence, revision)]],
                        delete_by_filter_allow_partial=True,
                    )
                except Missing:
                    return
                remaining = bool(written.rows_remaining)

    def build(self, namespace: str, fingerprint: str, dimension: int) -> TurbopufferBuild:
        with self._lock:
            before = self._builds.pop(namespace, None)
        if before is not None:
            before.abandon()
        placement = self._catalog.begin(namespace, fingerprint, dimension)
        self._create(placement)
        build = TurbopufferBuild(self, self._catalog, namespace, placement, self._revisions.next())
        with self._lock:
            self._builds[namespace] = build
        return build

    def build_ended(self, build: TurbopufferBuild) -> None:
        """Forget a build that is over, and delete what it leaves behind."""
        with self._lock:
            if self._builds.get(build.namespace) is build:
                del self._builds[build.namespace]
        try:
            self._delete_unwanted(build.namespace)
        except FindspotError as error:  # `sweep` does it later
            log.warning("%s: an old index could not be deleted yet: %s", build.namespace, error.message)

    def drop(self, namespace: str, *, fence: int = 0) -> None:
        self._catalog.drop(namespace, fence)
        with self._lock:
            build = self._builds.pop(namespace, None)
        if build is not None:
            build.end()
        self._delete_unwanted(namespace)

    def sweep(self) -> None:
        self._delete_unwanted()

    def _delete_unwanted(self, namespace: str | None = None) -> None:
        """Delete the namespaces of the service that are no longer wanted. What fails is deleted later."""
        for name in self._catalog.unwanted(namespace):
            self._transport.delete(name)
            self._catalog.deleted(name)

    # ── reading ──

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
        stop()

        def ask(placement: Placement) -> Recall:
            if vector is not None and len(vector) != placement.dimension:
                raise DimensionMismatch(f"{namespace} has {placement.dimension} dimensions, not {len(vector)}")
            asked = Asked(words, vector, limit, within, list(dict.fromkeys(also)), count_to=count_to)
            return asked.answer(self._transport, placement, timeout_s)

        recall = self._reading(namespace, ask, Recall(exists=False))
        stop()
        return recall

    def count(self, namespace: str, words: Words | None, within: Within = EVERYTHING) -> int:
        keywords = Keywords(words) if words is not None else None
        if keywords and not keywords.can_match:
            return 0
        asked = [queries.count(keywords, part) for part in queries.filters(within)]
        return self._reading(namespace, lambda placement: sum(self._counts(placement, each)[0] for each in asked), 0)

    def frequencies(self, namespace: str, terms: Sequence[str], *, prefix: str | None = None) -> None:
        """Return None: the service does not tell its terms, and counting each would be a query of its own."""

    def ids(self, namespace: str) -> npt.NDArray[np.int64]:
        return np.array([chunk for chunk, _ in self.doc_ids(namespace)], np.int64)

    def doc_ids(self, namespace: str) -> list[tuple[int, str]]:
        def read(placement: Placement) -> list[tuple[int, str]]:
            found: list[tuple[int, str]] = []
            while True:
                answer = self._transport.query(placement.name, [queries.page(found[-1][0] if found else -1)], 1)
                some = [(int((row.model_extra or {})["chunk_id"]), str(row.id)) for row in answer.results[0].rows or ()]
                found += some
                if len(some) < queries.MAX_LIMIT:
                    return found

        return self._reading(namespace, read, [])

    def kind(self, namespace: str) -> tuple[str, int]:
        placement = self._catalog.serving(namespace)
        return ("", 0) if placement is None else (placement.fingerprint, placement.dimension)

    def status(self, namespace: str) -> Status:
        def read(placement: Placement) -> Status:
            chunks, vectors = self._counts(placement, queries.EVERY_ROW, queries.count(None, []))
            size = self._transport.metadata(placement.name).approx_logical_bytes
            return Status(chunks, vectors, size, placement.fingerprint, placement.dimension)

        return self._reading(namespace, read, _NOTHING)

    def namespaces(self, project_id: int) -> list[str]:
        return self._catalog.namespaces(project_id)

    def cancel(self) -> None:
        self._transport.cancel()

    def close(self) -> None:
        self._transport.close()

    def _counts(self, placement: Placement, *asked: queries.Query) -> list[int]:
        answer = self._transport.query(placement.name, asked, AGGREGATION * len(asked))
        return [int(str((result.aggregations or {})["count"])) for result in answer.results]

    def _reading(self, namespace: str, read: Callable[[Placement], T], nothing: T) -> T:
        """Read from the namespace in service. The one that is known may have been replaced: then try once more."""
        placement = self._catalog.serving(namespace)
        if placement is not None:
            try:
                return read(placement)
            except (Missing, DimensionMismatch) as error:
                newer = self._catalog.serving(namespace, fresh=True)
                if newer == placement and isinstance(error, DimensionMismatch):
                    raise
                if newer == placement:
                    return nothing
                placement = newer
        if placement is None:
            return nothing
        try:
            return read(placement)
        except Missing:
            return nothing
