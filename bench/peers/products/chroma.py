"""Chroma: a persistent collection with the default HNSW index, in cosine space. Its keywords only filter."""

from pathlib import Path

from bench.peers.product import SHOWN, Answer, Chunks, Query, Way


class Chroma:
    def __init__(self, folder: Path) -> None:
        import chromadb

        client = chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))
        self._most = client.get_max_batch_size()
        self._collection = client.create_collection("chunks", configuration={"hnsw": {"space": "cosine"}})

    def add(self, chunks: Chunks) -> None:
        ids, sections = list(map(str, chunks.numbers)), [{"section": each} for each in chunks.sections]
        for at in range(0, len(ids), self._most):
            some = slice(at, at + self._most)
            self._collection.add(
                ids[some], embeddings=chunks.vectors[some], documents=chunks.texts[some], metadatas=sections[some]
            )

    def finish(self, count: int) -> None:
        assert self._collection.count() == count

    def remove(self, numbers: range) -> None:
        self._collection.delete(ids=list(map(str, numbers)))

    def ways(self) -> dict[str, Way]:
        def near(asked: Query) -> Answer:
            where = None if asked.section is None else {"section": asked.section}
            found = self._collection.query(
                query_embeddings=[asked.vector], n_results=SHOWN, include=["documents"], where=where
            )
            return [int(id) for id in found["ids"][0]]

        return {"vector": near}

    def processes(self) -> list[int]:
        return []

    def close(self) -> None:
        pass
