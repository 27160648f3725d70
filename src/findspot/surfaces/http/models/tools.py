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
    context: dict[str, str | int | float]
    chunk: HitChunk


class ReadText(_Cut):
    """The answer of `read`: characters `start` to `end` of a text of `length`. Read on at `next_start`."""

    json_path: str
    text: str
    start: int
    end: int
    length: int
    next_start: int | None
    heading_path: list[str]


class ReadDocument(_Cut):
    """The answer of `read_document`: characters `start` to `end` of its text. Read on at `next_start`."""

    document_id: int
    title: str
    path: str | None
    text: str
    start: int
    end: int
    length: int
    next_start: int | None
    heading_path: list[str]


class ListedDocument(TypedDict):
    id: int
    title: str
    path: str | None
    type: str
    length: int
    updated_at: str


class ListedDocuments(_Cut):
    """The answer of `list_documents`. `cursor` leads to the next page; it is null on the last one."""

    documents: list[ListedDocument]
    cursor: str | None


class DocumentHit(TypedDict):
    """A passage of a document: `start` to `end` of its text. `line` is that of its file; null for a rich text."""

    score: float
    document_id: int
    title: str
    path: str | None
    heading_path: list[str]
    start: int
    end: int
    text: str
    line: int | None


class FoundInDocuments(_Cut):
    """The answer of `search_documents`."""

    query: str
    total_results: int
    results: list[DocumentHit]
    fallback: NotRequired[Literal["fts"]]


class FoundInTable(_Cut):
    """The answer of `search`. `total_results` counts the passages that matched; `results` are the best of them."""

    query: str
    total_results: int
    results: list[Hit]
    search_time_ms: float
    vector_results_count: int
    bm25_results_count: int
    corrected_query: NotRequired[str]
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
    | ReadText
    | ReadDocument
    | ListedDocuments
    | FoundInDocuments
)  # fmt: skip
