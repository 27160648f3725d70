"""The values of the domain: frozen, and free of imports from other packages. docs/glossary.md defines the terms."""

import random
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from findspot.context import Context
from findspot.errors import Failure


class Role(StrEnum):
    """What a key may do in its project. Each role includes the ones before it."""

    READ = "read"  # read and search
    WRITE = "write"  # change content
    ADMIN = "admin"  # create keys, delete the project
    OWNER = "owner"  # the whole installation; never stored as a key

    def covers(self, needed: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(needed)


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated client: the owner (no project), or a key of one project."""

    role: Role
    name: str
    project_id: int | None = None
    key_id: int | None = None

    def sees(self, project_id: int) -> bool:
        return self.project_id is None or self.project_id == project_id


OWNER = Caller(role=Role.OWNER, name="owner")


@dataclass(frozen=True, slots=True)
class Project:
    """The tenant: owns tables, documents, tools and endpoints."""

    id: int
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Key:
    """An API key without its secret. The store keeps only a hash of the secret."""

    id: int
    project_id: int
    name: str
    role: Role
    hint: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Table:
    """The metadata of a table, which is one JSON value of any shape. `size` is the length of its JSON text in bytes."""

    id: int
    project_id: int
    name: str
    revision: int
    size: int
    path: str | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Document:
    """The metadata of a document. `path` is the file that it was imported from."""

    id: int
    project_id: int
    title: str
    type: str
    format: str
    revision: int
    word_count: int
    path: str | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Version:
    """The metadata of an earlier content of a document."""

    id: int
    document_id: int
    parent_id: int | None
    reason: str
    actor: str
    title: str
    format: str
    word_count: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SourceState:
    """How far the index has followed one source: a table, or a document."""

    project_id: int
    table_id: int | None
    document_id: int | None
    status: str
    indexed_revision: int
    done: int
    total: int
    nodes: int
    skipped: list[dict[str, str]] | None
    error: Failure | None
    attempts: int
    retry_at: datetime | None
    indexed_at: datetime | None
    updated_at: datetime

    @property
    def last_error(self) -> str | None:
        return str(self.error) if self.error else None

    def is_due(self, now: datetime) -> bool:
        """Return whether its chunk rows have to be updated: it has changed, or its wait after an error is over."""
        is_waiting = self.retry_at is not None and self.retry_at > now
        return self.status == "pending" or (self.status == "error" and not is_waiting)


@dataclass(frozen=True, slots=True)
class TableIndexState:
    """What a search in a table has to know about its index: its status, `indexed` of `total` chunks, and the code of
    the last error."""

    status: str
    indexed: int
    total: int
    error_code: str | None


class ChunkRow(NamedTuple):
    """A chunk in the store: `text` is `char_start:char_end` of its node or document."""

    id: int
    table_id: int | None
    document_id: int | None
    json_pointer: str
    chunk_index: int
    total_chunks: int
    chunk_size: int
    chunk_overlap: int
    char_start: int
    char_end: int
    content_hash: str
    namespace: str
    doc_id: str
    node_length: int
    context: Context
    text: str


class ChunkToIndex(NamedTuple):
    """The fields of a chunk that the index worker needs."""

    id: int
    table_id: int | None
    document_id: int | None
    json_pointer: str
    chunk_index: int
    chunk_size: int
    chunk_overlap: int
    node_length: int
    doc_id: str
    context: str | None
    text: str


class FoundChunk(NamedTuple):
    """A chunk with its source: the current revision, the last one known to contain it, a document's title and file."""

    chunk: ChunkRow
    revision: int
    indexed_revision: int
    title: str | None
    type: str | None
    path: str | None
    updated_at: datetime | None


# ── tools ──


class ToolType(StrEnum):
    """What a tool does with the value at its scope."""

    GET_DATA_SCHEMA = "get_data_schema"
    GET_ALL_DATA = "get_all_data"
    QUERY_DATA = "query_data"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    PREVIEW = "preview"
    SELECT = "select"
    SEARCH = "search"
    READ = "read"
    SEARCH_DOCUMENTS = "search_documents"
    READ_DOCUMENT = "read_document"
    LIST_DOCUMENTS = "list_documents"
    RETRIEVE = "retrieve"
    REPLACE = "replace"

    @property
    def on_documents(self) -> bool:
        return self.value.endswith(("_document", "_documents")) or self in (ToolType.RETRIEVE, ToolType.REPLACE)

    @property
    def edits(self) -> bool:
        return self in (ToolType.CREATE, ToolType.UPDATE, ToolType.DELETE, ToolType.REPLACE)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that an agent can call on a scope of a table, or on documents. `metadata` belongs to its user."""

    id: int
    project_id: int
    table_id: int | None
    type: ToolType
    name: str
    description: str
    json_pointer: str
    metadata: dict[str, Any]
    search_config: dict[str, Any] | None
    created_at: datetime
    updated_at: datetime
    lean: bool = False  # as a lean endpoint shows it
    index: TableIndexState | None = None  # of its table, if it was looked up with the tool, to call it

    @property
    def table(self) -> int:
        """The id of the table that the tool works on. A tool on documents has none."""
        if self.table_id is None:
            raise ValueError(f"tool {self.id} works on documents")
        return self.table_id


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool as agents see it. `name` follows the rules of MCP; `title` is the tool's own name."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    annotations: dict[str, bool]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An MCP server with its own key, to which tools are bound.

    A lean one shows hits without metadata. With `reading`, every search tool has a reading tool beside it.
    """

    id: int
    project_id: int
    name: str
    lean: bool
    reading: bool
    created_at: datetime

    @property
    def caller(self) -> Caller:
        """The client that has the endpoint's key. It may call all bound tools, also those that edit."""
        return Caller(Role.WRITE, f"endpoint {self.name}", self.project_id)


@dataclass(frozen=True, slots=True)
class Binding:
    """A tool at an endpoint. A disabled one is not listed and cannot be called."""

    tool: Tool
    enabled: bool


def table_namespace(project_id: int, table_id: int) -> str:
    """Return the engine namespace of a table's chunks."""
    return f"project_{project_id}_table_{table_id}"


def documents_namespace(project_id: int) -> str:
    """Return the engine namespace of the chunks of a project's documents."""
    return f"project_{project_id}_documents"


@dataclass(frozen=True, slots=True)
class NamespaceKey:
    """A namespace of the engine: that of one table, or that of the documents of a project (`table_id` is None)."""

    project_id: int
    table_id: int | None

    @property
    def namespace(self) -> str:
        if self.table_id is None:
            return documents_namespace(self.project_id)
        return table_namespace(self.project_id, self.table_id)

    @classmethod
    def of(cls, namespace: str) -> "NamespaceKey":
        _, project, *table = namespace.split("_")
        return cls(int(project), int(table[1]) if len(table) == 2 else None)


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before a retry: `first_s` after the first failure, then `factor` times longer after each one.

    `jitter` is the largest share of a wait that is randomly left out, so that clients that failed together do not
    retry together.
    """

    first_s: float
    longest_s: float
    factor: float = 2.0
    jitter: float = 0.0

    def delay_s(self, failures: int) -> float:
        """Return the wait after this many failures in a row."""
        exponent = min(failures - 1, 60)  # a larger one would overflow, and the wait is at its longest by then
        return min(self.first_s * self.factor**exponent, self.longest_s) * random.uniform(1 - self.jitter, 1)


# ── backups ──


class ColumnKind(StrEnum):
    """The type of a column, independent of the database."""

    INTEGER = "integer"
    REAL = "real"
    BOOLEAN = "boolean"
    TEXT = "text"
    BYTES = "bytes"
    TIMESTAMP = "moment"  # the name in backup files since the first version
    JSON = "json"  # as text, exactly as in the database


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table of the store."""

    name: str
    kind: ColumnKind


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table of the store: its columns in order, and the last id that it assigned (None: it assigns no ids)."""

    name: str
    columns: tuple[Column, ...]
    last_id: int | None


# ── what is chunked ──


@dataclass(frozen=True, slots=True)
class Node:
    """One string inside a table, and its JSON pointer."""

    pointer: str
    text: str


class SkipReason(StrEnum):
    """Why a node cannot be searched."""

    POINTER_TOO_LONG = "pointer_too_long"  # longer than the store and the engines accept
    POINTER_HOLDS_NUL = "pointer_holds_nul"  # a key with U+0000, which PostgreSQL does not store
    CONTENT_TOO_LONG = "content_too_long"  # more characters than SEARCH_MAX_CONTENT_SIZE
    PROJECT_FULL = "project_full"  # its chunks would exceed FINDSPOT_MAX_CHUNKS
    TOO_MANY_CHUNKS = "too_many_chunks"  # more chunks than SEARCH_MAX_CHUNKS_PER_NODE


@dataclass(frozen=True, slots=True)
class Skipped:
    """A node that is not indexed, reported so that users know why it is not found."""

    pointer: str
    reason: SkipReason
