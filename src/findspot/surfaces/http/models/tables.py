"""Requests and answers about tables."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from findspot.surfaces.http.models.json import JsonValue

JsonKind = Literal["object", "list", "string", "number", "boolean", "null"]


class NewTable(TypedDict):
    """A table to make; `data` is kept exactly as sent."""

    name: str
    data: JsonValue


PatchOperation = TypedDict(
    "PatchOperation",
    {
        "op": Literal["add", "remove", "replace", "move", "copy", "test"],
        "path": str,
        "from": NotRequired[str],
        "value": NotRequired[JsonValue],
    },
)
PatchOperation.__doc__ = "One operation of a JSON Patch (RFC 6902)."


class CreatedTable(TypedDict):
    id: int
    project_id: int
    name: str
    revision: int
    updated_at: str


class TableSummary(CreatedTable):
    """A table without its value. `size` counts the bytes of its JSON text; `path` is the file it was imported from."""

    size: int
    path: str | None


class Tables(TypedDict):
    tables: list[TableSummary]


class Table(CreatedTable):
    """A table with its value, or the part of it at the pointer asked for."""

    data: JsonValue


class Child(TypedDict):
    """A member of an object or list. `size` counts the bytes of its JSON text, `length` the characters of a string;
    `preview` begins a scalar."""

    key: str
    json_pointer: str
    kind: JsonKind
    size: int
    length: int | None
    preview: str


class Children(TypedDict):
    """One page of the members of a value. `count` is the number of all its members."""

    revision: int
    json_pointer: str
    offset: int
    kind: JsonKind
    size: int
    count: int
    children: list[Child]


class Revision(TypedDict):
    revision: int
