"""Chunks, queries and fixtures for the contracts of engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.embedded.reader import EmbeddedReader
from findspot.engines.protocol import Batch, Engine, LocalFiles, Source, Vector, Vectors, Within, Words
from findspot.words import query_terms, terms
from tests.engines.exact import ExactEngine
from tests.turbopuffer.engines import ServiceEngines

TABLE, OTHER, DOCUMENTS, OTHER_PROJECT = (
    "project_1_table_1",
    "project_1_table_2",
    "project_1_documents",
    "project_2_table_3",
)
DIMENSION = 64
MODEL, NEXT_MODEL = "model-a", "model-b"
TOLERANCE = 0.03  # of a cosine: an engine may quantize vectors
ENGINES = ["exact", "embedded", "reader", "turbopuffer"]
WITH_FILES = ["exact", "embedded", "reader"]  # on this machine
KNOW_THEIR_TERMS = ["exact", "embedded", "reader"]  # turbopuffer does not list its terms, and counting each is a query

Reopen = Callable[[], Engine]


@contextmanager
def reopening(kind: str, folder: Path) -> Iterator[Reopen]:
    """Yield a function that opens an engine; later calls close it first."""
    opened: list[Engine] = []
    service = ServiceEngines() if kind == "turbopuffer" else None

    def open_engine() -> Engine:
        if kind == "exact":
            opened[:] = opened or [ExactEngine()]
            return opened[0]
        while opened:
            opened.pop().close()
        if service:
            opened.append(service.open())
            return opened[0]
        writer = EmbeddedEngine(folder)
        opened.append(Pair(writer, EmbeddedReader(folder, 1)) if kind == "reader" else writer)
        return opened[0]

    yield open_engine
    for engine in opened:
        engine.close()


class Pair:
    """Two engines on one folder, as two processes have them: one writes, and the other one answers the queries."""

    def __init__(self, writer: EmbeddedEngine, reader: EmbeddedReader) -> None:
        self.files = writer.files
        self.write, self.delete, self.drop = writer.write, writer.delete, writer.drop
        self.build, self.sweep, self.cancel = writer.build, writer.sweep, writer.cancel
        self.prepare, self.recall, self.count = reader.prepare, reader.recall, reader.count
        self.frequencies, self.ids, self.status = reader.frequencies, reader.ids, reader.status
        self.doc_ids = reader.doc_ids
        self.kind, self.warm = reader.kind, reader.warm
        self.namespaces = reader.namespaces
        self._both = reader, writer

    def close(self) -> None:
        for each in self._both:
            each.close()


def files(engine: Engine) -> LocalFiles:
    assert engine.files is not None
    return engine.files


def direction(*axes: int) -> Vector:
    """A vector between some axes."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[list(axes)] = 1
    vector[list(axes)] /= np.sqrt(len(axes))
    return vector


def batch(texts: dict[int, str], vectors: Vectors | None = None, sources: Sequence[Source] | None = None) -> Batch:
    """Chunks with these texts. By default the vector of a chunk is the axis with the number of its id."""
    if vectors is None:
        vectors = np.array([direction(id % DIMENSION) for id in texts]).reshape(len(texts), -1)
    return Batch(
        list(texts),
        [f"doc-{id}" for id in texts],
        sources or [Source(None, f"/{id}", 300, 50, len(text)) for id, text in texts.items()],
        [" ".join(terms(text)) for text in texts.values()],
        vectors,
    )


def words(text: str) -> Words:
    return Words(any_of=query_terms(text))


def found(engine: Engine, text: str, namespace: str = TABLE, within: Within | None = None) -> list[int]:
    """The ids that keywords find."""
    return list(engine.recall(namespace, words(text), None, limit=100, within=within or Within()).keyword)


def near(engine: Engine, vector: Vector, namespace: str = TABLE, within: Within | None = None) -> list[int]:
    """The ids whose cosine is above one half."""
    recall = engine.recall(namespace, None, vector, limit=100, within=within or Within())
    return [id for id, cosine in recall.vector.items() if cosine > 0.5]
