"""Calls of the tool that retrieves passages for a model, and the text block of its answer.

Text from documents stands in labelled blocks of its own, apart from everything that Findspot says itself.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from findspot import tokens
from findspot.agents.budget import encode
from findspot.agents.document_calls import within_scope
from findspot.agents.hits import has_no_words
from findspot.models import Tool
from findspot.retrieval import RetrievalRequest, Retrieved, Retriever, labels
from findspot.retrieval import messages as retrieval_messages
from findspot.retrieval.budget import Chosen
from findspot.retrieval.hidden import hidden_characters
from findspot.runtime import messages
from findspot.settings import Settings
from findspot.store.database import Store

_SCORE_DIGITS = 4


class RetrievalCalls:
    """Calls tools that retrieve passages from the documents in their scope."""

    def __init__(self, store: Store, retriever: Retriever, settings: Settings) -> None:
        self._store = store
        self._retriever = retriever
        self._settings = settings

    async def call(self, tool: Tool, query: str, max_tokens: int | None, language: str) -> bytes:
        """Return the passages that are related to a query, within the token budget of an answer."""
        within = await within_scope(self._store, tool)
        found = await self._retriever.retrieve(
            RetrievalRequest(tool.project_id, query, max_tokens=max_tokens, within=within)
        )
        return await asyncio.to_thread(_fit, query, found, self._settings.answer_tokens, language)


def readable(answer: Mapping[str, Any]) -> str:
    """Return an answer as text: what Findspot says about it, then the passages in their blocks."""
    chunks = answer["chunks"]
    said = [f"{len(chunks)} passages, {answer['used_tokens']} tokens."]
    if "notice" in answer:
        said.append(answer["notice"])
    blocks = [
        labels.block(answer["boundary"], each["document_id"], each["start_offset"], each["end_offset"], _place(each),
                     each["text"])
        for each in chunks
    ]  # fmt: skip
    head = labels.head(answer["boundary"]) if chunks else ""
    return f"{' '.join(said)}\n{head}{''.join(blocks)}"


def _place(chunk: Mapping[str, Any]) -> str:
    return " > ".join(dict.fromkeys(filter(None, (chunk["title"], *chunk["heading_path"]))))


def _fit(query: str, found: Retrieved, budget: int, language: str) -> bytes:
    """Return the JSON text of an answer with as many passages as fit, the best first."""
    while _cost(answer := _answer(query, found, language)) > budget and found.selected.chosen:
        found = replace(found, selected=found.selected.within(found.selected.used_tokens - 1))
    return encode(answer)


def _cost(answer: Mapping[str, Any]) -> int:
    return tokens.count(encode(answer).decode()) + tokens.count(readable(answer))


def _answer(query: str, found: Retrieved, language: str) -> dict[str, Any]:
    selected = found.selected
    notices = [messages.fallback(found.degraded.code, language)] if found.degraded else []
    if not found.index.is_complete:
        index = found.index
        notices.append(messages.indexing(index.indexed, index.total, language, is_full=index.is_full))
    if found.corrected_query is not None:
        notices.append(messages.corrected(found.corrected_query, language))
    if not selected.chosen:
        why = messages.no_words if has_no_words(query) else retrieval_messages.nothing_related
        notices.append(why(language))
    answer: dict[str, Any] = {
        "chunks": [_chunk(each, language) for each in selected.chosen],
        "used_tokens": selected.used_tokens,
        "truncated": selected.truncated,
        "dropped": [{"chunk_id": each.chunk_id, "reason": each.reason} for each in selected.dropped],
        "redactions": found.redactions,
        "fallback": found.degraded.fallback if found.degraded else "none",
        "boundary": selected.code,
    }
    return {**answer, "notice": " ".join(notices)} if notices else answer


def _chunk(chosen: Chosen, language: str) -> dict[str, Any]:
    passage = chosen.passage
    hidden = hidden_characters(passage.text, passage.start)
    return {
        "document_id": passage.document_id,
        "title": passage.context.title,
        "path": passage.path,
        "line": passage.line,
        "heading_path": list(passage.context.headings),
        "chunk_id": passage.chunk_id,
        "score": round(passage.score, _SCORE_DIGITS),
        "start_offset": passage.start,
        "end_offset": passage.end,
        "tokens": chosen.tokens,
        "reason": retrieval_messages.related_by(passage.meaning, passage.words, language),
        "hidden_characters": [f"{each.code_point} at {each.offset}" for each in hidden],
        "text": passage.shown_text,
    }
