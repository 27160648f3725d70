"""Qdrant's local mode: the client searches itself, without a server. It is exact, and meant for small collections.

Keywords are BM25 over a text index, fused with vectors by reciprocal ranks on `prefetch`. Its own sparse models are
downloads, which this benchmark does without.
"""

import warnings
from pathlib import Path
from typing import Any

from bench.peers.product import CANDIDATES, SHOWN, Answer, Chunks, Query, Way

NAME = "chunks"


class Qdrant:
    def __init__(self, folder: Path) -> None:
        from qdrant_client import QdrantClient

        warnings.filterwarnings("ignore", message="Local mode is not recommended")  # a warning about the size
        self._client = QdrantClient(path=str(folder), force_disable_check_same_thread=True)
        self._is_made = False

    def add(self, chunks: Chunks) -> None:
        from qdrant_client import models

        if not self._is_made:
            self._make(chunks.vectors.shape[1])
        payloads: list[dict[str, Any]] = [
            {"text": text, "section": section} for text, section in zip(chunks.texts, chunks.sections, strict=True)
        ]
        self._client.upsert(
            NAME, models.Batch(ids=list(chunks.numbers), vectors=chunks.vectors.tolist(), payloads=payloads)
        )

    def _make(self, dimension: int) -> None:
        from qdrant_client import models

        self._is_made = True
        cosine = models.VectorParams(size=dimension, distance=models.Distance.COSINE)
        self._client.create_collection(NAME, vectors_config=cosine)
        text = models.TextIndexParams(
            type=models.TextIndexType.TEXT, scoring=models.TextScoringParams(type=models.TextScoringType.BM25)
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Payload indexes have no effect")
            self._client.create_payload_index(NAME, "text", text)

    def finish(self, count: int) -> None:
        assert self._client.count(NAME).count == count

    def remove(self, numbers: range) -> None:
        from qdrant_client import models

        self._client.delete(NAME, models.PointIdsList(points=list(numbers)))

    def ways(self) -> dict[str, Way]:
        from qdrant_client import models

        def ask(asked: Query, **query: Any) -> Answer:
            kept = None
            if asked.section is not None:
                wanted = models.MatchValue(value=asked.section)
                kept = models.Filter(must=[models.FieldCondition(key="section", match=wanted)])
            found = self._client.query_points(NAME, query_filter=kept, limit=SHOWN, with_payload=["text"], **query)
            return [int(point.id) for point in found.points]

        def hybrid(asked: Query) -> Answer:
            legs = [
                models.Prefetch(query=asked.vector.tolist(), limit=CANDIDATES),
                models.Prefetch(query=models.TextQuery(text=asked.text), using="text", limit=CANDIDATES),
            ]
            return ask(asked, prefetch=legs, query=models.FusionQuery(fusion=models.Fusion.RRF))

        return {
            "keyword": lambda asked: ask(asked, query=models.TextQuery(text=asked.text), using="text"),
            "vector": lambda asked: ask(asked, query=asked.vector.tolist()),
            "hybrid": hybrid,
        }

    def processes(self) -> list[int]:
        return []

    def close(self) -> None:
        self._client.close()
