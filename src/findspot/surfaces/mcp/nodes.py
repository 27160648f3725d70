"""Addresses of nodes as MCP resources: `findspot://tables/7/articles/0` is a table's id and a JSON pointer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from findspot.errors import not_found
from findspot.models import Tool, ToolType
from findspot.pointer import holds

TEMPLATE = "findspot://tables/{table_id}{+json_pointer}{?start}"
_ADDRESS = re.compile(r"findspot://tables/([1-9][0-9]{0,17})((?:/[^?#]*)?)(?:\?start=([0-9]{1,12}))?", re.ASCII)
_SHOWS_NO_VALUES = ToolType.GET_DATA_SCHEMA


@dataclass(frozen=True, slots=True)
class NodeAddress:
    """A value inside a table, read from the character `start`."""

    table_id: int
    pointer: str
    start: int = 0

    @property
    def text(self) -> str:
        start = f"?start={self.start}" if self.start else ""
        return f"findspot://tables/{self.table_id}{quote(self.pointer, safe='/~')}{start}"


def address_of(text: str) -> NodeAddress:
    """Parse an address; NOT_FOUND if it is none."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise not_found("resource")
    try:
        pointer = unquote(found[2], errors="strict")
    except UnicodeDecodeError:
        raise not_found("resource") from None
    return NodeAddress(int(found[1]), pointer, int(found[3] or 0))


def shown_by(tools: Sequence[Tool], node: NodeAddress) -> bool:
    """Return whether one of these tools shows the node: an agent may read only what its reading tools show."""
    return any(_shows(tool) and tool.table_id == node.table_id and holds(tool.json_pointer, node.pointer)
               for tool in tools)  # fmt: skip


def roots(tools: Sequence[Tool]) -> dict[NodeAddress, Tool]:
    """Return the scopes that can be read, each with the first tool on it."""
    found: dict[NodeAddress, Tool] = {}
    for tool in tools:
        if _shows(tool):
            found.setdefault(NodeAddress(tool.table, tool.json_pointer), tool)
    return found


def _shows(tool: Tool) -> bool:
    return not (tool.type.edits or tool.type.on_documents or tool.type is _SHOWS_NO_VALUES)
