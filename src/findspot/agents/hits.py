"""The answer of a search tool: as structured content, and as a short list to read. Both count in the token budget."""

from collections.abc import Mapping
from typing import Any

from findspot import tokens
from findspot.agents.budget import encode, surely_fits
from findspot.agents.context import Context
from findspot.runtime import messages
from findspot.search import Found, Hit

_NOTICE_TOKENS = 250  # reserved for the notice
_LINK_TOKENS = 40  # a hit also has a resource link
_SCORE_DIGITS = 4


def search_answer(
    query: str, found: Found, scope: str, contexts: Mapping[str, Context], notice: str, *, ids: bool
) -> dict[str, Any]:
    """Return the structured content of an answer. Without `ids`, hits have no ids and hashes."""
    answer: dict[str, Any] = {
        "query": query,
        "total_results": found.total,
        "results": [_result(hit, scope, contexts, ids) for hit in found.hits],
        "search_time_ms": round(found.took_ms, 2),
        "vector_results_count": found.vector_count,
        "bm25_results_count": found.keyword_count,
    }
    if found.corrected_query is not None:
        answer["corrected_query"] = found.corrected_query
    if found.degraded:
        answer["fallback"] = found.degraded.fallback
    return {**answer, "notice": notice} if notice else answer


def _result(hit: Hit, scope: str, contexts: Mapping[str, Context], ids: bool) -> dict[str, Any]:
    chunk = hit.found.chunk
    location = {
        "json_pointer": chunk.json_pointer,
        "chunk_index": chunk.chunk_index,
        "total_chunks": chunk.total_chunks,
        "chunk_text": chunk.text,
        "char_start": chunk.char_start,
        "char_end": chunk.char_end,
    }
    identity = {
        "id": chunk.id,
        "table_id": chunk.table_id,
        "content_hash": chunk.content_hash,
        "turbopuffer_namespace": chunk.namespace,
        "turbopuffer_doc_id": chunk.doc_id,
    }
    return {
        "score": round(hit.ranked.score, _SCORE_DIGITS),
        "json_path": chunk.json_pointer.removeprefix(scope),
        "context": contexts.get(chunk.json_pointer, {}),
        "chunk": {**identity, **location} if ids else location,
    }


def readable(answer: Mapping[str, Any]) -> str:
    """Return an answer as a list to read: place and range, score, context and passage of each hit."""
    results = answer["results"]
    head = f"{len(results)} of {answer['total_results']} results"
    blocks = [f"{head}. {answer['notice']}" if "notice" in answer else f"{head}."]
    for number, result in enumerate(results, 1):
        place, named, text = _document_hit(result) if "document_id" in result else _table_hit(result)
        blocks.append(f"{number}. {place} ({result['score']:.2f}) {named}".rstrip() + f"\n{text}")
    return "\n\n".join(blocks)


def _table_hit(result: Mapping[str, Any]) -> tuple[str, str, str]:
    chunk = result["chunk"]
    place = f"{result['json_path'] or '(the value itself)'} {chunk['char_start']}-{chunk['char_end']}"
    return place, " · ".join(str(value) for value in result["context"].values()), chunk["chunk_text"]


def _document_hit(result: Mapping[str, Any]) -> tuple[str, str, str]:
    line = f", line {result['line']}" if result["line"] else ""
    place = f"document {result['document_id']} {result['start']}-{result['end']}{line}"
    return place, " > ".join([result["path"] or result["title"], *result["heading_path"]]), result["text"]


def fit_hits(answer: dict[str, Any], budget: int, language: str) -> bytes:
    """Return the JSON text of an answer with as many hits as fit into the budget, the best first.

    If not even one fits, its text and its range are cut.
    """
    text = encode(answer)
    if surely_fits(text, budget - _LINK_TOKENS * len(answer["results"])):
        return text  # counting tokens takes as long as a keyword search
    if _cost(answer) <= budget:
        return text
    results = answer["results"]
    frame = {**answer, "results": [], "truncated": True}
    left = budget - _cost(frame) - _NOTICE_TOKENS
    kept: list[dict[str, Any]] = []
    for result in results:
        spent = _cost({**frame, "results": [result]}) - _cost(frame) + 2
        if spent > left:
            break
        kept.append(result)
        left -= spent
    if not kept:
        kept = [_cut(results[0], left)]
    truncated = messages.truncated("search", f"/results: {len(kept)}/{len(results)}", language)
    notice = f"{answer['notice']} {truncated}" if "notice" in answer else truncated
    return encode({**frame, "results": kept, "notice": notice})


def _cost(answer: Mapping[str, Any]) -> int:
    """Return the tokens of an answer: its structured content, its list to read and its links."""
    links = _LINK_TOKENS * len(answer["results"])
    return tokens.count(encode(answer).decode()) + tokens.count(readable(answer)) + links


def _cut(result: dict[str, Any], left: int) -> dict[str, Any]:
    """Return a hit with as much of its text as fits, and its end moved to the end of that text."""
    text: str = result["text"] if "document_id" in result else result["chunk"]["chunk_text"]
    while text and (spent := _cost({"results": [_with_text(result, text)], "total_results": 1})) > left:
        text = text[: min(len(text) - 1, int(len(text) * 0.95 * left / spent))] if left > 0 else ""
    return _with_text(result, text)


def _with_text(result: dict[str, Any], text: str) -> dict[str, Any]:
    if "document_id" in result:
        return {**result, "text": text, "end": result["start"] + len(text)}
    chunk = result["chunk"]
    return {**result, "chunk": {**chunk, "chunk_text": text, "char_end": chunk["char_start"] + len(text)}}
