"""Answers about MCP endpoints, and the JSON-RPC messages that an endpoint itself takes and gives."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from findspot.models import ToolType
from findspot.surfaces.http.models.json import JsonObject, JsonValue


class EndpointSummary(TypedDict):
    id: int
    project_id: int
    name: str
    url: str
    lean: bool
    reading: bool
    created_at: str


class CreatedEndpoint(EndpointSummary):
    """A new endpoint. `api_key` (also `key`) is its key, which cannot be shown again."""

    api_key: str
    key: str


class Endpoints(TypedDict):
    endpoints: list[EndpointSummary]


class Binding(TypedDict):
    """A tool that is bound to an endpoint. `id` and `tool_id` are the same."""

    id: int
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
    id: int
    api_key: str
    key: str


class Enabled(TypedDict):
    id: int
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
