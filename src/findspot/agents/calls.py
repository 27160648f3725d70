"""Calls tools: checks access, reads the arguments, and returns the answer as JSON text within the token budget."""

import asyncio
import json
import math
from dataclasses import replace
from typing import Any

import msgspec

from findspot.agents.budget import encode, fit, summarize_cuts
from findspot.agents.cards import MAX_OFFSET, MAX_QUERY
from findspot.agents.context import Context, Contexts
from findspot.agents.document_calls import DocumentCalls
from findspot.agents.hits import Detail, fit_hits, has_no_words, has_only_symbols, search_answer, short_enough
from findspot.agents.replace_calls import ReplaceCalls
from findspot.agents.retrieval_calls import RetrievalCalls
from findspot.agents.schemas import SearchConfig
from findspot.agents.shapes import look
from findspot.agents.views import View, view
from findspot.content.tables import Tables
from findspot.engines.protocol import Within
from findspot.errors import FindspotError, invalid, not_found, shortened
from findspot.jsontext.check import check
from findspot.jsontext.mismatch import mismatch
from findspot.jsontext.operations import Edit
from findspot.models import Caller, Role, TableIndexState, Tool, ToolType, table_namespace
from findspot.ranking.fusion import Weights
from findspot.retrieval import Retriever
from findspot.retrieval.request import MAX_TOKENS
from findspot.runtime import messages, metrics
from findspot.runtime.helpers import Helpers
from findspot.runtime.remote_calls import joined_there
from findspot.search import Found, SearchRequest, Strategy, TableSearch
from findspot.settings import Settings
from findspot.store import chunks as chunk_rows
from findspot.store import index_states as states
from findspot.store import tools as tool_rows
from findspot.store.database import Store


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No arguments."""


class _Query(_Arguments, frozen=True):
    query: str


class _Search(_Arguments, frozen=True):
    query: str
    top_k: int | float | msgspec.UnsetType = msgspec.UNSET  # in JSON, 5.0 is an integer


class _Read(_Arguments, frozen=True):
    json_path: str
    start: int | float | msgspec.UnsetType = msgspec.UNSET
    end: int | float | msgspec.UnsetType = msgspec.UNSET
    around: int | float | msgspec.UnsetType = msgspec.UNSET


class _ReadDocument(_Arguments, frozen=True):
    document_id: int | float | msgspec.UnsetType = msgspec.UNSET
    path: str | msgspec.UnsetType = msgspec.UNSET
    start: int | float | msgspec.UnsetType = msgspec.UNSET
    end: int | float | msgspec.UnsetType = msgspec.UNSET
    around: int | float | msgspec.UnsetType = msgspec.UNSET


class _ListDocuments(_Arguments, frozen=True):
    path_prefix: str | msgspec.UnsetType = msgspec.UNSET
    type: str | msgspec.UnsetType = msgspec.UNSET
    cursor: str | msgspec.UnsetType = msgspec.UNSET


class _Retrieve(_Arguments, frozen=True):
    query: str
    max_tokens: int | float | msgspec.UnsetType = msgspec.UNSET


class _Preview(_Arguments, frozen=True):
    keys: list[str] | msgspec.UnsetType = msgspec.UNSET


class _Select(_Arguments, frozen=True):
    field: str
    keys: list[Any]


_ARGUMENTS: dict[ToolType, type[_Arguments]] = {
    ToolType.QUERY_DATA: _Query,
    ToolType.SEARCH: _Search,
    ToolType.READ: _Read,
    ToolType.SEARCH_DOCUMENTS: _Search,
    ToolType.READ_DOCUMENT: _ReadDocument,
    ToolType.LIST_DOCUMENTS: _ListDocuments,
    ToolType.RETRIEVE: _Retrieve,
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
    struct = _ARGUMENTS.get(type, _Arguments)
    try:
        found: Any = msgspec.json.decode(check(text, "arguments", frame=1), type=struct)
    except msgspec.ValidationError as error:
        raise mismatch(error, struct, "arguments") from None
    query = getattr(found, "query", " ")
    if not query or len(query) > MAX_QUERY:
        raise invalid("query", f"must have 1 to {MAX_QUERY} characters")
    top_k = getattr(found, "top_k", msgspec.UNSET)
    if top_k is not msgspec.UNSET and not (1 <= top_k <= max_top_k and top_k == int(top_k)):
        raise invalid("top_k", f"must be a whole number from 1 to {max_top_k}")
    max_tokens = getattr(found, "max_tokens", msgspec.UNSET)
    if max_tokens is not msgspec.UNSET and not (1 <= max_tokens <= MAX_TOKENS and max_tokens == int(max_tokens)):
        raise invalid("max_tokens", f"must be a whole number from 1 to {MAX_TOKENS}")
    for name in ("start", "end", "around"):
        place = getattr(found, name, msgspec.UNSET)
        if place is not msgspec.UNSET and not (0 <= place <= MAX_OFFSET and place == int(place)):
            raise invalid(name, "must be a whole number from 0: a position in the text, in characters")
    id = getattr(found, "document_id", msgspec.UNSET)
    if id is not msgspec.UNSET and not (1 <= id <= MAX_OFFSET and id == int(id)):
        raise invalid("document_id", "must be a whole number from 1")
    for name in ("path", "path_prefix", "type"):  # compared with text in the database
        if "\0" in (getattr(found, name, msgspec.UNSET) or ""):
            raise invalid(name, "must not contain U+0000")
    return found


class ToolCalls:
    """Calls tools by their type."""

    def __init__(
        self,
        store: Store,
        tables: Tables,
        table_search: TableSearch,
        retriever: Retriever,
        replaces: ReplaceCalls,
        helpers: Helpers,
        settings: Settings,
    ) -> None:
        self._store = store
        self._tables = tables
        self._table_search = table_search
        self._helpers = helpers
        self._contexts = Contexts(store, tables, helpers)
        self._replaces = replaces
        self._documents = DocumentCalls(store, table_search, helpers, settings)
        self._retrieval = RetrievalCalls(store, retriever, settings)
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
        if tool.type is ToolType.REPLACE:
            return await self._replaces.call(tool, arguments, caller, language)
        if tool.type.on_documents:
            return await self._on_documents(tool, arguments, language)
        if tool.type.edits:
            return await self._edit(tool, arguments, language)
        if tool.type is ToolType.SEARCH:
            return await self._search(tool, arguments, language)
        return await self._view(tool, arguments, language)

    async def _on_documents(self, tool: Tool, arguments: bytes, language: str) -> bytes:
        parsed = read_arguments(tool.type, arguments, self._settings.max_top_k)
        if tool.type is ToolType.SEARCH_DOCUMENTS:
            limit = self._settings.top_k if parsed.top_k is msgspec.UNSET else int(parsed.top_k)
            return await self._documents.search(tool, parsed.query, limit, language)
        if tool.type is ToolType.RETRIEVE:
            most = None if parsed.max_tokens is msgspec.UNSET else int(parsed.max_tokens)
            return await self._retrieval.call(tool, parsed.query, most, language)
        if tool.type is ToolType.READ_DOCUMENT:
            return await self._documents.read(tool, msgspec.to_builtins(parsed), language)
        return await self._documents.list(tool, msgspec.to_builtins(parsed))

    async def _view(self, tool: Tool, arguments: bytes, language: str) -> bytes:
        """Return the part of the current table that a reading tool shows."""
        parsed: dict[str, Any] = msgspec.to_builtins(read_arguments(tool.type, arguments, self._settings.max_top_k))
        if tool.type is ToolType.PREVIEW:
            parsed.setdefault("keys", tool.metadata.get("preview_keys"))
        request = View(tool.type.value, tool.json_pointer, parsed, self._settings.answer_tokens, language)
        async with self._tables.reading(tool.table, "") as (_, text):
            return await self._helpers.run(tool.project_id, view, request, joined_there(text))

    async def _edit(self, tool: Tool, arguments: bytes, language: str) -> bytes:
        """Edit the table and return the changed keys."""
        action, field = _EDITS[tool.type]
        edit = asyncio.ensure_future(self._tables.edit(tool.table, action, tool.json_pointer, arguments))
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
        index_state = await self._index_state(tool)  # before the search: chunks not indexed now may be missing in it
        with metrics.search(tool.project_id, tool.id) as record:
            found = await self._table_search.search(self._request(tool, config, parsed.query, limit))
            record(len(found.hits), found.degraded.code if found.degraded else None)
        notice = _notice(found, index_state, language)
        if not found.hits:
            notice = f"{notice} {await self._why_empty(tool, config, parsed.query, language)}".strip()
        answer = search_answer(
            parsed.query, found, tool.json_pointer, await self._context(tool, found, config), notice,
            detail=Detail.LEAN if tool.lean else Detail.TEXT if config.include_metadata is False else Detail.ALL,
        )  # fmt: skip
        budget = self._settings.answer_tokens
        text = short_enough(answer, budget)
        return text if text is not None else await asyncio.to_thread(fit_hits, answer, budget, language)

    async def _index_state(self, tool: Tool) -> TableIndexState:
        state = tool.index or await self._looked_up_state(tool.table)
        if state.status != "indexing":
            return state
        async with self._store.read() as connection:  # counts rows, of which there may be many
            namespace = table_namespace(tool.project_id, tool.table)
            waiting = await chunk_rows.counts_waiting(connection, [namespace])
        return replace(state, indexed=max(0, state.total - waiting.get(namespace, 0)))

    async def _looked_up_state(self, table_id: int) -> TableIndexState:
        async with self._store.lookup(one=True) as connection:
            return await connection.run_sync(states.table_index_state, table_id)

    async def _context(self, tool: Tool, found: Found, config: SearchConfig) -> dict[str, Context]:
        if not found.hits:
            return {}
        places = [hit.found.chunk.json_pointer for hit in found.hits]
        return await self._contexts.of(tool.table, found.hits[0].found.revision, places, config.context_keys)

    async def _why_empty(self, tool: Tool, config: SearchConfig, query: str, language: str) -> str:
        """Return why a tool can find nothing for a query, or nothing at all, or ""."""
        if has_no_words(query):
            return messages.no_words(language)
        size, overlap, threshold = config.chunking(self._settings)
        async with self._store.read() as connection:
            scope = tool.table, tool.json_pointer, (size, overlap), threshold
            nodes, *_ = await tool_rows.count_in_scope(connection, *scope)
        if nodes and config.enable_hybrid is not False and has_only_symbols(query):
            return messages.nothing_contains(shortened(query), language)
        if nodes:
            return ""
        async with self._tables.reading(tool.table, "") as (_, text):
            looked = await self._helpers.run_unless_small(tool.project_id, look, joined_there(text), tool.json_pointer)
        if looked.absent is not None:
            return messages.scope_missing(shortened(tool.json_pointer), language)
        return messages.nothing_to_index(threshold, language)

    def _request(self, tool: Tool, config: SearchConfig, query: str, limit: int) -> SearchRequest:
        size, overlap, threshold = config.chunking(self._settings)
        return SearchRequest(
            tool.project_id,
            query,
            Strategy.VECTOR if config.enable_hybrid is False else Strategy.HYBRID,
            tool.table,
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
    if found.corrected_query is not None:
        notices.append(messages.corrected(found.corrected_query, language))
    code = index_state.error_code or ""
    if index_state.status != "ready":
        notices.append(messages.outdated(index_state, code, language))
    elif code == "SEARCH_CAPACITY_EXCEEDED":
        notices.append(messages.chunk_limit_reached(language))
    return " ".join(notices)
