"""Request bodies for creating and changing tools: strict types, no unknown fields."""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from findspot import pointer as pointers
from findspot.errors import FindspotError, invalid
from findspot.jsontext.check import scalar_text, without_nul
from findspot.models import ToolType
from findspot.names import checked
from findspot.settings import Settings

MAX_POINTER = 1024
MAX_DESCRIPTION = 4_000  # characters; an agent reads the descriptions of all tools
_SHORT_NAMES = {"get": ToolType.GET_ALL_DATA, "query": ToolType.QUERY_DATA, "schema": ToolType.GET_DATA_SCHEMA}


def _pointer(value: str) -> str:
    try:
        pointers.parse(value)
    except FindspotError as error:
        raise ValueError(error.message.partition(": ")[2]) from None
    if len(value) > MAX_POINTER or "\0" in value:
        raise ValueError(f"must have at most {MAX_POINTER} characters, and no U+0000")
    return scalar_text(value)


def _name(value: str) -> str:
    try:
        value = checked(value)
    except FindspotError as error:
        raise ValueError(error.message.partition(": ")[2]) from None
    if value.startswith(("tool-", "read-")) and value[5:].isdecimal():  # what agents see if MCP does not allow the name
        raise ValueError("names such as tool-12 and read-12 are reserved for tools whose name is not plain ASCII")
    return value


def _description(value: str) -> str:
    if len(value) > MAX_DESCRIPTION:
        raise ValueError(f"must have at most {MAX_DESCRIPTION} characters")
    return without_nul(scalar_text(value))


def _type(value: Any) -> Any:
    if isinstance(value, str):
        known = _SHORT_NAMES.get(value) or next((each for each in ToolType if each == value), None)
        if known is not None:
            return known
    raise ValueError(f"must be one of {', '.join(ToolType)}")


Name = Annotated[str, AfterValidator(_name)]
Description = Annotated[str, AfterValidator(_description)]
Pointer = Annotated[str, AfterValidator(_pointer)]
Type = Annotated[ToolType, BeforeValidator(_type)]
Id = Annotated[int, Field(ge=1, lt=10**18)]
PlainText = Annotated[str, AfterValidator(scalar_text), AfterValidator(without_nul)]
ContextKey = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(scalar_text)]
Weight = Annotated[float, Field(ge=0, le=1)]
_POINTER_NAMES = AliasChoices("json_pointer", "json_path")


class Spec(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class SearchConfig(Spec):
    """How a search tool chunks and ranks. A field that is left out has its default from the settings."""

    top_k: int | None = Field(None, ge=1)
    enable_hybrid: bool | None = None
    vector_weight: Weight | None = None
    bm25_weight: Weight | None = None
    fusion: Literal["convex", "rrf"] | None = None
    chunk_threshold: int | None = Field(None, ge=1)
    chunk_size: int | None = Field(None, ge=100, le=8000)
    chunk_overlap: int | None = Field(None, ge=0)
    include_metadata: bool | None = None
    context_keys: list[ContextKey] | None = Field(None, max_length=20)

    def checked(self, settings: Settings) -> dict[str, Any]:
        """Return the given fields. Raise INVALID_ARGUMENT if they conflict with each other or with the defaults."""
        size, overlap, _ = self.chunking(settings)
        if overlap * 2 >= size:
            raise invalid("search_config.chunk_overlap", f"must be less than half of the chunk size, which is {size}")
        if self.top_k is not None and self.top_k > settings.max_top_k:
            raise invalid("search_config.top_k", f"must be at most {settings.max_top_k}")
        if self.vector_weight == 0 == self.bm25_weight:
            raise invalid("search_config.vector_weight", "at least one of the two weights must be above 0")
        given = self.model_dump(exclude_none=True)
        return given if self.chunk_size is None else {**given, "chunk_overlap": overlap}

    def effective(self, settings: Settings) -> dict[str, Any]:
        """Return all fields, with the defaults of those that were left out."""
        size, overlap, threshold = self.chunking(settings)
        defaults = {
            "top_k": settings.top_k,
            "enable_hybrid": True,
            "chunk_threshold": threshold,
            "chunk_size": size,
            "chunk_overlap": overlap,
            "include_metadata": True,
        }
        return {**defaults, **self.model_dump(exclude_none=True)}

    def chunking(self, settings: Settings) -> tuple[int, int, int]:
        """Return chunk size, overlap and threshold."""
        return settings.tool_chunking(self.chunk_size, self.chunk_overlap, self.chunk_threshold)


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    keys = value.get("preview_keys", [])
    if not isinstance(keys, list) or not all(isinstance(each, str) for each in keys):
        raise ValueError("preview_keys must be a list of strings: the fields that a preview shows")
    scalar_text(json.dumps(value, ensure_ascii=False))
    return value


Metadata = Annotated[dict[str, Any], AfterValidator(_metadata)]


class Documents(Spec):
    """The documents that a tool may use: below a path, of these types, with these ids; all that are named must hold."""

    path_prefix: PlainText = Field("", max_length=MAX_POINTER)
    types: list[PlainText] = Field(default_factory=list, max_length=100)
    document_ids: list[Id] = Field(default_factory=list, max_length=10_000)


class NewSearchTool(Spec):
    """A search tool to create, in the project that the request names."""

    project_id: Id
    table_id: Id | None = None
    name: Name
    description: Description | None = None
    json_pointer: Pointer = Field("", validation_alias=_POINTER_NAMES)
    allow_missing: bool = False  # the value at the pointer may come later
    metadata: Metadata = Field(default_factory=dict)
    search_config: SearchConfig | None = None
    documents: Documents | None = None

    @property
    def kind(self) -> ToolType:
        return ToolType.SEARCH

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.search_config is not None and self.kind is not ToolType.SEARCH:
            raise ValueError("only a search tool has a search_config")
        if "search_index" in self.metadata:
            raise ValueError("metadata.search_index is set by Findspot")
        if self.kind.on_documents and (self.table_id is not None or self.json_pointer):
            raise ValueError(f"a {self.kind} tool works on documents and has no table; limit it with 'documents'")
        if not self.kind.on_documents and self.table_id is None:
            others = ", ".join(each for each in ToolType if each.on_documents)
            raise ValueError(f"table_id is missing; the tools on documents are {others}")
        if not self.kind.on_documents and self.documents is not None:
            raise ValueError("only a tool on documents has 'documents'")
        return self


class NewTool(NewSearchTool):
    """A tool of any type to create."""

    type: Type

    @property
    def kind(self) -> ToolType:
        return self.type


class ToolChange(Spec):
    """Changes of a tool. Fields that are left out do not change."""

    name: Name | None = None
    description: Description | None = None
    json_pointer: Pointer | None = Field(None, validation_alias=_POINTER_NAMES)
    allow_missing: bool = False
    metadata: Metadata | None = None
    documents: Documents | None = None
    search_config: SearchConfig | None = None
