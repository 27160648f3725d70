"""MCP endpoints over HTTP: make, bind, enable, change the key."""

from typing import Any

from fastapi import Request, Response
from pydantic import Field

from findspot.agents.schemas import Id
from findspot.app import App
from findspot.models import Binding, Endpoint
from findspot.surfaces.http.answers import moment
from findspot.surfaces.http.body import Body, Name
from findspot.surfaces.http.router import router

api = router("mcp")


class NewEndpoint(Body):
    project_id: Id
    name: Name
    tool_ids: list[Id] = Field(default_factory=list)


class Enabling(Body):
    enabled: bool


def _url(request: Request, endpoint_id: int) -> str:
    return f"{request.base_url}mcp/{endpoint_id}"


def _endpoint(request: Request, endpoint: Endpoint) -> dict[str, Any]:
    return {
        "id": endpoint.id,
        "project_id": endpoint.project_id,
        "name": endpoint.name,
        "url": _url(request, endpoint.id),
        "created_at": moment(endpoint.created_at),
    }


def _binding(binding: Binding) -> dict[str, Any]:
    tool = binding.tool
    return {"tool_id": tool.id, "name": tool.name, "type": tool.type, "enabled": binding.enabled}


@api.post("/api/v1/mcp", status_code=201)
async def create_endpoint(request: Request, body: NewEndpoint) -> dict[str, Any]:
    """Make an endpoint with tools bound to it, all or nothing. Its key is in this answer and nowhere else."""
    app: App = request.app.state.app
    endpoint, key = await app.endpoints.create(body.project_id, body.name, body.tool_ids)
    return {"id": endpoint.id, "url": _url(request, endpoint.id), "api_key": key, "name": endpoint.name}


@api.get("/api/v1/projects/{project_id}/mcp")
async def list_endpoints(request: Request, project_id: int) -> dict[str, Any]:
    """The endpoints of a project."""
    app: App = request.app.state.app
    return {"endpoints": [_endpoint(request, each) for each in await app.endpoints.every(project_id)]}


@api.get("/api/v1/mcp/{endpoint_id}")
async def get_endpoint(request: Request, endpoint_id: int) -> dict[str, Any]:
    """One endpoint and the tools that are bound to it."""
    app: App = request.app.state.app
    endpoint = await app.endpoints.get(endpoint_id)
    bindings = [_binding(each) for each in await app.endpoints.bindings(endpoint_id)]
    return {**_endpoint(request, endpoint), "tools": bindings}


@api.delete("/api/v1/mcp/{endpoint_id}", status_code=204)
async def delete_endpoint(request: Request, endpoint_id: int) -> Response:
    """Delete an endpoint; its tools stay."""
    app: App = request.app.state.app
    await app.endpoints.delete(endpoint_id)
    return Response(status_code=204)


@api.post("/api/v1/mcp/{endpoint_id}/rotate-key")
async def rotate_key(request: Request, endpoint_id: int) -> dict[str, Any]:
    """A new key for an endpoint; the one before opens nothing any more."""
    app: App = request.app.state.app
    return {"api_key": await app.endpoints.rotate(endpoint_id)}


@api.put("/api/v1/mcp/{endpoint_id}/tools/{tool_id}")
async def bind_tool(request: Request, endpoint_id: int, tool_id: int) -> dict[str, Any]:
    """Bind a tool of the same project to an endpoint."""
    app: App = request.app.state.app
    await app.endpoints.bind(endpoint_id, tool_id)
    return {"tools": [_binding(each) for each in await app.endpoints.bindings(endpoint_id)]}


@api.patch("/api/v1/mcp/{endpoint_id}/tools/{tool_id}")
async def enable_tool(request: Request, endpoint_id: int, tool_id: int, body: Enabling) -> dict[str, Any]:
    """Enable or disable a tool at an endpoint, from this moment on."""
    app: App = request.app.state.app
    await app.endpoints.enable(endpoint_id, tool_id, body.enabled)
    return {"tool_id": tool_id, "enabled": body.enabled}


@api.delete("/api/v1/mcp/{endpoint_id}/tools/{tool_id}", status_code=204)
async def unbind_tool(request: Request, endpoint_id: int, tool_id: int) -> Response:
    """Take a tool from an endpoint, from this moment on."""
    app: App = request.app.state.app
    await app.endpoints.unbind(endpoint_id, tool_id)
    return Response(status_code=204)
