"""The answer of a search tool: as structured content, and as a short list to read. Both count in the token budget."""

import enum
import re
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
_BREAK = r"\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029"  # line breaks, and other control characters except the tab
_BREAKS = re.compile(f"[{_BREAK}]")
_LIKE_A_HEAD = re.compile(rf"(?:\A|(?<=[{_BREAK}]))(?=[^\S{_BREAK}]*[0-9]+\.[^{_BREAK}]*\([0-9]\.[0-9]{{2}}\))")


class Detail(enum.Enum):
    """How much an answer says about its hits."""

    ALL = "all fields"
    TEXT = "without ids and hashes"
    LEAN = "only what an agent needs to quote a hit and to read on"


def search_answer(
    query: str, found: Found, scope: str, contexts: Mapping[str, Context], notice: str, detail: Detail = Detail.ALL
) -> dict[str, Any]:
    """Return the structured content of an answer."""
    answer: dict[str, Any] = {
        "query": query,
        "total_results": found.total,
        "results": [_result(hit, scope, contexts, detail) for hit in found.hits],
        "search_time_ms": round(found.took_ms, 2),
        "vector_results_count": found.vector_count,
        "bm25_results_count": found.keyword_count,
    }
    if found.corrected_query is not None:
        answer["corrected_query"] = found.corrected_query
    if found.degraded:
        answer["fallback"] = found.degraded.fallback
    return {**answer, "notice": notice} if notice else answer


def _result(hit: Hit, scope: str, contexts: Mapping[str, Context], detail: Detail) -> dict[str, Any]:
    chunk = hit.found.chunk
    context = contexts.get(chunk.json_pointer, {})
    result: dict[str, Any] = {
        "score": round(hit.ranked.score, _SCORE_DIGITS),
        "json_path": chunk.json_pointer.removeprefix(scope),
    }
    passage = {"chunk_text": chunk.text, "char_start": chunk.char_start, "char_end": chunk.char_end}
    if detail is Detail.LEAN:  # json_path leads to the text, and the range to the passage in it
        return {**result, **({"context": context} if context else {}), "chunk": passage}
    location = {
        "json_pointer": chunk.json_pointer,
        "chunk_index": chunk.chunk_index,
        "total_chunks": chunk.total_chunks,
        **passage,
    }
    identity = {
        "id": chunk.id,
        "table_id": chunk.table_id,
        "content_hash": chunk.content_hash,
        "turbopuffer_namespace": chunk.namespace,
        "turbopuffer_doc_id": chunk.doc_id,
    }
    return {**result, "context": context, "chunk": {**identity, **location} if detail is Detail.ALL else location}


def has_no_words(query: str) -> bool:
    """Return whether a tool's query contains nothing that can be searched for."""
    from findspot.words import parse  # loads the segmentation of Chinese

    return parse(query, requires_phrases=False, excludes=False).is_empty


def has_only_symbols(query: str) -> bool:
    """Return whether a tool's query has terms, but only emoji and other symbols, which only keyword search finds."""
    from findspot.words import parse

    terms = parse(query, requires_phrases=False, excludes=False).terms
    return bool(terms) and not any(map(str.isalnum, "".join(terms)))


def readable(answer: Mapping[str, Any]) -> str:
    """Return an answer as a list to read: place and range, score, context and passage of each hit.

    A line of a passage that looks like the head of a hit begins with "> ", so that no passage can pose as another hit.
    """
    results = answer["results"]
    head = f"{len(results)} of {answer['total_results']} results"
    blocks = [f"{head}. {answer['notice']}" if "notice" in answer else f"{head}."]
    for number, result in enumerate(results, 1):
        place, named, text = _document_hit(result) if "document_id" in result else _table_hit(result)
        head = f"{number}. {_in_one_line(place)} ({result['score']:.2f}) {_in_one_line(named)}".rstrip()
        blocks.append(f"{head}\n{_LIKE_A_HEAD.sub('> ', text)}")
    return "\n\n".join(blocks)


def _in_one_line(text: str) -> str:
    """Return a text with escapes for its line breaks. Keys of a table may contain them."""
    return _BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _table_hit(result: Mapping[str, Any]) -> tuple[str, str, str]:
    chunk = result["chunk"]
    place = f"{result['json_path'] or '(the value itself)'} {chunk['char_start']}-{chunk['char_end']}"
    return place, " · ".join(str(value) for value in result.get("context", {}).values()), chunk["chunk_text"]


def _document_hit(result: Mapping[str, Any]) -> tuple[str, str, str]:
    line = f", line {result['line']}" if result["line"] else ""
    place = f"document {result['document_id']} {result['start']}-{result['end']}{line}"
    return place, " > ".join([result["path"] or result["title"], *result["heading_path"]]), result["text"]


def short_enough(answer: dict[str, Any], budget: int) -> bytes | None:
    """Return the JSON text of an answer if it fits into the budget without counting tokens, else None.

    Counting takes as long as a keyword search. This takes less than the way to another thread.
    """
    text = encode(answer)
    return text if surely_fits(text, budget - _LINK_TOKENS * len(answer["results"])) else None


def fit_hits(answer: dict[str, Any], budget: int, language: str) -> bytes:
    """Return the JSON text of an answer with as many hits as fit into the budget, the best first.

    If not even one fits, its text and its range are cut.
    """
    text = short_enough(answer, budget)
    if text is not None:
        return text
    if _cost(answer) <= budget:
        return encode(answer)
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
