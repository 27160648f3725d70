"""The card of a tool, as agents see it: a name that is valid in MCP, a description, input and output schemas, hints."""

import re
from typing import Any

from findspot.models import Tool, ToolCard, ToolType
from findspot.settings import Settings

MAX_QUERY = 4000
_MCP_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}", re.ASCII)

_DESCRIPTIONS = {
    ToolType.GET_DATA_SCHEMA: "Show the keys and types of {where}, without its content.",
    ToolType.GET_ALL_DATA: "Read all of {where}. Large data is cut.",
    ToolType.QUERY_DATA: "Read a part of {where} with a JMESPath query, such as `items[0:5].title` or `keys(@)`. "
    "A missing value is null.",
    ToolType.CREATE: "Add elements to {where}: new keys of an object, or at the end of a list. All are added, or none.",
    ToolType.UPDATE: "Replace whole values in {where} by key (in a list, by index). All are replaced, or none.",
    ToolType.DELETE: "Remove elements from {where} by key (in a list, by index). All are removed, or none.",
    ToolType.PREVIEW: "Show some fields of every object in the list {where}.",
    ToolType.SELECT: "Read the objects of the list {where} whose field has one of the given values.",
    ToolType.SEARCH: "Search the long texts in {where}, by meaning and by words. Returns the best passages, each with "
    "its JSON pointer and character range.",
}


def description(type: ToolType, table: str, scope: str) -> str:
    """Return the default description of a tool."""
    where = f"at {scope!r} in the table {table!r}" if scope else f"the table {table!r}"
    if scope and type not in (ToolType.PREVIEW, ToolType.SELECT):
        where = f"the data {where}"
    return _DESCRIPTIONS[type].format(where=where)


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
            query = {**_QUERY, "description": "What to search for, in plain words."}
            top_k = {
                "type": "integer",
                "minimum": 1,
                "maximum": settings.max_top_k,
                "default": config.get("top_k", settings.top_k),
                "description": "The maximum number of passages to return.",
            }
            return _object({"query": query, "top_k": top_k}, ["query"])
        case ToolType.QUERY_DATA:
            query = {**_QUERY, "description": "A JMESPath expression."}
            return _object({"query": query}, ["query"])
        case ToolType.CREATE:
            about = "The elements to add. In an object, each needs a new key; in a list, keys are ignored."
            return _object({"elements": _elements(about, ["content"])}, ["elements"])
        case ToolType.UPDATE:
            about = "Existing keys (in a list, indexes), each with its new value."
            return _object({"updates": _elements(about, ["key", "content"])}, ["updates"])
        case ToolType.DELETE:
            return _object({"keys": _list(_KEY, "The keys, or in a list the indexes, to remove.")}, ["keys"])
        case ToolType.PREVIEW:
            return _object({"keys": _list({"type": "string"}, "The fields to show.")}, [])
        case ToolType.SELECT:
            field = {"type": "string", "description": "The field to compare."}
            return _object({"field": field, "keys": _list(_ANY, "The values to match.")}, ["field", "keys"])
    return _object({}, [])


_CUT = {
    "truncated": {"type": "boolean", "description": "Whether the answer was too long and was cut."},
    "notice": {"type": "string", "description": "A note on what is missing from this answer, and why."},
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

_LOCATION: dict[str, Any] = {
    "json_pointer": {"type": "string", "description": "The JSON pointer of the node in the table."},
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
    chunk = {**_LOCATION, **_IDS} if with_ids else _LOCATION
    hit = {
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "json_path": {"type": "string", "description": "The JSON pointer of the node, relative to the tool's scope."},
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
