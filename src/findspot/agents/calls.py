"""Calls tools: checks access, reads the arguments, and returns the answer as JSON text within the token budget."""

import asyncio
import json
import math
from typing import Any

import msgspec

from findspot.agents.budget import encode, fit, summarize_cuts, surely_fits, token_cost
from findspot.agents.cards import MAX_QUERY
from findspot.agents.schemas import SearchConfig
from findspot.agents.views import View, view
from findspot.content.tables import Tables
from findspot.engines.protocol import Within
from findspot.errors import FindspotError, invalid, not_found
from findspot.jsontext.check import check
from findspot.jsontext.elements import argument_error
from findspot.jsontext.operations import Edit
from findspot.models import Caller, Role, TableIndexState, Tool, ToolType
from findspot.ranking.fusion import Weights
from findspot.runtime import messages, metrics
from findspot.runtime.helpers import Helpers
from findspot.runtime.remote_calls import joined_there
from findspot.search import Found, Hit, SearchRequest, Strategy, TableSearch
from findspot.settings import Settings
from findspot.store import index_states as states
from findspot.store.database import Store

_NOTICE_TOKENS = 250  # reserved for the notice


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No arguments."""


class _Query(_Arguments, frozen=True):
    query: str


class _Search(_Arguments, frozen=True):
    query: str
    top_k: int | float | msgspec.UnsetType = msgspec.UNSET  # in JSON, 5.0 is an integer


class _Preview(_Arguments, frozen=True):
    keys: list[str] | msgspec.UnsetType = msgspec.UNSET


class _Select(_Arguments, frozen=True):
    field: str
    keys: list[Any]


_ARGUMENTS: dict[ToolType, type[_Arguments]] = {
    ToolType.QUERY_DATA: _Query,
    ToolType.SEARCH: _Search,
    ToolType.PREVIEW: _Preview,
    ToolType.SELECT: _Select,
}
_EDITS: dict[ToolType, tuple[Edit, str]] = {
    ToolType.CREATE: ("create", "created_keys"),
    ToolType.UPDATE: ("update", "updated_keys"),
    ToolType.DELETE: ("delete", "deleted_keys"),
}


def read_arguments(type: ToolType, text: bytes, max_top_k: int) -> Any:
    """Parse the arguments of a reading tool. Raise INVALID_ARGUMENT that names the invalid field."""
    try:
        found = msgspec.json.decode(check(text, "arguments", frame=1), type=_ARGUMENTS.get(type, _Arguments))
    except msgspec.ValidationError as error:
        raise argument_error(error) from None
    query = getattr(found, "query", " ")
    if not query or len(query) > MAX_QUERY:
        raise invalid("query", f"must have 1 to {MAX_QUERY} characters")
    top_k = getattr(found, "top_k", msgspec.UNSET)
    if top_k is not msgspec.UNSET and not (1 <= top_k <= max_top_k and top_k == int(top_k)):
        raise invalid("top_k", f"must be a whole number from 1 to {max_top_k}")
    return found


class ToolCalls:
    """Calls tools by their type."""

    def __init__(
        self, store: Store, tables: Tables, table_search: TableSearch, helpers: Helpers, settings: Settings
    ) -> None:
        self._store = store
        self._tables = tables
        self._table_search = table_search
        self._helpers = helpers
        self._settings = settings

    async def call(
        self, tool: Tool, arguments: dict[str, Any] | None, caller: Caller, language: str = "en"
    ) -> dict[str, Any]:
        """Call a tool and return the structured content of its answer."""
        return structured(await self.call_text(tool, _argument_text(arguments or {}), caller, language))

    async def call_text(self, tool: Tool, arguments: bytes, caller: Caller, language: str = "en") -> bytes:
        """Call a tool and return its answer as JSON text, in which every number is spelled as in the table."""
        if not caller.sees(tool.project_id):
            raise not_found("tool")
        if tool.type.edits and not caller.role.covers(Role.WRITE):
            raise FindspotError("FORBIDDEN", f"Calling this tool needs the role 'write'; the key has '{caller.role}'.")
        if tool.type.edits:
            return await self._edit(tool, arguments, language)
        if tool.type is ToolType.SEARCH:
            return await self._search(tool, arguments, language)
        return await self._view(tool, arguments, language)

    async def _view(self, tool: Tool, arguments: bytes, language: str) -> bytes:
        """Return the part of the current table that a reading tool shows."""
        parsed: dict[str, Any] = msgspec.to_builtins(read_arguments(tool.type, arguments, self._settings.max_top_k))
        if tool.type is ToolType.PREVIEW:
            parsed.setdefault("keys", tool.metadata.get("preview_keys"))
        request = View(tool.type.value, tool.json_pointer, parsed, self._settings.answer_tokens, language)
        async with self._tables.reading(tool.table_id, "") as (_, text):
            return await self._helpers.run(tool.project_id, view, request, joined_there(text))

    async def _edit(self, tool: Tool, arguments: bytes, language: str) -> bytes:
        """Edit the table and return the changed keys."""
        action, field = _EDITS[tool.type]
        edit = asyncio.ensure_future(self._tables.edit(tool.table_id, action, tool.json_pointer, arguments))
        keys = await asyncio.shield(edit)  # an edit is finished, even if the caller has left
        answer = {field: keys, "total": len(keys)}
        text = encode(answer)
        if len(text) * 4 < self._settings.answer_tokens:
            return text
        return await asyncio.to_thread(
            fit,
            answer,
            self._settings.answer_tokens,
            lambda cuts: messages.truncated("edit", summarize_cuts(cuts), language),
        )

    # ── searching ──

    async def _search(self, tool: Tool, arguments: bytes, language: str) -> bytes:
        parsed: _Search = read_arguments(tool.type, arguments, self._settings.max_top_k)
        config = SearchConfig(**(tool.search_config or {}))
        default = min(config.top_k or self._settings.top_k, self._settings.max_top_k)
        limit = default if parsed.top_k is msgspec.UNSET else int(parsed.top_k)
        async with self._store.read() as connection:  # before the search: chunks not indexed now may be missing in it
            index_state = await states.table_index_state(connection, tool.table_id)
        with metrics.search(tool.project_id, tool.id) as record:
            found = await self._table_search.search(self._request(tool, config, parsed.query, limit))
            record(len(found.hits), found.degraded.code if found.degraded else None)
        ids = config.include_metadata is not False
        results = [_result(hit, tool.json_pointer, ids) for hit in found.hits]
        answer = _answer(parsed.query, found, results, _notice(found, index_state, language))
        text = encode(answer)
        if surely_fits(text, self._settings.answer_tokens):  # counting tokens takes as long as a keyword search
            return text
        return await asyncio.to_thread(_within_budget, answer, self._settings.answer_tokens, language)

    def _request(self, tool: Tool, config: SearchConfig, query: str, limit: int) -> SearchRequest:
        size, overlap, threshold = config.chunking(self._settings)
        return SearchRequest(
            tool.project_id,
            query,
            Strategy.VECTOR if config.enable_hybrid is False else Strategy.HYBRID,
            tool.table_id,
            Within(tool.json_pointer, (size, overlap), threshold),
            limit=limit,
            fusion=config.fusion or "convex",
            weights=self._weights(config),
        )

    def _weights(self, config: SearchConfig) -> Weights | None:
        """Return the weights of the tool, else of the settings. One weight implies the other.

        None: use the weights of the embedder.
        """
        vector = config.vector_weight if config.vector_weight is not None else self._settings.vector_weight
        keyword = config.bm25_weight if config.bm25_weight is not None else self._settings.bm25_weight
        if vector is None and keyword is None:
            return None
        vector = 1 - (keyword or 0) if vector is None else vector
        keyword = 1 - vector if keyword is None else keyword
        return Weights(keyword, vector) if keyword + vector > 0 else None


def structured(text: bytes) -> dict[str, Any]:
    """Return an answer as Python values. A number that Python cannot hold becomes a string with its spelling."""
    value: dict[str, Any] = json.loads(text, parse_float=_float, parse_int=_integer)
    return value


def _float(spelling: str) -> float | str:
    number = float(spelling)
    return number if math.isfinite(number) else spelling


def _integer(spelling: str) -> int | str:
    return int(spelling) if len(spelling) < 4300 else spelling


def _argument_text(arguments: dict[str, Any]) -> bytes:
    try:
        return json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise invalid("arguments", f"cannot be written as JSON: {error}") from None


def _notice(found: Found, index_state: TableIndexState, language: str) -> str:
    """Return why hits may be missing, or ""."""
    notices = [messages.fallback(found.degraded.code, language)] if found.degraded else []
    code = index_state.error_code or ""
    if index_state.status != "ready":
        notices.append(messages.outdated(index_state, code, language))
    elif code == "SEARCH_CAPACITY_EXCEEDED":
        notices.append(messages.chunk_limit_reached(language))
    return " ".join(notices)


def _answer(query: str, found: Found, results: list[dict[str, Any]], notice: str) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "query": query,
        "total_results": len(results),
        "results": results,
        "search_time_ms": round(found.took_ms, 2),
        "vector_results_count": found.vector_count,
        "bm25_results_count": found.keyword_count,
    }
    if found.degraded:
        answer["fallback"] = found.degraded.fallback
    return {**answer, "notice": notice} if notice else answer


def _result(hit: Hit, scope: str, ids: bool) -> dict[str, Any]:
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
    path = chunk.json_pointer.removeprefix(scope)
    return {"score": hit.ranked.score, "json_path": path, "chunk": {**identity, **location} if ids else location}


def _within_budget(answer: dict[str, Any], budget: int, language: str) -> bytes:
    """Keep as many hits as fit, the best first. If not even one fits, cut its text and its range."""
    text = encode(answer)
    if token_cost(text) <= budget:
        return text
    results = answer["results"]
    frame = {**answer, "results": [], "truncated": True}
    left = budget - token_cost(encode(frame)) - _NOTICE_TOKENS
    kept: list[dict[str, Any]] = []
    for result in results:
        spent = token_cost(encode(result)) + 2
        if spent > left:
            break
        kept.append(result)
        left -= spent
    if not kept:
        kept = [_cut(results[0], left)]
    truncated = messages.truncated("search", f"/results: {len(kept)}/{len(results)}", language)
    notice = f"{answer['notice']} {truncated}" if "notice" in answer else truncated
    return encode({**frame, "total_results": len(kept), "results": kept, "notice": notice})


def _cut(result: dict[str, Any], left: int) -> dict[str, Any]:
    """Return a hit with as much of its text as fits, and `char_end` moved to the end of that text."""
    chunk = result["chunk"]
    text: str = chunk["chunk_text"]
    while text and (spent := token_cost(encode({**result, "chunk": {**chunk, "chunk_text": text}}))) > left:
        text = text[: min(len(text) - 1, int(len(text) * 0.95 * left / spent))] if left > 0 else ""
    return {**result, "chunk": {**chunk, "chunk_text": text, "char_end": chunk["char_start"] + len(text)}}
