"""txtai: hybrid embeddings with content in SQLite and the default faiss index. Vectors come from a function, as its
documentation describes for vectors that are made elsewhere. It always computes both legs; weights choose between them.

An index lives in memory until it is saved, so every change is followed by a save. Its database of contents allows one
search at a time, so a lock guards it, as in its own API."""

import threading
from pathlib import Path
from typing import Any

from bench.peers.product import SHOWN, Answer, Chunks, Query, Way

CANDIDATES = 2000  # that a filter is applied to: it keeps one in a hundred


class Txtai:
    def __init__(self, folder: Path) -> None:
        from txtai import Embeddings

        self._folder = folder
        self._vectors: dict[int, Any] = {}  # by the hash of the text, until they are indexed

        def transform(texts: list[str]) -> list[Any]:
            return [self._vectors[hash(text)] for text in texts]

        self._embeddings = Embeddings(method="external", transform=transform, content=True, hybrid=True)
        self._lock = threading.Lock()
        self._waiting: list[Chunks] = []
        self._is_built = False

    def add(self, chunks: Chunks) -> None:
        self._waiting.append(chunks)
        if self._is_built:
            self._write(self._embeddings.upsert)

    def finish(self, count: int) -> None:
        self._write(self._embeddings.index)
        self._is_built = True

    def _write(self, write: Any) -> None:
        for chunks in self._waiting:
            self._vectors.update(zip(map(hash, chunks.texts), chunks.vectors, strict=True))
        write(
            (number, {"text": text, "section": section}, None)
            for chunks in self._waiting
            for number, text, section in zip(chunks.numbers, chunks.texts, chunks.sections, strict=True)
        )
        self._waiting.clear()
        self._vectors.clear()
        self._embeddings.save(str(self._folder))

    def remove(self, numbers: range) -> None:
        self._embeddings.delete(list(numbers))
        self._embeddings.save(str(self._folder))

    def ways(self) -> dict[str, Way]:
        def asks(vector_weight: float) -> Way:
            def ask(asked: Query) -> Answer:
                with self._lock:
                    self._vectors[hash(asked.text)] = asked.vector
                    return [int(hit["id"]) for hit in search(asked)]

            def search(asked: Query) -> Any:
                if asked.section is None:
                    return self._embeddings.search(asked.text, SHOWN, weights=vector_weight)
                statement = f"SELECT id, text FROM txtai WHERE similar(:text, {CANDIDATES}) AND section = :section"
                values = {"text": asked.text, "section": asked.section}
                return self._embeddings.search(statement, SHOWN, weights=vector_weight, parameters=values)

            return ask

        return {"keyword": asks(0.0), "vector": asks(1.0), "hybrid": asks(0.5)}

    def processes(self) -> list[int]:
        return []

    def close(self) -> None:
        self._embeddings.close()
