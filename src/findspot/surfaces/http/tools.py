"""Tools over HTTP: create, show, change, call; and the chunk routes for operators."""

from typing import cast

import msgspec
from fastapi import Request, Response

from findspot.agents.schemas import NewSearchTool, NewTool, SearchConfig, ToolChange
from findspot.agents.tool_index import ToolCreation
from findspot.app import App
from findspot.errors import invalid
from findspot.jsontext.check import refuse_lone_surrogates
from findspot.jsontext.mismatch import mismatch
from findspot.models import Tool, ToolType
from findspot.store import dependents
from findspot.surfaces.http.body import pieces
from findspot.surfaces.http.encoding import encoded_dependents, timestamp
from findspot.surfaces.http.models import tools as models
from findspot.surfaces.http.models.projects import Dependents
from findspot.surfaces.http.models.tool_answers import CallAnswer
from findspot.surfaces.http.router import Router, access_of, app_of

api = Router("tools")


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


def _tool(app: App, tool: Tool) -> models.Tool:
    card = app.tools.describe(tool)
    config = None
    if tool.type is ToolType.SEARCH:
        effective = SearchConfig(**(tool.search_config or {})).effective(app.settings)
        config = cast(models.EffectiveSearchConfig, effective)
    answer: models.Tool = {
        "id": tool.id,
        "tool_id": tool.id,
        "project_id": tool.project_id,
        "table_id": tool.table_id,
        "type": tool.type,
        "name": tool.name,
        "description": tool.description,
        "json_pointer": tool.json_pointer,
        "metadata": tool.metadata,
        "search_config": config,
        "input_schema": card.input_schema,
        "output_schema": card.output_schema,
        "created_at": timestamp(tool.created_at),
        "updated_at": timestamp(tool.updated_at),
    }
    if tool.type.on_documents:
        answer["documents"] = cast(models.DocumentScope, (tool.search_config or {}).get("documents", {}))
    return answer


def _created(made: ToolCreation) -> models.CreatedTool:
    nodes: list[models.LargeNode] = [
        {"json_pointer": each[0], "char_count": each[1], "chunks_count": each[2]} for each in made.nodes
    ]
    answer: models.CreatedTool = {
        "id": made.tool.id,
        "tool_id": made.tool.id,
        "name": made.tool.name,
        "type": made.tool.type,
        "status": made.status,
        "chunks_created": made.chunks_created,
        "nodes_count": made.nodes_count,
        "chunks_count": made.chunks_count,
        "namespace": made.namespace,
        "large_nodes_detected": nodes,
        "created_at": timestamp(made.tool.created_at),
    }
    return answer if made.notice is None else {**answer, "notice": made.notice}


@api.post("/api/v1/tools/search", status=201, headers=("Accept-Language",), errors=("SEARCH_CAPACITY_EXCEEDED",))
async def create_search_tool(request: Request, body: NewSearchTool, wait: bool = True) -> models.CreatedTool:
    """Create a search tool. Answers when its scope is indexed, or at once with `wait=false`."""
    language = access_of(request.scope).language
    return _created(await app_of(request).tools.create(body.project_id, body, wait=wait, language=language))


@api.post("/api/v1/tools", status=201, headers=("Accept-Language",), errors=("SEARCH_CAPACITY_EXCEEDED",))
async def create_tool(request: Request, body: NewTool, wait: bool = True) -> models.CreatedTool:
    """Create a tool of any type."""
    language = access_of(request.scope).language
    return _created(await app_of(request).tools.create(body.project_id, body, wait=wait, language=language))


@api.get("/api/v1/projects/{project_id}/tools")
async def list_tools(request: Request, project_id: int) -> models.Tools:
    """List the tools of a project."""
    app = app_of(request)
    return {"tools": [_tool(app, tool) for tool in await app.tools.every(project_id)]}


@api.get("/api/v1/tools/{tool_id}")
async def get_tool(request: Request, tool_id: int) -> models.Tool:
    """Show one tool, with the schemas that agents see."""
    app = app_of(request)
    return _tool(app, await app.tools.get(tool_id))


@api.patch("/api/v1/tools/{tool_id}", errors=("TOOL_NAME_CONFLICT",))
async def change_tool(request: Request, tool_id: int, body: ToolChange) -> models.Tool:
    """Change a tool's name, description, scope, metadata or search configuration."""
    app = app_of(request)
    return _tool(app, await app.tools.change(tool_id, body))


@api.get("/api/v1/tools/{tool_id}/dependents")
async def get_tool_dependents(request: Request, tool_id: int) -> Dependents:
    """Count what is affected by deleting a tool."""
    async with app_of(request).store.read() as connection:
        return encoded_dependents(await dependents.of_tool(connection, tool_id))


@api.delete("/api/v1/tools/{tool_id}")
async def delete_tool(request: Request, tool_id: int) -> Response:
    """Delete a tool. Chunks that no other tool needs go with it."""
    app = app_of(request)
    await app.tools.delete(tool_id)
    return Response(status_code=204)


@api.get("/api/v1/tools/{tool_id}/search-index")
async def get_search_index(request: Request, tool_id: int) -> models.SearchIndex:
    """Show how far the index of a search tool is."""
    return await _search_index(request, tool_id)


async def _search_index(request: Request, tool_id: int) -> models.SearchIndex:
    return cast(models.SearchIndex, await app_of(request).tools.search_index(tool_id))


_CALL_ERRORS = (
    "FORBIDDEN",
    "PATCH_CONFLICT",
    "VERSION_CONFLICT",
    "REPLACE_PREVIEW_STALE",
    "SEARCH_BACKPRESSURE",
    "SEARCH_TIMEOUT",
    "EMBEDDING_DIMENSION_MISMATCH",
    "EMBEDDING_UNAVAILABLE",
    "ENGINE_UNAVAILABLE",
    "INDEX_REBUILDING",
)


@api.post(
    "/api/v1/tools/{tool_id}/call",
    takes=models.ToolCall,
    answer=CallAnswer,
    headers=("Accept-Language",),
    errors=_CALL_ERRORS,
)
async def call_tool(request: Request, tool_id: int) -> Response:
    """Call a tool with `{arguments}`; the answer is the structured content that an agent gets."""
    app = app_of(request)
    body = b"".join(await pieces(request))
    try:
        call = msgspec.json.decode(body, type=_Call)
    except msgspec.ValidationError as error:
        raise mismatch(error, _Call) from None
    except (msgspec.DecodeError, RecursionError) as error:
        refuse_lone_surrogates(body, "arguments")
        raise invalid("body", f"must be {{arguments}}: {error}") from None
    access = access_of(request.scope)
    tool = access.tools[0] if access.tools else await app.tools.get(tool_id)
    answer = await app.tool_calls.call_text(tool, bytes(call.arguments), access.caller, access.language)
    return Response(answer, media_type="application/json")


# ── for operators ──


@api.get("/internal/tools/{tool_id}/chunks/stats")
async def get_chunk_stats(request: Request, tool_id: int) -> models.ChunkStats:
    """Show how many chunks the store has for a search tool, and how many of them the engine has."""
    return {"id": tool_id, "tool_id": tool_id, **await _search_index(request, tool_id)}


@api.post("/internal/tools/{tool_id}/chunks/rebuild", status=202, errors=("SEARCH_CAPACITY_EXCEEDED",))
async def rebuild_chunks(request: Request, tool_id: int) -> models.RebuildStarted:
    """Cut and index the scope of a search tool again; `search-index` shows the progress."""
    app = app_of(request)
    await app.tools.rebuild_chunks(tool_id)
    return {"id": tool_id, "tool_id": tool_id, "status": "pending"}


@api.delete("/internal/tools/{tool_id}/chunks")
async def delete_chunks(request: Request, tool_id: int) -> Response:
    """Delete a search tool's chunks. The next change of the table, or a rebuild, makes them again."""
    app = app_of(request)
    await app.tools.delete_chunks(tool_id)
    return Response(status_code=204)
