"""Requests and answers about tools."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from findspot.models import ToolType
from findspot.surfaces.http.models.json import JsonObject, JsonValue
from findspot.surfaces.http.models.projects import IndexStatus


class ToolCall(TypedDict):
    """The arguments of a call, as the tool's `input_schema` describes them."""

    arguments: NotRequired[JsonObject]


class LargeNode(TypedDict):
    json_pointer: str
    char_count: int
    chunks_count: int


class CreatedTool(TypedDict):
    """A new tool. `chunks_created` counts chunks that did not exist before."""

    tool_id: int
    name: str
    type: ToolType
    status: IndexStatus
    chunks_created: int
    namespace: str
    large_nodes_detected: list[LargeNode]
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


class Tool(TypedDict):
    """A tool, with the JSON schemas that agents see. A search tool's metadata has its index as `search_index`."""

    id: int
    project_id: int
    table_id: int
    type: ToolType
    name: str
    description: str
    json_pointer: str
    metadata: JsonObject
    search_config: EffectiveSearchConfig | None
    input_schema: JsonObject
    output_schema: JsonObject
    created_at: str
    updated_at: str


class Tools(TypedDict):
    tools: list[Tool]


class ChunkStats(SearchIndex):
    tool_id: int


class RebuildStarted(TypedDict):
    tool_id: int
    status: Literal["pending"]


# ── answers of calls, one for each type of tool ──


class _Cut(TypedDict):
    truncated: NotRequired[bool]
    notice: NotRequired[str]


class SchemaMeta(TypedDict):
    json_path: str
    root_type: str
    keys_preview: list[str]


class DataSchema(_Cut):
    """The answer of `get_data_schema`."""

    schema: JsonValue
    meta: SchemaMeta


class AllData(_Cut):
    """The answer of `get_all_data`."""

    data: JsonValue


class QueriedData(_Cut):
    """The answer of `query_data`."""

    data: JsonValue
    query: str


class CreatedKeys(_Cut):
    """The answer of `create`."""

    created_keys: list[str | int]
    total: int


class UpdatedKeys(_Cut):
    """The answer of `update`."""

    updated_keys: list[str | int]
    total: int


class DeletedKeys(_Cut):
    """The answer of `delete`."""

    deleted_keys: list[str | int]
    total: int


class Preview(_Cut):
    """The answer of `preview`."""

    data: list[JsonValue]
    keys: list[str]
    total_count: int


class Selection(_Cut):
    """The answer of `select`."""

    data: list[JsonValue]
    matched_count: int


class HitChunk(TypedDict):
    """The chunk of a hit. The ids and the hash are left out where `include_metadata` is false."""

    id: NotRequired[int]
    table_id: NotRequired[int]
    json_pointer: str
    chunk_index: int
    total_chunks: int
    chunk_text: str
    char_start: int
    char_end: int
    content_hash: NotRequired[str]
    turbopuffer_namespace: NotRequired[str]
    turbopuffer_doc_id: NotRequired[str]


class Hit(TypedDict):
    score: float
    json_path: str
    chunk: HitChunk


class FoundInTable(_Cut):
    """The answer of `search`."""

    query: str
    total_results: int
    results: list[Hit]
    search_time_ms: float
    vector_results_count: int
    bm25_results_count: int
    fallback: NotRequired[Literal["fts"]]


CallAnswer = (
    FoundInTable
    | QueriedData
    | AllData
    | DataSchema
    | CreatedKeys
    | UpdatedKeys
    | DeletedKeys
    | Preview
    | Selection
)  # fmt: skip
