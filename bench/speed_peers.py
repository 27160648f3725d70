"""Other products with the same chunks and vectors, each used as its documentation recommends.

This script runs with the Python of `.venv-peers` and does not import Findspot. It reads the task from standard input
and writes the measurements, both as JSON. Queries come with their vectors, so no time includes embedding.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

SHOWN = 10
CANDIDATES = 200  # per leg, as in Findspot
RRF = 60
REFINE = 10
LONGEST_S = 25  # of one round of queries: a slow product gets fewer of them
FEWEST = 30
ROWS = 5000  # per batch

Answer = list[int]
Way = Callable[[str, Any], Answer]


class Peer(Protocol):
    def add(self, first: int, texts: list[str], vectors: Any) -> None: ...

    def finish(self, count: int) -> None:
        """Build the indexes."""

    def ways(self) -> dict[str, Way]:
        """Return the supported searches: functions from a query and its vector to the numbers of the best chunks."""


class LanceDB:
    """IVF_RQ, which its documentation recommends for filtered searches and for more than 256 dimensions, with one
    partition per 4,096 rows, default probes, and a refinement. Full text uses ICU, which segments Chinese."""

    def __init__(self, folder: Path) -> None:
        import lancedb

        self._db = lancedb.connect(folder)
        self._table: Any = None

    def add(self, first: int, texts: list[str], vectors: Any) -> None:
        import pyarrow as pa

        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
        rows = pa.table({"id": pa.array(range(first, first + len(texts))), "text": pa.array(texts), "vector": column})
        if self._table is None:
            self._table = self._db.create_table("chunks", rows)
        else:
            self._table.add(rows)

    def finish(self, count: int) -> None:
        from lancedb.index import FTS, IvfRq

        self._table.optimize()
        partitions = max(1, count // 4096)
        self._table.create_index("vector", config=IvfRq(distance_type="cosine", num_partitions=partitions))
        self._table.create_index("text", config=FTS(base_tokenizer="icu"))

    def ways(self) -> dict[str, Way]:
        from lancedb.rerankers import RRFReranker

        reranker = RRFReranker(K=RRF)

        def shown(query: Any, limit: int) -> Answer:
            found: Answer = query.limit(limit).select(["id", "text"]).to_arrow()["id"].to_pylist()[:SHOWN]
            return found

        def hybrid(text: str, vector: Any) -> Any:
            both = self._table.search(query_type="hybrid", vector_column_name="vector").vector(vector).text(text)
            return both.rerank(reranker).distance_type("cosine").refine_factor(REFINE)

        def near(vector: Any) -> Any:
            return self._table.search(vector).distance_type("cosine").refine_factor(REFINE)

        return {
            "keyword": lambda text, vector: shown(self._table.search(text, query_type="fts"), SHOWN),
            "vector": lambda text, vector: shown(near(vector), SHOWN),
            "hybrid": lambda text, vector: shown(hybrid(text, vector), CANDIDATES),
            "hybrid, 10 candidates": lambda text, vector: shown(hybrid(text, vector), SHOWN),
        }


class Chroma:
    """A persistent collection with the default HNSW index, in cosine space. Its keywords only filter."""

    def __init__(self, folder: Path) -> None:
        import chromadb

        client = chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))
        self._most = client.get_max_batch_size()
        self._collection = client.create_collection("chunks", configuration={"hnsw": {"space": "cosine"}})

    def add(self, first: int, texts: list[str], vectors: Any) -> None:
        for at in range(0, len(texts), self._most):
            some = slice(at, at + self._most)
            ids = [str(first + at + each) for each in range(len(texts[some]))]
            self._collection.add(ids, embeddings=vectors[some], documents=texts[some])

    def finish(self, count: int) -> None:
        assert self._collection.count() == count

    def ways(self) -> dict[str, Way]:
        def near(text: str, vector: Any) -> Answer:
            found = self._collection.query(query_embeddings=[vector], n_results=SHOWN, include=["documents"])
            return [int(id) for id in found["ids"][0]]

        return {"vector": near}


class SQLite:
    """FTS5 and sqlite-vec in the newest SQLite, fused by reciprocal ranks in one statement, as the author of sqlite-vec
    shows. Any word of a query may match, because hardly any chunk has all words of a question."""

    tokenizer = "porter unicode61"
    _HYBRID = """
        WITH near AS (
            SELECT id, row_number() OVER (ORDER BY distance) AS place
            FROM vectors WHERE embedding MATCH :vector AND k = :candidates
        ),
        worded AS (
            SELECT rowid AS id, row_number() OVER (ORDER BY rank) AS place
            FROM words WHERE words MATCH :words ORDER BY rank LIMIT :candidates
        )
        SELECT chunks.id, chunks.text
        FROM near FULL OUTER JOIN worded ON worded.id = near.id
        JOIN chunks ON chunks.id = coalesce(near.id, worded.id)
        ORDER BY coalesce(1.0 / (:rrf + near.place), 0) + coalesce(1.0 / (:rrf + worded.place), 0) DESC
        LIMIT :shown
    """
    _KEYWORD = """
        SELECT chunks.id, chunks.text FROM words JOIN chunks ON chunks.id = words.rowid
        WHERE words MATCH :words ORDER BY rank LIMIT :shown
    """
    _VECTOR = """
        SELECT chunks.id, chunks.text FROM vectors JOIN chunks ON chunks.id = vectors.id
        WHERE embedding MATCH :vector AND k = :shown ORDER BY distance
    """

    def __init__(self, folder: Path) -> None:
        import apsw
        import apsw.bestpractice
        import sqlite_vec

        apsw.bestpractice.apply(apsw.bestpractice.recommended)
        folder.mkdir(parents=True)
        self._db = apsw.Connection(str(folder / "chunks.db"))
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.pragma("cache_size", -256 * 1024)
        self._db.pragma("mmap_size", 1 << 31)

    def add(self, first: int, texts: list[str], vectors: Any) -> None:
        with self._db:
            if first == 0:
                self._db.execute("CREATE TABLE chunks (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
                self._db.execute(
                    "CREATE VIRTUAL TABLE words USING "
                    f"fts5(text, content=chunks, content_rowid=id, tokenize='{self.tokenizer}')"
                )
                self._db.execute(
                    "CREATE VIRTUAL TABLE vectors USING "
                    f"vec0(id INTEGER PRIMARY KEY, embedding FLOAT[{vectors.shape[1]}] distance_metric=cosine)"
                )
            self._db.executemany("INSERT INTO chunks VALUES (?, ?)", enumerate(texts, first))
            self._db.executemany(
                "INSERT INTO vectors (id, embedding) VALUES (?, ?)",
                ((number, vector.tobytes()) for number, vector in enumerate(vectors, first)),
            )

    def finish(self, count: int) -> None:
        for command in ("rebuild", "optimize"):
            self._db.execute("INSERT INTO words (words) VALUES (?)", (command,))

    def ways(self) -> dict[str, Way]:
        def asks(statement: str) -> Way:
            def ask(text: str, vector: Any) -> Answer:
                asked = {"words": self.words(text), "vector": vector.tobytes(), "candidates": CANDIDATES}
                found = self._db.execute(statement, asked | {"rrf": RRF, "shown": SHOWN})
                return [row[0] for row in found]

            return ask

        return {"keyword": asks(self._KEYWORD), "vector": asks(self._VECTOR), "hybrid": asks(self._HYBRID)}

    def words(self, text: str) -> str:
        return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text)) or '""'


class SQLiteTrigram(SQLite):
    """SQLite with the trigram tokenizer, which finds Chinese inside sentences. A query has words of three letters or
    more, and every three adjacent Chinese characters."""

    tokenizer = "trigram"

    def words(self, text: str) -> str:
        words = [word for word in re.findall(r"[^\W\u4e00-\u9fff]+", text) if len(word) > 2]
        for run in re.findall(r"[\u4e00-\u9fff]{3,}", text):
            words += [run[at : at + 3] for at in range(len(run) - 2)]
        return " OR ".join(f'"{word}"' for word in dict.fromkeys(words)) or '""'


PEERS: dict[str, Callable[[Path], Peer]] = {
    "LanceDB": LanceDB,
    "Chroma": Chroma,
    "FTS5 + sqlite-vec": SQLite,
    "FTS5 trigram + sqlite-vec": SQLiteTrigram,
}


def run(asked: dict[str, Any]) -> dict[str, Any]:
    folder = Path(asked["folder"])
    began = time.perf_counter()
    peer = PEERS[asked["peer"]](folder)
    vectors = np.load(asked["vectors"], mmap_mode="r")
    first = 0
    for texts in _batches(Path(asked["texts"]), asked["count"]):
        peer.add(first, texts, np.ascontiguousarray(vectors[first : first + len(texts)]))
        first += len(texts)
    peer.finish(asked["count"])
    built = time.perf_counter() - began
    queries = list(zip(json.loads(Path(asked["queries"]).read_text()), np.load(asked["query_vectors"]), strict=True))
    result: dict[str, Any] = {"built_s": built, "times": {}, "found": {}}
    for name, way in peer.ways().items():
        for text, vector in queries[-5:]:
            way(text, vector)
        result["times"][name], result["found"][name] = _round(way, queries)
    resident = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
    result["resident"] = int(resident[1]) / 1024 if resident else 0.0
    return result


def _batches(file: Path, count: int) -> Iterator[list[str]]:
    with file.open(encoding="utf-8", newline="\n") as lines:
        texts = map(json.loads, islice(lines, count))
        while some := list(islice(texts, ROWS)):
            yield some


def _round(way: Way, queries: list[tuple[str, Any]]) -> tuple[list[float], list[Answer]]:
    """Return milliseconds and answers of the queries, or of as many as fit into the time."""
    times: list[float] = []
    found: list[Answer] = []
    until = time.perf_counter() + LONGEST_S
    for text, vector in queries:
        began = time.perf_counter()
        found.append(way(text, vector))
        times.append((time.perf_counter() - began) * 1000)
        if time.perf_counter() > until and len(times) >= FEWEST:
            break
    return times, found


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
