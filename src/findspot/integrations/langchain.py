"""A LangChain retriever. It needs the extra `findspot[langchain]`."""

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import SecretStr

from findspot.integrations.client import Retrieval, RetrievalClient, metadata


class FindspotRetriever(BaseRetriever):
    """Retrieves passages of a project's documents, within its token budget and with private values redacted.

    retriever = FindspotRetriever(url="http://127.0.0.1:8321", project_id=1, key="fsk_…")
    """

    url: str
    project_id: int
    key: SecretStr
    top_k: int | None = None
    min_score: float | None = None
    max_tokens: int | None = None
    timeout_s: float = 30.0

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return _documents(self._client().retrieve(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return _documents(await self._client().aretrieve(query))

    def _client(self) -> RetrievalClient:
        limits: dict[str, Any] = {"top_k": self.top_k, "min_score": self.min_score, "max_tokens": self.max_tokens}
        key = self.key.get_secret_value()
        return RetrievalClient(self.url, self.project_id, key, timeout_s=self.timeout_s, **limits)


def _documents(found: Retrieval) -> list[Document]:
    return [
        Document(page_content=each["text"], metadata=metadata(each), id=str(each["chunkId"]))
        for each in found["chunks"]
    ]
