"""Answers of calls of tools, by the type of the tool."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from findspot.surfaces.http.models.json import JsonValue


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


class RetrievedPassage(TypedDict):
    """A passage with placeholders for private values. Its offsets are those of the original text."""

    document_id: int
    title: str
    path: str | None
    line: int | None
    heading_path: list[str]
    chunk_id: int
    score: float
    start_offset: int
    end_offset: int
    tokens: int
    reason: str
    hidden_characters: list[str]
    text: str


class DroppedPassage(TypedDict):
    chunk_id: int
    reason: Literal["own_passage", "overlap", "duplicate", "budget", "top_k"]


class RetrievedPassages(TypedDict):
    """The answer of `retrieve`. `boundary` is the code that marks the passages in the text of an MCP answer."""

    chunks: list[RetrievedPassage]
    used_tokens: int
    truncated: bool
    dropped: list[DroppedPassage]
    redactions: dict[str, int]
    fallback: Literal["none", "fts"]
    boundary: str
    notice: NotRequired[str]


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


class ReplaceMatch(TypedDict):
    """A match at `start` to `end` of the text: `before` becomes `after`. `leading` and `trailing` are around it."""

    start: int
    end: int
    before: str
    after: str
    leading: str
    trailing: str


class ReplacedDocument(TypedDict):
    """A document with the matches that are on this page. If it `changed` since the preview, it will be skipped."""

    document_id: int
    title: str
    match_count: int
    changed: bool
    matches: list[ReplaceMatch]


class DocumentSkippedByTool(TypedDict):
    document_id: int
    reason: str


class PreviewedReplace(_Cut):
    """The answer of `replace` to a preview. Nothing has changed."""

    preview_id: int
    affected_documents: int
    total_matches: int
    items: list[ReplacedDocument]
    page: int
    has_more: bool
    needs_confirmed_risk: bool
    skipped: list[DocumentSkippedByTool]


class ExecutedReplace(_Cut):
    """The answer of `replace` to a confirmed preview."""

    preview_id: int
    replaced_count: int
    affected_document_count: int
    version_ids: list[int]
    skipped: list[DocumentSkippedByTool]


class UndoneReplace(_Cut):
    """The answer of `replace` to an undo."""

    preview_id: int
    restored_count: int
    restored_document_count: int
    version_ids: list[int]
    skipped: list[DocumentSkippedByTool]


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
    | RetrievedPassages
    | PreviewedReplace
    | ExecutedReplace
    | UndoneReplace
)  # fmt: skip
