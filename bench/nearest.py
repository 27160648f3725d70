"""Recall of vector search: the chunks that the index finds, compared with an exact search.

The exact search embeds every chunk of the database again, with its title and headings as the index does, and compares
32-bit floats. It reads the database in parts, in parallel, so that its memory does not depend on the number of chunks.
"""

import asyncio
import multiprocessing
import os
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from findspot import pointer
from findspot.app import App
from findspot.context import Context, embedded_text
from findspot.embedding.offline import OfflineEmbedder
from findspot.engines.protocol import EVERYTHING, Within

MOST = 10  # chunks for each query
ROWS = 20_000  # read at once
EQUAL = 1e-5  # cosines that differ by less count as equal
READ = """
    SELECT id, turbopuffer_namespace, document_id, json_pointer, context, chunk_text FROM chunks
    WHERE id >= ? AND id < ?"""

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Search:
    """What the index found in a namespace: the ids of the nearest chunks, for each query."""

    namespace: str
    within: Within
    found: list[list[int]]


async def ask(app: App, queries: Sequence[str], namespace: str, within: Within = EVERYTHING) -> Search:
    """Ask the engine itself: `table_search` leaves out chunks that are unrelated to the query."""
    found = []
    for query in queries:
        vector = await app.embeddings.query(query)
        recalled = await asyncio.to_thread(app.engine.recall, namespace, None, vector, limit=MOST, within=within)
        found.append(list(recalled.vector))
    return Search(namespace, within, found)


def recall(database: Path, queries: Sequence[str], searches: Sequence[Search]) -> list[list[float]]:
    """Return, for each search and each query, which share of the nearest chunks was found."""
    with closing(_opened(database)) as connection:
        least, highest = connection.execute("SELECT min(id), max(id) FROM chunks").fetchone()
    embedder = OfflineEmbedder()
    asked = np.stack([embedder.query(query) for query in queries])
    starts = range(least, highest + 1, ROWS)
    # Spawned: a forked process could inherit a lock that a thread of this one holds.
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        parts = list(pool.map(partial(_compare, database, asked, searches), starts))
    return [_shares(each, of_search) for each, of_search in zip(searches, zip(*parts, strict=True), strict=True)]


def _opened(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{database}?mode=ro", uri=True)


# ── one part of the database ──


class Part(NamedTuple):
    """Cosines of chunks in one part of the database, for each query."""

    nearest: Matrix  # of the nearest chunks that pass the filter
    found: list[list[float]]  # of the chunks that the index found


class Row(NamedTuple):
    """A row of `chunks`. Its texts are bytes."""

    id: int
    namespace: str
    document_id: int | None
    pointer: str
    context: bytes | None
    text: bytes

    @property
    def embedded(self) -> str:
        text, context = self.text.decode(), None if self.context is None else self.context.decode()
        return embedded_text(Context.of_row(context, self.pointer).outside(text), text)

    def passes(self, namespace: str, within: Within) -> bool:
        """Return whether it is one of these documents, or below the pointer. Other filters are not supported."""
        return (
            self.namespace == namespace
            and pointer.holds(within.pointer, self.pointer)
            and (within.document_ids is None or self.document_id in within.document_ids)
        )


def _compare(database: Path, asked: Matrix, searches: Sequence[Search], start: int) -> list[Part]:
    """Return the part that begins with this id, for each search. Its chunks are embedded once for all searches."""
    with closing(_opened(database)) as connection:
        rows = [Row(*values) for values in connection.execute(READ, (start, start + ROWS))]
    cosines: Matrix = asked @ OfflineEmbedder().documents([row.embedded for row in rows]).T
    return [_part(rows, cosines, each) for each in searches]


def _part(rows: Sequence[Row], cosines: Matrix, search: Search) -> Part:
    columns = [at for at, row in enumerate(rows) if row.passes(search.namespace, search.within)]
    column_of = {rows[at].id: at for at in columns}
    found = [
        [float(of_query[column_of[id]]) for id in ids if id in column_of]
        for of_query, ids in zip(cosines, search.found, strict=True)
    ]
    return Part(_largest(cosines[:, columns]), found)


def _largest(values: Matrix) -> Matrix:
    if values.shape[1] <= MOST:
        return values
    found: Matrix = -np.partition(-values, MOST - 1, axis=1)[:, :MOST]
    return found


# ── all parts ──


def _shares(search: Search, parts: Sequence[Part]) -> list[float]:
    nearest = _largest(np.concatenate([part.nearest for part in parts], axis=1))
    shares = []
    for number, ids in enumerate(search.found):
        cosines = [cosine for part in parts for cosine in part.found[number]]
        assert len(cosines) == len(ids), "a chunk that was found does not pass the filter"
        least = float(nearest[number].min()) - EQUAL
        shares.append(sum(cosine >= least for cosine in cosines) / nearest.shape[1])
    return shares
