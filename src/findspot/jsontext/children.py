"""Lists the members of an object or list inside a JSON text, a page at a time: what a tree view shows."""

from itertools import islice
from typing import Any

import msgspec

from findspot import pointer as pointers
from findspot.jsontext.tree import Tree

PREVIEW = 120  # characters of a scalar that are shown

_KINDS = {b"{": "object", b"[": "list", b'"': "string", b"t": "boolean", b"f": "boolean", b"n": "null"}


def children(text: bytes, pointer: str, offset: int, limit: int) -> dict[str, Any]:
    """Return the kind and size of the value at a pointer, and `limit` of its members from `offset` on."""
    tokens = pointers.parse(pointer)
    tree = Tree(text)
    value = tree.get(tokens)
    kind = _kind(value)
    if kind not in ("object", "list"):
        return {"kind": kind, "size": len(value), "count": 0, "children": []}
    container = Tree(value).container(())
    members = container.items() if isinstance(container, dict) else enumerate(container)
    page = islice(members, offset, offset + limit)
    return {
        "kind": kind,
        "size": len(value),
        "count": len(container),
        "children": [_child(tokens, str(key), bytes(member)) for key, member in page],  # type: ignore[arg-type]
    }


def _child(parent: tuple[str, ...], key: str, value: bytes) -> dict[str, Any]:
    kind = _kind(value)
    child: dict[str, Any] = {
        "key": key,
        "json_pointer": pointers.write((*parent, key)),
        "kind": kind,
        "size": len(value),
    }
    if kind in ("object", "list"):
        return {**child, "length": None, "preview": ""}
    shown = msgspec.json.decode(value) if kind == "string" else value.decode()
    child["length"] = len(shown) if kind == "string" else None
    return {**child, "preview": shown if len(shown) <= PREVIEW else shown[:PREVIEW] + "…"}


def _kind(value: bytes) -> str:
    return _KINDS.get(value[:1], "number")
