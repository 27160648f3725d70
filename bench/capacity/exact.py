"""An exact search of everything that a project's database holds, in parallel, to compare the index with.

It embeds every chunk again, with its title and headings as the index does, and compares 32-bit floats.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from findspot.context import Context, embedded_text
from findspot.embedding.offline import OfflineEmbedder

ROWS = 20_000  # read at once
EQUAL = 1e-5  # cosines that differ by less count as equal
COLUMNS = "SELECT json_pointer, context, chunk_text FROM chunks"

Matrix = npt.NDArray[np.float32]


def recall(database: Path, queries: Sequence[str], found: Sequence[Sequence[int]], most: int) -> list[float]:
    """Return, for each query, which share of the `most` nearest chunks is among the ids that were found."""
    with closing(_opened(database)) as connection:
        least, highest = connection.execute("SELECT min(id), max(id) FROM chunks").fetchone()
    best = np.full((len(queries), most), -1.0, np.float32)
    starts = range(least, highest + 1, ROWS)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for some in pool.map(partial(_nearest, database, queries, most), starts):
            best = _largest(np.concatenate([best, some], axis=1), most)
    shares = []
    for query, ids, row in zip(queries, found, best, strict=True):
        cosines = _cosines_of(database, query, ids)
        shares.append(float(np.sum(cosines >= row.min() - EQUAL)) / most)
    return shares


def _opened(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{database}?mode=ro", uri=True)


def _nearest(database: Path, queries: Sequence[str], most: int, start: int) -> Matrix:
    """Return the cosines of the nearest chunks among those with these ids, for each query."""
    with closing(_opened(database)) as connection:
        rows = connection.execute(f"{COLUMNS} WHERE id >= ? AND id < ?", (start, start + ROWS)).fetchall()
    if not rows:
        return np.full((len(queries), 1), -1.0, np.float32)
    embedder = OfflineEmbedder()
    asked = np.stack([embedder.query(query) for query in queries])
    return _largest(asked @ embedder.documents(list(_texts(rows))).T, most)


def _cosines_of(database: Path, query: str, ids: Sequence[int]) -> Matrix:
    with closing(_opened(database)) as connection:
        marks = ",".join("?" * len(ids))
        rows = connection.execute(f"{COLUMNS} WHERE id IN ({marks})", list(ids)).fetchall()
    embedder = OfflineEmbedder()
    cosines: Matrix = (
        embedder.documents(list(_texts(rows))) @ embedder.query(query) if rows else np.zeros(0, np.float32)
    )
    return cosines


def _texts(rows: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    for pointer, context, encoded in rows:  # texts are stored as bytes
        text = encoded.decode()
        yield embedded_text(Context.of_row(context.decode(), pointer).outside(text), text)


def _largest(values: Matrix, most: int) -> Matrix:
    if values.shape[1] <= most:
        return values
    found: Matrix = -np.partition(-values, most - 1, axis=1)[:, :most]
    return found
