"""Requests and answers about tools."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from findspot.models import ToolType
from findspot.surfaces.http.models.json import JsonObject
from findspot.surfaces.http.models.projects import IndexStatus


class ToolCall(TypedDict):
    """The arguments of a call, as the tool's `input_schema` describes them."""

    arguments: NotRequired[JsonObject]


class LargeNode(TypedDict):
    json_pointer: str
    char_count: int
    chunks_count: int


class CreatedTool(TypedDict):
    """A new tool. `nodes_count` and `chunks_count` are what it searches; `chunks_created` did not exist before.

    `large_nodes_detected` lists at most 1,000 of the nodes. `id` and `tool_id` are the same.
    """

    id: int
    tool_id: int
    name: str
    type: ToolType
    status: IndexStatus
    chunks_created: int
    nodes_count: int
    chunks_count: int
    namespace: str
    large_nodes_detected: list[LargeNode]
    created_at: str
    notice: NotRequired[str]


class SkippedNode(TypedDict):
    json_pointer: str
    reason: str


class SearchIndex(TypedDict):
    """How far the index of a search tool is."""

    status: IndexStatus
    configured_at: str
    indexed_at: str | None
    nodes_count: int
    chunks_count: int
    indexed_chunks_count: int
    skipped_nodes: list[SkippedNode]
    last_error: str | None


class EffectiveSearchConfig(TypedDict):
    """The search configuration of a tool, completed with the settings' defaults."""

    top_k: int
    enable_hybrid: bool
    vector_weight: NotRequired[float]
    bm25_weight: NotRequired[float]
    fusion: NotRequired[Literal["convex", "rrf"]]
    chunk_threshold: int
    chunk_size: int
    chunk_overlap: int
    include_metadata: bool
    context_keys: NotRequired[list[str]]


class DocumentScope(TypedDict):
    """The documents that a tool may use; all where nothing is named."""

    path_prefix: NotRequired[str]
    types: NotRequired[list[str]]
    document_ids: NotRequired[list[int]]


class Tool(TypedDict):
    """A tool, with the JSON schemas that agents see. A search tool's metadata has its index as `search_index`."""

    id: int
    tool_id: int
    project_id: int
    table_id: int | None
    type: ToolType
    name: str
    description: str
    json_pointer: str
    metadata: JsonObject
    search_config: EffectiveSearchConfig | None
    documents: NotRequired[DocumentScope]
    input_schema: JsonObject
    output_schema: JsonObject
    created_at: str
    updated_at: str


class Tools(TypedDict):
    tools: list[Tool]


class ChunkStats(SearchIndex):
    id: int
    tool_id: int


class RebuildStarted(TypedDict):
    id: int
    tool_id: int
    status: Literal["pending"]
