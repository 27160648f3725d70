"""A client of `rag:retrieve`, for the retrievers of other frameworks."""

from typing import Any, TypeAlias

import httpx2

from findspot.errors import KINDS, FindspotError

Retrieval: TypeAlias = dict[str, Any]  # the answer of `rag:retrieve`


class RetrievalClient:
    """Calls a running server. Fields that are None have the values of the project's configuration."""

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
    ) -> None:
        self._address = f"{url.rstrip('/')}/api/v1/projects/{project_id}/rag/retrieve"
        self._options: dict[str, Any] = {"headers": {"Authorization": f"Bearer {key}"}, "timeout": timeout_s}
        given = {"topK": top_k, "minScore": min_score, "maxTokens": max_tokens}
        self._limits = {name: value for name, value in given.items() if value is not None}

    def retrieve(self, query: str) -> Retrieval:
        with httpx2.Client(**self._options) as client:
            return _checked(client.post(self._address, json={"query": query, **self._limits}))

    async def aretrieve(self, query: str) -> Retrieval:
        async with httpx2.AsyncClient(**self._options) as client:
            return _checked(await client.post(self._address, json={"query": query, **self._limits}))


def metadata(chunk: dict[str, Any]) -> dict[str, Any]:
    """Return what a framework keeps beside the text of a passage: its place, its score and the reason for it."""
    return {
        "document_id": chunk["documentId"],
        "title": chunk["documentTitle"],
        "path": chunk["path"],
        "line": chunk["line"],
        "heading_path": chunk["headingPath"],
        "chunk_id": chunk["chunkId"],
        "start_offset": chunk["startOffset"],
        "end_offset": chunk["endOffset"],
        "score": chunk["score"],
        "tokens": chunk["tokens"],
        "reason": chunk["reason"],
        "hidden_characters": len(chunk["hiddenCharacters"]),
    }


def _checked(answer: httpx2.Response) -> Retrieval:
    """Return the body of an answer. Raise the error that it reports."""
    try:
        body: Any = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise FindspotError("INTERNAL", f"The server answered {answer.status_code} without JSON.")
    if answer.is_error:
        code = body.get("code") if body.get("code") in KINDS else "INTERNAL"
        raise FindspotError(str(code), str(body.get("message", f"The server answered {answer.status_code}.")))
    return body
