"""MCP endpoints over HTTP: create, bind tools, enable them, rotate the key."""

from fastapi import Request, Response
from pydantic import Field

from findspot.agents.schemas import Id
from findspot.models import Binding, Endpoint
from findspot.surfaces.http.body import Body, Name
from findspot.surfaces.http.encoding import timestamp
from findspot.surfaces.http.models import endpoints as models
from findspot.surfaces.http.router import Router, app_of

api = Router("mcp")


class NewEndpoint(Body):
    project_id: Id
    name: Name
    tool_ids: list[Id] = Field(default_factory=list)
    lean: bool = False
    reading: bool = True


class EndpointChange(Body):
    lean: bool | None = None
    reading: bool | None = None


class BindingChange(Body):
    enabled: bool


def _url(request: Request, endpoint_id: int) -> str:
    return f"{app_of(request).settings.address}/mcp/{endpoint_id}"


def _endpoint(request: Request, endpoint: Endpoint) -> models.EndpointSummary:
    return {
        "id": endpoint.id,
        "project_id": endpoint.project_id,
        "name": endpoint.name,
        "url": _url(request, endpoint.id),
        "lean": endpoint.lean,
        "reading": endpoint.reading,
        "created_at": timestamp(endpoint.created_at),
    }


def _binding(binding: Binding) -> models.Binding:
    tool = binding.tool
    return {"id": tool.id, "tool_id": tool.id, "name": tool.name, "type": tool.type, "enabled": binding.enabled}


@api.post("/api/v1/mcp", status=201, errors=("TOOL_NAME_CONFLICT",))
async def create_endpoint(request: Request, body: NewEndpoint) -> models.CreatedEndpoint:
    """Create an endpoint with tools bound to it, all or nothing. Its key is in this answer and nowhere else."""
    endpoint, key = await app_of(request).endpoints.create(
        body.project_id, body.name, body.tool_ids, lean=body.lean, reading=body.reading
    )
    return {**_endpoint(request, endpoint), "api_key": key, "key": key}


@api.get("/api/v1/projects/{project_id}/mcp")
async def list_endpoints(request: Request, project_id: int) -> models.Endpoints:
    """List the endpoints of a project."""
    return {"endpoints": [_endpoint(request, each) for each in await app_of(request).endpoints.every(project_id)]}


@api.get("/api/v1/mcp/{endpoint_id}")
async def get_endpoint(request: Request, endpoint_id: int) -> models.Endpoint:
    """Show one endpoint and the tools that are bound to it."""
    app = app_of(request)
    endpoint = await app.endpoints.get(endpoint_id)
    bindings = [_binding(each) for each in await app.endpoints.bindings(endpoint_id)]
    return {**_endpoint(request, endpoint), "tools": bindings}


@api.patch("/api/v1/mcp/{endpoint_id}")
async def change_endpoint(request: Request, endpoint_id: int, body: EndpointChange) -> models.EndpointSummary:
    """Set whether hits leave out metadata (`lean`), and whether search tools bring a reading tool (`reading`)."""
    values = body.model_dump(exclude_none=True)
    return _endpoint(request, await app_of(request).endpoints.change(endpoint_id, values))


@api.delete("/api/v1/mcp/{endpoint_id}")
async def delete_endpoint(request: Request, endpoint_id: int) -> Response:
    """Delete an endpoint; its tools stay."""
    await app_of(request).endpoints.delete(endpoint_id)
    return Response(status_code=204)


@api.post("/api/v1/mcp/{endpoint_id}/rotate-key")
async def rotate_key(request: Request, endpoint_id: int) -> models.EndpointKey:
    """Give an endpoint a new key; the old one stops working at once."""
    key = await app_of(request).endpoints.rotate(endpoint_id)
    return {"id": endpoint_id, "api_key": key, "key": key}


@api.put("/api/v1/mcp/{endpoint_id}/tools/{tool_id}", errors=("TOOL_NAME_CONFLICT",))
async def bind_tool(request: Request, endpoint_id: int, tool_id: int) -> models.Bindings:
    """Bind a tool of the same project to an endpoint."""
    app = app_of(request)
    await app.endpoints.bind(endpoint_id, tool_id)
    return {"tools": [_binding(each) for each in await app.endpoints.bindings(endpoint_id)]}


@api.patch("/api/v1/mcp/{endpoint_id}/tools/{tool_id}")
async def enable_tool(request: Request, endpoint_id: int, tool_id: int, body: BindingChange) -> models.Enabled:
    """Enable or disable a tool at an endpoint, effective at once."""
    await app_of(request).endpoints.enable(endpoint_id, tool_id, body.enabled)
    return {"id": tool_id, "tool_id": tool_id, "enabled": body.enabled}


@api.delete("/api/v1/mcp/{endpoint_id}/tools/{tool_id}")
async def unbind_tool(request: Request, endpoint_id: int, tool_id: int) -> Response:
    """Unbind a tool from an endpoint, effective at once."""
    await app_of(request).endpoints.unbind(endpoint_id, tool_id)
    return Response(status_code=204)
