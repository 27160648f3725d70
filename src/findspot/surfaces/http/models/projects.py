"""Answers about projects, their keys and their status."""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from findspot.models import Role
from findspot.surfaces.http.models.json import one_of

IndexStatus = Annotated[str, one_of("pending", "indexing", "ready", "error")]


class Project(TypedDict):
    id: int
    name: str
    created_at: str


class Dependents(TypedDict):
    """Counts of the objects deleted with another one. `endpoints_without_tools` stay, but lose their last tool."""

    tables: int
    documents: int
    tools: int
    endpoints: int
    endpoints_without_tools: int
    chunks: int


class Projects(TypedDict):
    projects: list[Project]


class IssuedKey(TypedDict):
    """A new key. `key` (also `api_key`) is its secret, which cannot be shown again."""

    id: int
    key: str
    api_key: str
    name: str
    role: Role
    created_at: str


class Key(TypedDict):
    """A key without its secret; `hint` is how the secret begins."""

    id: int
    name: str
    role: Role
    hint: str
    created_at: str


class Keys(TypedDict):
    keys: list[Key]


class Disk(TypedDict):
    table_bytes: int
    index_bytes: int


class Progress(TypedDict):
    """`done` of `total` chunks are indexed. `percent` and `seconds_left` include sources that are yet to be cut;
    `seconds_left` is null while the rate is unknown."""

    done: int
    total: int
    chunks_per_second: float
    percent: float
    seconds_left: int | None


class NamespaceStatus(TypedDict):
    namespace: str
    status: IndexStatus
    step: Annotated[str, one_of("ready", "checking", "cutting", "indexing", "queued", "rebuilding", "retrying")]
    progress: Progress


class NamespaceError(TypedDict):
    namespace: str
    message: str


class ProjectStatus(TypedDict):
    project_id: int
    tables: int
    documents: int
    chunks: int
    vectors: int
    evicted_vectors: int
    disk: Disk
    index_state: Literal["ready", "indexing", "rebuilding"]
    indexed_documents: int
    namespaces: list[NamespaceStatus]
    last_errors: list[NamespaceError]
