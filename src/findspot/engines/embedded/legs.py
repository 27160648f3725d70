"""One recall from a snapshot: the keyword leg, the vector leg, and how each scores what the other has found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from findspot.engines.embedded.codes import Query
from findspot.engines.embedded.index import Snapshot
from findspot.engines.embedded.keyword_search import Best
from findspot.engines.embedded.namespaces import OpenNamespace
from findspot.engines.embedded.os_errors import is_damage
from findspot.engines.embedded.row_finder import Ids
from findspot.engines.protocol import Recall, Stop, Vector, Within, Words


@dataclass(frozen=True, slots=True)
class Legs:
    """Answers one recall from a snapshot: by words, by vector, or by both."""

    namespace: OpenNamespace
    snapshot: Snapshot
    words: Words | None
    query: Query | None  # None for a vector of zeros too, which is near nothing
    limit: int
    within: Within
    stop: Stop
    count_to: int
    has_documents: bool  # the chunks were cut from documents

    def by_words(self) -> Recall:
        """Ask the keyword leg alone."""
        keyword, full, matches = self._best()
        more, documents = len(full) == self.limit, {}
        if self.has_documents:
            documents = self._documents(self.snapshot.vectors.find([*keyword]))
        return Recall(keyword, full_matches=full, more_full_matches=more, documents=documents, matches=matches)

    def by_vector(self) -> Recall:
        """Ask the vector leg alone."""
        rows, cosines = self._nearest()
        matches = vector_count(self.snapshot, self.within) if self.count_to else None
        return Recall(vector=self._by_id(rows, cosines), documents=self._documents(rows), matches=matches)

    def by_both(self, threads: ThreadPoolExecutor) -> Recall:
        """Ask both legs in parallel, then score what only one of them found with the other."""
        running = threads.submit(self._best_with_cosines)
        try:
            rows, cosines = self._nearest()
            found = self._by_id(rows, cosines)
            # The keyword leg often takes longer: meanwhile, score all, although it may find some of them too.
            scores = None if running.done() else self._scores([*found])
            (keyword, full, matches), keyword_rows, keyword_cosines = running.result()
            self.stop()
        finally:
            running.cancel()
        vector_also = {id: cosine for id, cosine in keyword_cosines.items() if id not in found}
        keyword_also, more = {}, len(full) == self.limit
        if len(keyword) == self.limit:  # otherwise no other chunk matches
            scores = self._scores([id for id in found if id not in keyword]) if scores is None else scores
            keyword_also = {id: score for id, score in scores.items() if id not in keyword}
        if self.words and more:
            with reading(self.namespace):
                full_also = self.snapshot.keywords.full_scores(self.words, list(keyword_also))
            keyword_also |= full_also
            full |= full_also.keys()
        documents = self._documents(np.concatenate((rows, keyword_rows)))
        return Recall(keyword, found, keyword_also, vector_also, full, more, documents, matches=matches)

    def with_scores_of(self, ids: Sequence[int], recall: Recall) -> Recall:
        """Add the scores of these chunks to those that a recall has."""
        others = [id for id in ids if id not in recall.keyword]
        by_words = self._scores(others)
        if self.words:
            with reading(self.namespace):
                by_words |= self.snapshot.keywords.full_scores(self.words, others)
        cosines = self._cosines(self.snapshot.vectors.find([id for id in ids if id not in recall.vector]))
        return replace(
            recall, keyword_also={**recall.keyword_also, **by_words}, vector_also={**recall.vector_also, **cosines}
        )

    def _best(self) -> Best:
        """Return the best chunks by keywords. Without words, there are as many matches as vectors.

        To count here, beside the vector leg, saves a search a hop to a thread and back: 0.1 ms.
        """
        if self.words is None:
            return Best({}, set(), vector_count(self.snapshot, self.within) if self.count_to else None)
        with reading(self.namespace):
            return self.snapshot.keywords.best(self.words, self.limit, self.within, count_to=self.count_to)

    def _best_with_cosines(self) -> tuple[Best, Ids, dict[int, float]]:
        """Return the best chunks by keywords, their rows and their cosines.

        All are compared here, although the vector leg finds some of them: it takes longer, so nothing waits for this.
        """
        best = self._best()
        rows = self.snapshot.vectors.find([*best.scores])
        return best, rows, self._cosines(rows)

    def _scores(self, ids: Sequence[int]) -> dict[int, float]:
        with reading(self.namespace):
            return self.snapshot.keywords.scores(self.words, ids) if self.words else {}

    def _nearest(self) -> tuple[Ids, Vector]:
        vectors = self.snapshot.vectors
        return vectors.nearest(self.query, self.limit, vectors.mask(self.within), self.stop)

    def _cosines(self, rows: Ids) -> dict[int, float]:
        return self.snapshot.vectors.cosines(self.query, rows) if len(rows) else {}

    def _by_id(self, rows: Ids, cosines: Vector) -> dict[int, float]:
        return dict(zip(self.snapshot.vectors.chunk_ids[rows].tolist(), cosines.tolist(), strict=True))

    def _documents(self, rows: Ids) -> dict[int, int]:
        return self.snapshot.vectors.documents(rows) if self.has_documents else {}


def vector_count(snapshot: Snapshot, within: Within) -> int:
    """Return how many chunks that pass a filter have a vector."""
    return int(np.count_nonzero(snapshot.vectors.mask(within)))


@contextmanager
def reading(namespace: OpenNamespace) -> Iterator[None]:
    """If tantivy raises or panics, verify the files: the error is Damaged if they are damaged."""
    try:
        yield
    except BaseException as error:
        if is_damage(error):
            namespace.verify_after(error)
        raise
