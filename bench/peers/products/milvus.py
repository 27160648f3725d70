"""Milvus Lite: AUTOINDEX in cosine space, BM25 as a function of the schema, and hybrid search with the RRF ranker.
The analyser is jieba, which splits Chinese and leaves English words whole."""

from pathlib import Path
from typing import Any

from bench.peers.product import CANDIDATES, RRF, SHOWN, Answer, Chunks, Query, Way

NAME = "chunks"
LONGEST = 65_535


class Milvus:
    def __init__(self, folder: Path) -> None:
        from pymilvus import MilvusClient

        folder.mkdir(parents=True)
        self._client = MilvusClient(str(folder / "chunks.db"))
        self._is_made = False

    def add(self, chunks: Chunks) -> None:
        if not self._is_made:
            self._make(chunks.vectors.shape[1])
        columns = zip(chunks.numbers, chunks.texts, chunks.sections, chunks.vectors.tolist(), strict=True)
        self._client.insert(
            NAME,
            [
                {"id": number, "text": text, "section": section, "vector": vector}
                for number, text, section, vector in columns
            ],
        )

    def _make(self, dimension: int) -> None:
        from pymilvus import DataType, Function, FunctionType, MilvusClient

        self._is_made = True
        schema = MilvusClient.create_schema(auto_id=False)
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("section", DataType.INT64)
        schema.add_field(
            "text",
            DataType.VARCHAR,
            max_length=LONGEST,
            enable_analyzer=True,
            analyzer_params={"tokenizer": "jieba"},
        )
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        names: dict[str, Any] = {"input_field_names": ["text"], "output_field_names": ["sparse"]}
        schema.add_function(Function(name="bm25", function_type=FunctionType.BM25, **names))
        self._client.create_collection(NAME, schema=schema)

    def finish(self, count: int) -> None:
        self._client.flush(NAME)
        indexes = self._client.prepare_index_params()
        indexes.add_index(field_name="vector", index_type="AUTOINDEX", metric_type="COSINE")
        indexes.add_index(field_name="sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        indexes.add_index(field_name="section", index_type="INVERTED")
        self._client.create_index(NAME, indexes)
        self._client.load_collection(NAME)

    def remove(self, numbers: range) -> None:
        self._client.delete(NAME, ids=list(numbers))

    def ways(self) -> dict[str, Way]:
        from pymilvus import AnnSearchRequest, RRFRanker

        def search(asked: Query, field: str, data: Any) -> Answer:
            kept = "" if asked.section is None else f"section == {asked.section}"
            return shown(
                self._client.search(
                    NAME, [data], anns_field=field, filter=kept, limit=SHOWN, output_fields=["text"], search_params={}
                )
            )

        def hybrid(asked: Query) -> Answer:
            legs = [
                AnnSearchRequest([asked.vector.tolist()], "vector", {}, CANDIDATES),
                AnnSearchRequest([asked.text], "sparse", {}, CANDIDATES),
            ]
            return shown(self._client.hybrid_search(NAME, legs, RRFRanker(RRF), SHOWN, output_fields=["text"]))

        def shown(found: Any) -> Answer:
            return [hit["id"] for hit in found[0]]

        return {
            "keyword": lambda asked: search(asked, "sparse", asked.text),
            "vector": lambda asked: search(asked, "vector", asked.vector.tolist()),
            "hybrid": hybrid,
        }

    def processes(self) -> list[int]:
        return []

    def close(self) -> None:
        self._client.close()
