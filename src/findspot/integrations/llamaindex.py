"""A LlamaIndex retriever. It needs the extra `findspot[llamaindex]`."""

from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from findspot.integrations.client import Retrieval, RetrievalClient, metadata


class FindspotRetriever(BaseRetriever):
    """Retrieves passages of a project's documents, within its token budget and with private values redacted.

    retriever = FindspotRetriever("http://127.0.0.1:8321", project_id=1, key="fsk_…")
    """

    def __init__(
        self,
        url: str,
        project_id: int,
        key: str,
        *,
        top_k: int | None = None,
        min_score: float | None = None,
        max_tokens: int | None = None,
        timeout_s: float = 30.0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._client = RetrievalClient(
            url, project_id, key, top_k=top_k, min_score=min_score, max_tokens=max_tokens, timeout_s=timeout_s
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._client.retrieve(query_bundle.query_str))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await self._client.aretrieve(query_bundle.query_str))


def _nodes(found: Retrieval) -> list[NodeWithScore]:
    """Return the passages as nodes. A model sees their text and title; offsets are for the program that cites them."""
    nodes = []
    for each in found["chunks"]:
        kept = metadata(each)
        hidden = [name for name in kept if name != "title"]
        node = TextNode(
            id_=str(each["chunkId"]),
            text=each["text"],
            metadata=kept,
            excluded_llm_metadata_keys=hidden,
            excluded_embed_metadata_keys=hidden,
            start_char_idx=each["startOffset"],
            end_char_idx=each["endOffset"],
        )
        nodes.append(NodeWithScore(node=node, score=each["score"]))
    return nodes
