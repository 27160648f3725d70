"""Calls of the tools on documents: search them, read a part of one, list them."""

import asyncio
import base64
from typing import Any

import msgspec

from findspot.agents import document_texts
from findspot.agents.budget import encode, token_cost
from findspot.agents.hits import fit_hits, has_no_words, has_only_symbols, short_enough
from findspot.agents.reading import Slice
from findspot.engines.protocol import EVERYTHING, Within
from findspot.errors import FindspotError, invalid, quoted, shortened
from findspot.models import Tool
from findspot.runtime import messages, metrics
from findspot.runtime.helpers import Helpers
from findspot.search import Found, SearchRequest, TableSearch
from findspot.settings import Settings
from findspot.store import document_scopes
from findspot.store.database import Store
from findspot.store.document_counts import indexed_documents
from findspot.store.document_scopes import DocumentScope

PAGE = 50  # documents in a list
_MAX_TITLE = 200  # characters


class DocumentCalls:
    """Calls tools that work on the documents of a project, within the scope of the tool."""

    def __init__(self, store: Store, search: TableSearch, helpers: Helpers, settings: Settings) -> None:
        self._store = store
        self._search = search
        self._helpers = helpers
        self._settings = settings

    async def search(self, tool: Tool, query: str, limit: int, language: str) -> bytes:
        """Return the best passages. Ranking, second stage and fallback are those of a search in a table."""
        async with self._store.read() as connection:
            indexed, total, is_full = await indexed_documents(connection, tool.project_id)
        within = await within_scope(self._store, tool)
        with metrics.search(tool.project_id, tool.id) as record:
            found = await self._search.search(SearchRequest(tool.project_id, query, within=within, limit=limit))
            record(len(found.hits), found.degraded.code if found.degraded else None)
        notices = [messages.fallback(found.degraded.code, language)] if found.degraded else []
        if found.corrected_query is not None:
            notices.append(messages.corrected(found.corrected_query, language))
        if indexed < total:
            notices.append(messages.indexing(indexed, total, language, is_full=is_full))
        if not found.hits and has_no_words(query):
            notices.append(messages.no_words(language))
        elif not found.hits and has_only_symbols(query):
            notices.append(messages.nothing_contains(shortened(query), language))
        answer: dict[str, Any] = {
            "query": query,
            "total_results": found.total,
            "results": await self._results(tool.project_id, found),
        }
        if found.corrected_query is not None:
            answer["corrected_query"] = found.corrected_query
        if found.degraded:
            answer["fallback"] = found.degraded.fallback
        if notices:
            answer["notice"] = " ".join(notices)
        budget = self._settings.answer_tokens
        text = short_enough(answer, budget)
        return text if text is not None else await asyncio.to_thread(fit_hits, answer, budget, language)

    async def _results(self, project_id: int, found: Found) -> list[dict[str, Any]]:
        async with self._store.read() as connection:
            loaded = await document_scopes.load(connection, [hit.found.chunk.document_id or 0 for hit in found.hits])
        numbers = {id: number for number, id in enumerate(loaded)}
        hits = [hit for hit in found.hits if hit.found.chunk.document_id in loaded]
        chunks = [hit.found.chunk for hit in hits]
        passages = [
            document_texts.Passage(numbers[chunk.document_id or 0], chunk.char_start, chunk.text) for chunk in chunks
        ]
        formats, contents = [each.format for each in loaded.values()], [each.content for each in loaded.values()]
        places = await self._helpers.run(project_id, document_texts.places, passages, formats, contents) if hits else []
        return [
            {
                "score": round(hit.ranked.score, 4),
                "document_id": hit.found.chunk.document_id,
                "title": hit.found.title or "",
                "path": loaded[hit.found.chunk.document_id or 0].path,
                "heading_path": list(hit.found.chunk.context.headings),
                "start": place.start,
                "end": place.start + len(hit.found.chunk.text),
                "text": hit.found.chunk.text,
                "line": place.line,
            }
            for hit, place in zip(hits, places, strict=True)
        ]

    async def read(self, tool: Tool, arguments: dict[str, Any], language: str) -> bytes:
        """Return a part of a document in the scope of the tool, named by its id or its path."""
        wanted, id, path = Slice.of(arguments), arguments.get("document_id"), arguments.get("path")
        if (id is None) == (path is None):
            raise invalid("document_id", "give either 'document_id' or 'path', as a search or a list names it")
        async with self._store.read() as connection:
            found = await document_scopes.find(connection, tool.project_id, scope_of(tool), id and int(id), path)
            loaded = await document_scopes.load(connection, [found]) if found is not None else {}
        if found not in loaded:
            named = f"path {quoted(path)}" if path is not None else f"id {id}"
            message = f"This tool shows no document with the {named}. A search or list of documents names them."
            raise FindspotError("NOT_FOUND", message, field="path" if path is not None else "document_id")
        document, budget = loaded[found], self._settings.answer_tokens
        call = document_texts.Reading(
            document.id, document.title, document.path, document.format, wanted, budget, language
        )
        return await self._helpers.run(tool.project_id, document_texts.read_part, call, document.content)

    async def list(self, tool: Tool, arguments: dict[str, Any]) -> bytes:
        """Return a page of the documents in the scope of the tool, in order of their ids."""
        types = (arguments["type"],) if "type" in arguments else ()
        asked = DocumentScope(arguments.get("path_prefix", ""), types)
        after = _after(arguments["cursor"]) if "cursor" in arguments else 0
        async with self._store.read() as connection:
            scopes = (scope_of(tool), asked)
            found = await document_scopes.listed(connection, tool.project_id, scopes, after, PAGE + 1)
        rows = [
            {
                "id": each.id,
                "title": shortened(each.title, _MAX_TITLE),
                "path": each.path,
                "type": each.type,
                "length": each.length,
                "updated_at": each.updated_at.isoformat().replace("+00:00", "Z"),
            }
            for each in found
        ]
        return await asyncio.to_thread(_page, rows, self._settings.answer_tokens)


def scope_of(tool: Tool) -> DocumentScope:
    """Return the documents that a tool may use."""
    scope = (tool.search_config or {}).get("documents", {})
    return DocumentScope(
        scope.get("path_prefix", ""), tuple(scope.get("types", ())), tuple(scope.get("document_ids", ()))
    )


async def within_scope(store: Store, tool: Tool) -> Within:
    """Return the filter for the documents that a tool may use."""
    scope = scope_of(tool)
    if scope.is_everything:
        return EVERYTHING
    async with store.read() as connection:
        return Within(document_ids=await document_scopes.ids(connection, tool.project_id, scope))


def _page(rows: list[dict[str, Any]], budget: int) -> bytes:
    """Return as many of the rows as fit, with a cursor if there are more."""
    size = min(len(rows), PAGE)
    while True:
        cursor = _cursor(rows[size - 1]["id"]) if size < len(rows) else None
        text = encode({"documents": rows[:size], "cursor": cursor})
        if size <= 1 or token_cost(text) <= budget:
            return text
        size //= 2


def _cursor(last: int) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(last)).decode().rstrip("=")


def _after(cursor: str) -> int:
    try:
        return msgspec.msgpack.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=int)
    except (ValueError, msgspec.MsgspecError):
        raise invalid("cursor", "is not one that a list returned; leave it out to begin anew") from None
