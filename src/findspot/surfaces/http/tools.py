"""Tools over HTTP: make, look at, change, call; and what operators may do with their chunks."""

from typing import Any

import msgspec
from fastapi import Request, Response

from findspot.agents.schemas import NewSearchTool, NewTool, SearchConfig, ToolChange
from findspot.agents.tool_index import Made
from findspot.app import App
from findspot.errors import invalid, not_found
from findspot.jsontext.check import refuse_lone_surrogates
from findspot.models import Tool, ToolType
from findspot.runtime import messages
from findspot.store import tools as rows
from findspot.surfaces.http.answers import anything, listed, moment
from findspot.surfaces.http.body import pieces
from findspot.surfaces.http.router import router

api = router("tools")


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


def _tool(app: App, tool: Tool) -> dict[str, Any]:
    card = app.tools.describe(tool)
    config = None
    if tool.type is ToolType.SEARCH:
        config = SearchConfig(**(tool.search_config or {})).effective(app.settings)
    return {
        "id": tool.id,
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
        "created_at": moment(tool.created_at),
        "updated_at": moment(tool.updated_at),
    }


def _made(made: Made) -> dict[str, Any]:
    nodes = [{"json_pointer": each[0], "char_count": each[1], "chunks_count": each[2]} for each in made.nodes]
    answer: dict[str, Any] = {
        "tool_id": made.tool.id,
        "name": made.tool.name,
        "type": made.tool.type,
        "status": made.status,
        "chunks_created": made.chunks_created,
        "namespace": made.namespace,
        "large_nodes_detected": nodes,
    }
    return answer if made.notice is None else {**answer, "notice": made.notice}


def _language(request: Request) -> str:
    return messages.language(request.headers.get("accept-language"))


@api.post("/api/v1/tools/search", status_code=201)
async def create_search_tool(request: Request, body: NewSearchTool, wait: bool = True) -> dict[str, Any]:
    """Make a search tool; answers when its scope is indexed, or at once with `wait=false`."""
    app: App = request.app.state.app
    return _made(await app.tools.make(body.project_id, body, wait=wait, language=_language(request)))


@api.post("/api/v1/tools", status_code=201)
async def create_tool(request: Request, body: NewTool, wait: bool = True) -> dict[str, Any]:
    """Make a tool of any type."""
    app: App = request.app.state.app
    return _made(await app.tools.make(body.project_id, body, wait=wait, language=_language(request)))


@api.get("/api/v1/projects/{project_id}/tools")
async def list_tools(request: Request, project_id: int) -> Response:
    """The tools of a project."""
    app: App = request.app.state.app
    return listed("tools", [_tool(app, tool) for tool in await app.tools.every(project_id)])


@api.get("/api/v1/tools/{tool_id}")
async def get_tool(request: Request, tool_id: int) -> dict[str, Any]:
    """One tool, with the schemas that agents see."""
    app: App = request.app.state.app
    return _tool(app, await app.tools.get(tool_id))


@api.patch("/api/v1/tools/{tool_id}")
async def change_tool(request: Request, tool_id: int, body: ToolChange) -> dict[str, Any]:
    """Change a tool's name, description, scope, metadata or search configuration."""
    app: App = request.app.state.app
    return _tool(app, await app.tools.change(tool_id, body))


@api.delete("/api/v1/tools/{tool_id}", status_code=204)
async def delete_tool(request: Request, tool_id: int) -> Response:
    """Delete a tool. Chunks that no other tool needs go with it."""
    app: App = request.app.state.app
    await app.tools.delete(tool_id)
    return Response(status_code=204)


@api.get("/api/v1/tools/{tool_id}/search-index")
async def search_index(request: Request, tool_id: int) -> dict[str, Any]:
    """How far the index of a search tool is."""
    app: App = request.app.state.app
    return await app.tools.search_index(tool_id)


@api.post("/api/v1/tools/{tool_id}/call", openapi_extra=anything("application/json"))
async def call_tool(request: Request, tool_id: int) -> Response:
    """Call a tool with `{arguments}`; the answer is the structured content that an agent gets."""
    app: App = request.app.state.app
    body = b"".join(await pieces(request))
    try:
        call = msgspec.json.decode(body, type=_Call)
    except (msgspec.DecodeError, RecursionError) as error:
        refuse_lone_surrogates(body, "arguments")
        raise invalid("body", f"must be {{arguments}}: {error}") from None
    async with app.store.lookup() as connection:
        tool = await rows.get(connection, tool_id)
    if tool is None:
        raise not_found("tool")
    answer = await app.tool_calls.call_text(tool, bytes(call.arguments), request.state.caller, _language(request))
    return Response(answer, media_type="application/json")


# ── for operators ──


@api.get("/internal/tools/{tool_id}/chunks/stats")
async def chunk_stats(request: Request, tool_id: int) -> dict[str, Any]:
    """What the store holds of a search tool's chunks, and how many of them the engine has."""
    app: App = request.app.state.app
    return {"tool_id": tool_id, **await app.tools.search_index(tool_id)}


@api.post("/internal/tools/{tool_id}/chunks/rebuild", status_code=202)
async def rebuild_chunks(request: Request, tool_id: int) -> dict[str, Any]:
    """Cut and index what a search tool sees anew; `search-index` tells how far it is."""
    app: App = request.app.state.app
    await app.tools.rebuild_chunks(tool_id)
    return {"tool_id": tool_id, "status": "pending"}


@api.delete("/internal/tools/{tool_id}/chunks", status_code=204)
async def delete_chunks(request: Request, tool_id: int) -> Response:
    """Delete a search tool's chunks. They come back with the next change of the table, or with a rebuild."""
    app: App = request.app.state.app
    await app.tools.delete_chunks(tool_id)
    return Response(status_code=204)
