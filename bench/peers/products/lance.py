"""LanceDB: IVF_RQ, recommended for filtered searches and for more than 256 dimensions, with one partition per 4,096
rows, default probes and a refinement. Full text uses ICU, which segments Chinese. The filtered column has a scalar
index."""

from pathlib import Path
from typing import Any

from bench.peers.product import CANDIDATES, RRF, SHOWN, Answer, Chunks, Query, Way

REFINE = 10


class LanceDB:
    def __init__(self, folder: Path) -> None:
        import lancedb

        self._db = lancedb.connect(folder)
        self._table: Any = None

    def add(self, chunks: Chunks) -> None:
        import pyarrow as pa

        vectors = pa.FixedSizeListArray.from_arrays(pa.array(chunks.vectors.reshape(-1)), chunks.vectors.shape[1])
        columns = {"id": list(chunks.numbers), "section": chunks.sections, "text": chunks.texts, "vector": vectors}
        if self._table is None:
            self._table = self._db.create_table("chunks", pa.table(columns))
        else:
            self._table.add(pa.table(columns))

    def finish(self, count: int) -> None:
        from lancedb.index import FTS, BTree, IvfRq

        self._table.optimize()
        partitions = max(1, count // 4096)
        self._table.create_index("vector", config=IvfRq(distance_type="cosine", num_partitions=partitions))
        self._table.create_index("text", config=FTS(base_tokenizer="icu"))
        self._table.create_index("section", config=BTree())

    def remove(self, numbers: range) -> None:
        self._table.delete(f"id >= {numbers.start} AND id < {numbers.stop}")

    def ways(self) -> dict[str, Way]:
        from lancedb.rerankers import RRFReranker

        reranker = RRFReranker(K=RRF)

        def shown(query: Any, asked: Query, limit: int = SHOWN) -> Answer:
            if asked.section is not None:
                query = query.where(f"section = {asked.section}", prefilter=True)
            found: Answer = query.limit(limit).select(["id", "text"]).to_arrow()["id"].to_pylist()[:SHOWN]
            return found

        def near(asked: Query) -> Any:
            return self._table.search(asked.vector).distance_type("cosine").refine_factor(REFINE)

        def hybrid(asked: Query) -> Any:
            both = self._table.search(query_type="hybrid", vector_column_name="vector")
            both = both.vector(asked.vector).text(asked.text).rerank(reranker)
            return both.distance_type("cosine").refine_factor(REFINE)

        return {
            "keyword": lambda asked: shown(self._table.search(asked.text, query_type="fts"), asked),
            "vector": lambda asked: shown(near(asked), asked),
            "hybrid": lambda asked: shown(hybrid(asked), asked, CANDIDATES),
            "hybrid, 10 candidates": lambda asked: shown(hybrid(asked), asked),
        }

    def processes(self) -> list[int]:
        return []

    def close(self) -> None:
        pass
