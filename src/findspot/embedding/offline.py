"""The embedder that needs no network: a static table of word vectors for English and Chinese, inside the package.

docs/offline-model.md describes its origin and how it makes a vector of a text.
"""

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from findspot.embedding.calibration import Calibration
from findspot.embedding.protocol import Vector, Vectors
from findspot.embedding.rows import Counts, RowFinder, Rows
from findspot.embedding.word_table import WordTable, row_lengths, sum_rows

MODEL = Path(__file__).parent / "model"

_PROCEDURE = b"2"  # change it with every change of this file or rows.py that changes a vector
_CHARACTERS_PER_PART = 48_000  # characters; they take about 10 ms. Smaller parts cost more: 12,000 take 25 % longer
_ROWS_KEPT = 1024  # of a query
_QUERIES_KEPT = 64
_THREADS = min(4, os.cpu_count() or 1)


class OfflineEmbedder:
    """The static model. It loads with the first call."""

    id = "offline"
    batch = 1024
    vector_weight = 0.25
    is_quick = True

    def __init__(self, folder: Path = MODEL, calibration: Calibration | None = None) -> None:
        self._folder = folder
        self._model: _Model | None = None
        self._loading = threading.Lock()
        self._calibration = calibration
        self.word_table = WordTable(self._loaded)

    @property
    def dimension(self) -> int:
        return self._loaded().dimension

    @cached_property
    def fingerprint(self) -> str:
        return f"offline-{_digest(self._folder)}"

    @cached_property
    def calibration(self) -> Calibration:
        fitted = json.loads((self._folder / "calibration.json").read_bytes())
        return self._calibration or Calibration(fitted["a"], fitted["b"])

    def documents(self, texts: Sequence[str], *, soon: bool = False) -> Vectors:
        return self._loaded().vectors(texts)

    def query(self, text: str) -> Vector:
        """Return the vector of a query. The model treats it like a document."""
        return self._loaded().query_vector(text)

    def knows(self, text: str) -> bool:
        return self._loaded().knows(text)

    def close(self) -> None:
        with self._loading:
            model, self._model = self._model, None
        if model is not None:
            model.close()

    def _loaded(self) -> "_Model":
        with self._loading:
            if self._model is None:
                self._model = _Model(self._folder)
            return self._model


class _Model:
    """The table of word vectors, memory-mapped, and the threads that sum its rows."""

    def __init__(self, folder: Path) -> None:
        self.table: npt.NDArray[np.int8] = np.asarray(np.load(folder / "table_int8.npy", mmap_mode="r"))
        self.scale: npt.NDArray[np.float32] = np.load(folder / "scale_f32.npy")
        self._find_rows = RowFinder(folder)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="embed")
        self.dimension = int(self.table.shape[1])
        self.lengths = row_lengths(self.table)
        self._queries: LRUCache[str, Rows] = LRUCache(_QUERIES_KEPT)
        self._lock = threading.Lock()

    def vectors(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimension), np.float32)
        parts = list(_parts(texts))
        if len(parts) > 1:
            list(self._threads.map(lambda part: self._fill(texts[part], vectors[part]), parts))
        else:
            self._fill(texts, vectors)
        return vectors

    def query_vector(self, text: str) -> Vector:
        rows, vector = self.query_rows(text), np.empty(self.dimension, np.float32)
        self._write_sums(rows, np.array([len(rows)], np.int64), vector[np.newaxis])
        return vector

    def query_rows(self, text: str) -> Rows:
        """Return the rows of a query. Its vector, its closer look and `knows` need them one after the other."""
        with self._lock:
            rows = self._queries.get(text)
        if rows is None:
            (rows,) = self._find_rows([text])
            if len(rows) <= _ROWS_KEPT:
                with self._lock:
                    self._queries[text] = rows
        return rows

    def joined_rows(self, texts: Sequence[str]) -> tuple[Rows, Counts]:
        return self._find_rows.joined(texts)

    def knows(self, text: str) -> bool:
        return self._find_rows.knows(text, self.query_rows(text))

    def close(self) -> None:
        self._threads.shutdown()

    def _fill(self, texts: Sequence[str], vectors: Vectors) -> None:
        self._write_sums(*self._find_rows.joined(texts), vectors)

    def _write_sums(self, rows: Rows, counts: Counts, vectors: Vectors) -> None:
        """Write the sum of each text's rows, scaled to length 1.

        Unlike a matrix product, einsum gives the same bits on every machine and starts no threads.
        """
        sum_rows(self, rows, counts, vectors)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        lengths[lengths == 0] = 1
        vectors /= lengths[:, np.newaxis]


def _parts(texts: Sequence[str]) -> Iterator[slice]:
    start = size = 0
    for place, text in enumerate(texts):
        size += len(text)
        if size >= _CHARACTERS_PER_PART:
            yield slice(start, place + 1)
            start, size = place + 1, 0
    if start < len(texts):
        yield slice(start, len(texts))


def _digest(folder: Path) -> str:
    """Return a hash of everything that a vector depends on."""
    digest = hashlib.sha256(_PROCEDURE)
    for name in ("en_tokenizer.json", "scale_f32.npy", "t2s.json", "table_int8.npy", "zh_words.spm"):
        with (folder / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]
