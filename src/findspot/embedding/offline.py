"""The embedder that needs no network: a static table of word vectors for English and Chinese, inside the package.

docs/offline-model.md says where it comes from and how a text becomes a vector.
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

from findspot.embedding.calibration import Calibration
from findspot.embedding.protocol import Vector, Vectors
from findspot.embedding.rows import RowFinder, Rows

MODEL = Path(__file__).parent / "model"

_PROCEDURE = b"2"  # to be changed with whatever in this file or rows.py changes a vector
_AT_ONCE = 12_000  # characters: a few milliseconds, after which other threads get their turn
_ROWS_KEPT = 1024  # room for the words of 1,500 characters of Chinese: 2 MB a thread
_THREADS = min(4, os.cpu_count() or 1)


class OfflineEmbedder:
    """The static model. It is loaded when it is first used."""

    id = "offline"
    batch = 1024
    vector_weight = 0.25
    is_quick = True

    def __init__(self, folder: Path = MODEL, calibration: Calibration | None = None) -> None:
        self._folder = folder
        self._model: _Model | None = None
        self._loading = threading.Lock()
        self._calibration = calibration

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
        """A query is embedded as documents are: the model knows no difference."""
        vector: Vector = self._loaded().vectors([text])[0]
        return vector

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
    """The table, left on disk until a row is needed, and the threads that sum its rows."""

    def __init__(self, folder: Path) -> None:
        self._table: npt.NDArray[np.int8] = np.asarray(np.load(folder / "table_int8.npy", mmap_mode="r"))
        self._scale: npt.NDArray[np.float32] = np.load(folder / "scale_f32.npy")
        self._rows = RowFinder(folder)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="embed")
        self.dimension = int(self._table.shape[1])
        self._room = _Room(self.dimension, _ROWS_KEPT)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        parts = list(_parts(texts))
        if len(parts) > 1:
            list(self._threads.map(lambda part: self._fill(texts[part], vectors[part]), parts))
        else:
            self._fill(texts, vectors)
        return vectors

    def knows(self, text: str) -> bool:
        return self._rows.knows(text)

    def close(self) -> None:
        self._threads.shutdown()

    def _fill(self, texts: Sequence[str], vectors: Vectors) -> None:
        for rows, vector in zip(self._rows(texts), vectors, strict=True):
            room = self._room if len(rows) <= _ROWS_KEPT else _Room(self.dimension, len(rows))
            self._sum(rows, room, vector)

    def _sum(self, rows: Rows, room: "_Room", vector: Vector) -> None:
        """The sum of the rows, of length 1. einsum, unlike a matrix product, gives the same bits on every machine and
        starts no threads of its own."""
        small, large = room.small[: len(rows)], room.large[: len(rows)]
        self._table.take(rows, axis=0, out=small, mode="clip")  # any other mode makes a copy first
        np.copyto(large, small)
        np.einsum("i,ij->j", self._scale.take(rows), large, out=vector)
        length = float(np.sqrt(np.einsum("i,i->", vector, vector)))
        if length > 0:
            vector /= length


def _parts(texts: Sequence[str]) -> Iterator[slice]:
    start = size = 0
    for place, text in enumerate(texts):
        size += len(text)
        if size >= _AT_ONCE:
            yield slice(start, place + 1)
            start, size = place + 1, 0
    if start < len(texts):
        yield slice(start, len(texts))


class _Room(threading.local):
    """Where a thread puts rows to sum them. It is kept, because new memory costs more time than the sum."""

    def __init__(self, dimension: int, rows: int) -> None:
        self.small = np.empty((rows, dimension), np.int8)
        self.large = np.empty((rows, dimension), np.float32)


def _digest(folder: Path) -> str:
    """A hash of everything that a vector depends on."""
    digest = hashlib.sha256(_PROCEDURE)
    for name in ("en_tokenizer.json", "scale_f32.npy", "t2s.json", "table_int8.npy", "zh_words.spm"):
        with (folder / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]
