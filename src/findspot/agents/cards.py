"""What an agent sees of a tool: a name that MCP takes, a description, schemas of what goes in and comes out, and hints
that tell the truth."""

import re
from typing import Any

from findspot.models import Tool, ToolCard, ToolType
from findspot.settings import Settings

MAX_QUERY = 4000
_MCP_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}", re.ASCII)

_WHAT = {
    ToolType.GET_DATA_SCHEMA: "Show which keys and types {where} has, without its content.",
    ToolType.GET_ALL_DATA: "Read {where}, all of it. Large data is cut to its beginning.",
    ToolType.QUERY_DATA: "Read a part of {where} with a JMESPath query, such as `items[0:5].title` or `keys(@)`. "
    "What is not there is null.",
    ToolType.CREATE: "Add elements to {where}. An object takes new keys; a list appends. All are added, or none.",
    ToolType.UPDATE: "Replace whole values in {where} by key (in a list, by index). All are replaced, or none.",
    ToolType.DELETE: "Remove elements from {where} by key (in a list, by index). All are removed, or none.",
    ToolType.PREVIEW: "Show some fields of every object in the list {where}.",
    ToolType.SELECT: "Read the objects of the list {where} whose field has one of the given values.",
    ToolType.SEARCH: "Search the long texts in {where}, by meaning and by words. Answers the passages that fit best, "
    "each with the JSON pointer and the character range where it stands.",
}


def description(type: ToolType, table: str, scope: str) -> str:
    """What a tool is described as if nobody says otherwise."""
    where = f"at {scope!r} in the table {table!r}" if scope else f"the table {table!r}"
    words = "the data " + where if scope else where
    return _WHAT[type].format(where=where if type in (ToolType.PREVIEW, ToolType.SELECT) and scope else words)


def card(tool: Tool, settings: Settings) -> ToolCard:
    plain = _MCP_NAME.fullmatch(tool.name) is not None
    return ToolCard(
        name=tool.name if plain else f"tool-{tool.id}",
        title=tool.name,
        description=tool.description,
        input_schema=_input(tool, settings),
        output_schema=_output(tool),
        annotations={
            "readOnlyHint": not tool.type.edits,
            "destructiveHint": tool.type in (ToolType.UPDATE, ToolType.DELETE),
            "idempotentHint": tool.type is not ToolType.CREATE and tool.type is not ToolType.DELETE,
            "openWorldHint": False,
        },
    )


def _object(properties: dict[str, Any], required: list[str], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False, **more}


def _list(items: Any, about: str) -> dict[str, Any]:
    return {"type": "array", "items": items, "description": about}


_QUERY = {"type": "string", "minLength": 1, "maxLength": MAX_QUERY}
_KEY = {"type": ["string", "integer"]}
_ANY: dict[str, Any] = {}


def _elements(about: str, required: list[str]) -> dict[str, Any]:
    element = _object({"key": _KEY, "content": {"description": "Any JSON value."}}, required)
    return _list(element, about)


def _input(tool: Tool, settings: Settings) -> dict[str, Any]:
    match tool.type:
        case ToolType.SEARCH:
            config = tool.search_config or {}
            query = {**_QUERY, "description": "What to look for, in plain words."}
            top_k = {
                "type": "integer",
                "minimum": 1,
                "maximum": settings.max_top_k,
                "default": config.get("top_k", settings.top_k),
                "description": "How many passages to answer at most.",
            }
            return _object({"query": query, "top_k": top_k}, ["query"])
        case ToolType.QUERY_DATA:
            query = {**_QUERY, "description": "A JMESPath expression."}
            return _object({"query": query}, ["query"])
        case ToolType.CREATE:
            about = "The elements to add. In an object each needs a key that is new; in a list keys do not matter."
            return _object({"elements": _elements(about, ["content"])}, ["elements"])
        case ToolType.UPDATE:
            about = "The keys (in a list, the indexes) that are there, each with its new value."
            return _object({"updates": _elements(about, ["key", "content"])}, ["updates"])
        case ToolType.DELETE:
            return _object({"keys": _list(_KEY, "The keys, or in a list the indexes, to remove.")}, ["keys"])
        case ToolType.PREVIEW:
            return _object({"keys": _list({"type": "string"}, "The fields to show.")}, [])
        case ToolType.SELECT:
            field = {"type": "string", "description": "The field to compare."}
            return _object({"field": field, "keys": _list(_ANY, "The values it may have.")}, ["field", "keys"])
    return _object({}, [])


_CUT = {
    "truncated": {"type": "boolean", "description": "Whether the answer was cut to fit."},
    "notice": {"type": "string", "description": "What there is to know about this answer."},
}
_COUNT = {"type": "integer", "minimum": 0}
_TEXT = {"type": "string"}


def _answer(properties: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return _object({**properties, **(optional or {}), **_CUT}, list(properties))


_KEYS = {"type": "array", "items": _KEY}
_OUTPUTS = {
    ToolType.GET_DATA_SCHEMA: _answer(
        {
            "schema": _ANY,
            "meta": _object(
                {"json_path": _TEXT, "root_type": _TEXT, "keys_preview": {"type": "array", "items": _TEXT}},
                ["json_path", "root_type", "keys_preview"],
            ),
        }
    ),
    ToolType.GET_ALL_DATA: _answer({"data": _ANY}),
    ToolType.QUERY_DATA: _answer({"data": _ANY, "query": _TEXT}),
    ToolType.CREATE: _answer({"created_keys": _KEYS, "total": _COUNT}),
    ToolType.UPDATE: _answer({"updated_keys": _KEYS, "total": _COUNT}),
    ToolType.DELETE: _answer({"deleted_keys": _KEYS, "total": _COUNT}),
    ToolType.PREVIEW: _answer(
        {"data": {"type": "array"}, "keys": {"type": "array", "items": _TEXT}, "total_count": _COUNT}
    ),
    ToolType.SELECT: _answer({"data": {"type": "array"}, "matched_count": _COUNT}),
}

_PLACE: dict[str, Any] = {
    "json_pointer": {"type": "string", "description": "Where the node stands in the table."},
    "chunk_index": _COUNT,
    "total_chunks": _COUNT,
    "chunk_text": _TEXT,
    "char_start": _COUNT,
    "char_end": _COUNT,
}
_IDS: dict[str, Any] = {
    "id": _COUNT,
    "table_id": _COUNT,
    "content_hash": _TEXT,
    "turbopuffer_namespace": _TEXT,
    "turbopuffer_doc_id": _TEXT,
}


def _output(tool: Tool) -> dict[str, Any]:
    if tool.type is not ToolType.SEARCH:
        return _OUTPUTS[tool.type]
    with_ids = (tool.search_config or {}).get("include_metadata", True)
    chunk = {**_PLACE, **_IDS} if with_ids else _PLACE
    hit = {
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "json_path": {"type": "string", "description": "Where the node stands, from the tool's scope on."},
        "chunk": _object(chunk, list(chunk)),
    }
    counts = dict.fromkeys(("vector_results_count", "bm25_results_count"), _COUNT)
    answer = {
        "query": _TEXT,
        "total_results": _COUNT,
        "results": {"type": "array", "items": _object(hit, list(hit))},
        "search_time_ms": {"type": "number", "minimum": 0},
        **counts,
    }
    return _answer(answer, {"fallback": {"type": "string", "enum": ["fts"]}})
