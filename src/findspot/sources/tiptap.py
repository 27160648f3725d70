"""Extracts the text of TipTap and ProseMirror documents: trees of nodes with text in the leaves.

Node names are read in both spellings (`hardBreak`, `hard_break`). docs/documents-as-text.md has the rules and their
reasons; in short:

* Text comes from `text` nodes and from the attributes in `_TEXT_ATTRIBUTES`. Marks are dropped.
* A block node is a paragraph. A table row is one paragraph, with a tab between cells and a line break between blocks of
  one cell.
* An unknown node is inline if its parent has inline content, and a block otherwise. Its text is extracted either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from findspot.sources.errors import SourceError, require_scalar_text
from findspot.sources.extract import CELL_BREAK, LINE_BREAK, BlockKind, Extract, utf16_length
from findspot.sources.runs import FIELDS, Nodes
from findspot.sources.writer import TextWriter

MAX_DEPTH: Final = 1_000
"""Real documents have fewer than 50 levels. With far more, pointers would become longer than the document."""

_TEXT_ATTRIBUTES = {"image": "alt", "mention": "label", "inlinemath": "latex", "blockmath": "latex"}
"""The attribute of a node that readers see as text."""

_INLINE = frozenset({"text", "hardbreak", "mention", "emoji", "inlinemath"})
_LEAVES = frozenset({"hardbreak", "image", "mention", "emoji", "inlinemath", "blockmath", "horizontalrule"})
_TEXT_BLOCKS = frozenset({"paragraph", "heading", "codeblock", "detailssummary"})
_CONTAINERS = frozenset(
    {"doc", "blockquote", "bulletlist", "orderedlist", "listitem", "tasklist", "taskitem"}
    | {"table", "tablerow", "tablecell", "tableheader", "details", "detailscontent"}
)
_BLOCKS = _TEXT_BLOCKS | _CONTAINERS | {"horizontalrule", "blockmath"}
_KINDS: dict[str, BlockKind] = {"heading": "heading", "codeblock": "code", "listitem": "item", "taskitem": "item"}
_TEXT_FIELD = FIELDS.index("/text")


def extract(document: object) -> Extract:
    """Return the text of a TipTap document with its places. Raise SourceError if the value is not such a document."""
    walk = _Walk()
    walk.run(document)
    return walk.writer.extract()


@dataclass(slots=True)
class _Frame:
    """A node whose children are being walked."""

    name: str
    node: int
    children: list[object]
    kind: BlockKind
    block: bool
    next: int = 0
    inline_content: bool | None = None


class _Walk:
    """Walks a tree in document order. Without recursion, because the nesting depth is untrusted input."""

    def __init__(self) -> None:
        self.nodes = Nodes()
        self.writer = TextWriter(self.nodes)
        self._frames: list[_Frame] = []
        self._position = 0
        self._rows = 0

    def run(self, document: object) -> None:
        root = self.nodes.add(0, 0, 0)
        name, value = self._node(document, root)
        if name == "text":
            raise SourceError("a document must be a node with other nodes, not a text node")
        self._frames.append(_Frame(name, root, self._children(value, root), _KINDS.get(name, "paragraph"), True))
        while self._frames:
            frame = self._frames[-1]
            if frame.next == len(frame.children):
                self._leave(frame)
                continue
            frame.next += 1
            self._enter(frame, frame.next - 1)

    def _enter(self, parent: _Frame, step: int) -> None:
        node = self.nodes.add(parent.node, step, self._position)
        name, value = self._node(parent.children[step], node)
        if name == "text":
            self._write_text(value, node, parent.kind)
            return
        block = name in _BLOCKS or (name not in _INLINE and not _has_inline_content(parent))
        if block:
            self._part(name)
        if name == "heading":
            self.writer.level = _level(value)
        elif name == "horizontalrule" and not self._rows:
            self.writer.rule()
        if value.get("content") is None or (name in _LEAVES and not value["content"]):
            self._take_leaf(name, value, node, parent.kind)
            if block:
                self._part(name)
            return
        if len(self._frames) >= MAX_DEPTH:
            raise SourceError(f"the document is nested more than {MAX_DEPTH} levels deep")
        kind = self._kind(name, parent.kind) if block else parent.kind
        self._frames.append(
            _Frame(name, node, self._children(value, node), kind, block, inline_content=not block or None)
        )
        self._rows += name == "tablerow"
        self._position += 1

    def _leave(self, frame: _Frame) -> None:
        self._frames.pop()
        self._position += 1
        self._rows -= frame.name == "tablerow"
        if frame.block:
            self._part(frame.name)

    def _part(self, name: str) -> None:
        """Separate the text before and after the start or the end of a block node."""
        if not self._rows:
            self.writer.close()
        else:
            self.writer.separate(CELL_BREAK if name in ("tablecell", "tableheader") else LINE_BREAK)

    def _kind(self, name: str, inside: BlockKind) -> BlockKind:
        if self._rows or name == "tablerow":
            return "row"
        # Readers see the paragraphs of a list item as part of the item.
        return "item" if name == "paragraph" and inside == "item" else _KINDS.get(name, "paragraph")

    def _node(self, value: object, node: int) -> tuple[str, dict[str, object]]:
        if isinstance(value, dict):
            name = value.get("type")
            if isinstance(name, str):
                return _plain_name(name), value
        raise SourceError("a node must be an object with a type", self.nodes.pointer(node))

    def _children(self, value: dict[str, object], node: int) -> list[object]:
        content = value.get("content")
        if content is None:
            return []
        if not isinstance(content, list):
            raise SourceError("a node's content must be a list", self.nodes.pointer(node))
        return content

    def _write_text(self, value: dict[str, object], node: int, kind: BlockKind) -> None:
        text = value.get("text")
        if not isinstance(text, str):
            raise SourceError("a text node must have a string as its text", self.nodes.pointer(node))
        if not text.isascii():
            require_scalar_text(text, self.nodes.pointer(node))
        self.nodes.fields[node] = _TEXT_FIELD
        self.writer.write(text, 0, len(text), kind, node)
        self._position += utf16_length(text)

    def _take_leaf(self, name: str, value: dict[str, object], node: int, kind: BlockKind) -> None:
        if name == "hardbreak":
            self.writer.hold(LINE_BREAK, 0, 0, node)
        elif name in _TEXT_ATTRIBUTES:
            attributes = value.get("attrs")
            text = attributes.get(_TEXT_ATTRIBUTES[name]) if isinstance(attributes, dict) else None
            if isinstance(text, str) and text:
                require_scalar_text(text, self.nodes.pointer(node))
                self.nodes.fields[node] = FIELDS.index(f"/attrs/{_TEXT_ATTRIBUTES[name]}")
                self.writer.write(text, 0, len(text), kind, node)
        # ProseMirror counts a leaf as 1, and an empty node that could have content as 2.
        self._position += 2 if name in _TEXT_BLOCKS or name in _CONTAINERS else 1


def _has_inline_content(frame: _Frame) -> bool:
    if frame.inline_content is None:
        frame.inline_content = frame.name in _TEXT_BLOCKS or any(
            isinstance(child, dict) and isinstance(child.get("type"), str) and _plain_name(child["type"]) in _INLINE
            for child in frame.children
        )
    return frame.inline_content


def _level(heading: dict[str, object]) -> int:
    attributes = heading.get("attrs")
    level = attributes.get("level") if isinstance(attributes, dict) else None
    return level if isinstance(level, int) and level > 0 else 1


def _plain_name(name: str) -> str:
    """Normalise a node name: TipTap writes `bulletList`, ProseMirror's own schema `bullet_list`."""
    return name.replace("_", "").lower()
