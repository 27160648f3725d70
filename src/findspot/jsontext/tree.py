"""A JSON text that is decoded only along the paths that are read or edited. All other bytes stay unchanged."""

from typing import Any, TypeAlias, cast

import msgspec

from findspot import pointer as pointers
from findspot.errors import FindspotError, quoted
from findspot.jsontext.check import MAX_DEPTH, depth
from findspot.pointer import Missing

Node: TypeAlias = msgspec.Raw | dict[str, "Node"] | list["Node"]
Container: TypeAlias = dict[str, Node] | list[Node]

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_WHITE = b" \t\n\r"


def _open(node: Node) -> Container | None:
    """Decode an object or list one level deep; return None for a scalar."""
    if not isinstance(node, msgspec.Raw):
        return node
    first = bytes(memoryview(node)[:1])
    if first == b"{":
        return _OBJECT.decode(node)  # type: ignore[return-value]  # Raw values are nodes
    if first == b"[":
        return _LIST.decode(node)  # type: ignore[return-value]
    return None


def _closed(node: Node) -> msgspec.Raw:
    return node if isinstance(node, msgspec.Raw) else msgspec.Raw(msgspec.json.encode(node))


def _at(tokens: tuple[str, ...]) -> str:
    return quoted(pointers.write(tokens)) if tokens else "the top"


class Tree:
    """A valid JSON text that can be read and edited at pointers, and written out again."""

    def __init__(self, text: bytes) -> None:
        self._top: list[Node] = [msgspec.Raw(text.strip(_WHITE))]

    def get(self, tokens: tuple[str, ...]) -> bytes:
        """Return the JSON text of the value at a pointer, byte for byte."""
        return bytes(_closed(self._find(tokens)))

    def dump(self) -> bytes:
        return bytes(_closed(self._top[0]))

    def put(self, tokens: tuple[str, ...], value: msgspec.Raw) -> None:
        """Set the value at a pointer. Replace an existing value, or add a new key or the next list element."""
        self._require_depth(tokens, value)
        if not tokens:
            self._top[0] = value
            return
        parent, last = self._parent(tokens)
        if isinstance(parent, dict):
            parent[last] = value
            return
        index = len(parent) if last == "-" else self._index(parent, tokens, end=True)
        parent[index : index + 1] = [value]

    def add(self, tokens: tuple[str, ...], value: msgspec.Raw) -> None:
        """RFC 6902 add: in a list, the elements from the index on move up by one."""
        if not tokens:
            self.put(tokens, value)
            return
        self._require_depth(tokens, value)
        parent, last = self._parent(tokens)
        if isinstance(parent, dict):
            parent[last] = value
            return
        index = len(parent) if last == "-" else self._index(parent, tokens, end=True)
        parent.insert(index, value)

    def replace(self, tokens: tuple[str, ...], value: msgspec.Raw) -> None:
        """RFC 6902 replace: the target must exist."""
        self._find(tokens)
        self.put(tokens, value)

    def remove(self, tokens: tuple[str, ...]) -> msgspec.Raw:
        """RFC 6902 remove: the target must exist. Return the removed value."""
        if not tokens:
            raise Missing("the whole value cannot be removed, only replaced")
        parent, last = self._parent(tokens)
        if isinstance(parent, dict):
            if last not in parent:
                raise Missing(f"there is no key {quoted(last)} at {_at(tokens[:-1])}")
            return _closed(parent.pop(last))
        return _closed(parent.pop(self._index(parent, tokens)))

    def container(self, tokens: tuple[str, ...]) -> Container:
        """Return the object or list at a pointer, decoded in place: changes to it change the tree."""
        node = self._find(tokens, keep_open=True)
        if isinstance(node, msgspec.Raw):
            raise Missing(f"the value at {_at(tokens)} is neither an object nor a list")
        return node

    def copy(self, tokens: tuple[str, ...]) -> msgspec.Raw:
        """Return an independent copy of the value at a pointer, which later edits do not change."""
        return _closed(self._find(tokens))

    def _require_depth(self, tokens: tuple[str, ...], value: msgspec.Raw) -> None:
        if len(tokens) + depth(bytes(value)) > MAX_DEPTH:
            raise FindspotError("INVALID_ARGUMENT", f"The value would be nested more than {MAX_DEPTH} levels deep.")

    def _parent(self, tokens: tuple[str, ...]) -> tuple[Container, str]:
        """Return the container of a pointer's target, decoded in place, and the target's key in it."""
        return self.container(tokens[:-1]), tokens[-1]

    def _find(self, tokens: tuple[str, ...], keep_open: bool = False) -> Node:
        """Walk to a node. Containers on the path stay decoded; the node itself only with `keep_open`."""
        holder: Any = self._top
        slot: int | str = 0
        for step in range(len(tokens)):
            opened = _open(holder[slot])
            if opened is None:
                raise Missing(f"the value at {_at(tokens[:step])} is neither an object nor a list")
            holder[slot] = opened
            holder, slot = opened, self._slot(opened, tokens[: step + 1])
        opened = _open(holder[slot]) if keep_open else None
        if opened is not None:
            holder[slot] = opened
        return cast(Node, holder[slot])

    def _slot(self, container: Container, tokens: tuple[str, ...]) -> int | str:
        if isinstance(container, list):
            return self._index(container, tokens)
        if tokens[-1] not in container:
            raise Missing(f"there is no key {quoted(tokens[-1])} at {_at(tokens[:-1])}")
        return tokens[-1]

    @staticmethod
    def _index(container: list[Node], tokens: tuple[str, ...], end: bool = False) -> int:
        index, where = pointers.index(tokens[-1]), _at(tokens[:-1])
        if index is None:
            raise Missing(f"{quoted(tokens[-1])} is not an index of the list at {where}")
        if index >= len(container) + end:
            raise Missing(f"index {index} is past the end of the list at {where}, which has {len(container)} elements")
        return index
