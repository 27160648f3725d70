"""Answers about MCP endpoints, and the JSON-RPC messages that an endpoint itself takes and gives."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from findspot.models import ToolType
from findspot.surfaces.http.models.json import JsonObject, JsonValue


class CreatedEndpoint(TypedDict):
    """A new endpoint. `api_key` is its key, which cannot be shown again."""

    id: int
    url: str
    api_key: str
    name: str


class EndpointSummary(TypedDict):
    id: int
    project_id: int
    name: str
    url: str
    created_at: str


class Endpoints(TypedDict):
    endpoints: list[EndpointSummary]


class Binding(TypedDict):
    """A tool that is bound to an endpoint."""

    tool_id: int
    name: str
    type: ToolType
    enabled: bool


class Bindings(TypedDict):
    tools: list[Binding]


class Endpoint(EndpointSummary):
    """An endpoint with the tools that are bound to it."""

    tools: list[Binding]


class EndpointKey(TypedDict):
    api_key: str


class Enabled(TypedDict):
    tool_id: int
    enabled: bool


class JsonRpcRequest(TypedDict):
    """A JSON-RPC 2.0 request or, without `id`, a notification, as the Model Context Protocol defines them."""

    jsonrpc: Literal["2.0"]
    id: NotRequired[int | str]
    method: str
    params: NotRequired[JsonObject]


class JsonRpcResult(TypedDict):
    """The answer to a JSON-RPC request."""

    jsonrpc: Literal["2.0"]
    id: int | str
    result: JsonObject


class JsonRpcErrorDetail(TypedDict):
    code: int
    message: str
    data: NotRequired[JsonValue]


class JsonRpcError(TypedDict):
    """A JSON-RPC request that could not be answered. `id` is null where the request's id could not be read."""

    jsonrpc: Literal["2.0"]
    id: int | str | None
    error: JsonRpcErrorDetail
