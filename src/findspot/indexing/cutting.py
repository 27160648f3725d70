"""Cut sources into chunks and texts into terms, in helper processes.

Results come in lists of about half a megabyte, so that decoding one does not block the event loop for long. Chunks that
are known already come back by name only. Heavy imports are inside the functions: only helpers load them.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import msgspec

from findspot.context import Context
from findspot.errors import FindspotError
from findspot.models import Node, Skipped, SkipReason
from findspot.sources import json_tree
from findspot.sources.lines import line_pieces
from findspot.sources.stored import read_stored

if TYPE_CHECKING:
    from findspot.chunking import NodeChunks

T = TypeVar("T")

_PART = 1 << 19  # characters in one list of a result
_LISTED = 1000  # nodes without room that are listed; there may be millions
_ROW = 200  # characters that a row takes besides its text


class DocumentToCut(msgspec.Struct, frozen=True, array_like=True):
    """A document to cut, and the names of the chunks that it has in the store. Its content is passed separately."""

    id: int
    title: str
    format: str
    known: frozenset[str]


class Passage(msgspec.Struct, frozen=True, array_like=True):
    """A chunk of a document; `text` is None if the store has it."""

    document_id: int
    doc_id: str
    start: int
    end: int
    index: int
    total: int
    content_hash: str
    context: str
    text: str | None


class Cut(msgspec.Struct, frozen=True, array_like=True):
    """Chunk size and overlap, and the scopes they apply to, each with the minimum length of a node."""

    size: int
    overlap: int
    scopes: tuple[tuple[str, int], ...]


Known: TypeAlias = tuple[
    str, str, int, int
]  # a node with a chunk size and overlap: pointer, content hash, size, overlap


class TableToCut(msgspec.Struct, frozen=True, array_like=True):
    """A table to cut. Its text, and the nodes that it has in the store, are passed separately."""

    id: int
    cuts: tuple[Cut, ...]
    max_length: int
    max_chunks: int
    room: int  # chunks that the project has room for in this table


class TableSummary(msgspec.Struct, frozen=True, array_like=True):
    """Numbers of nodes and chunks, the nodes that were skipped, and the number of chunks without room."""

    nodes: int
    chunks: int
    skipped: tuple[tuple[str, str], ...]
    without_room: int


class NodeChunk(msgspec.Struct, frozen=True, array_like=True):
    """A chunk of a new node."""

    pointer: str
    content_hash: str
    size: int
    overlap: int
    length: int
    doc_id: str
    index: int
    total: int
    start: int
    end: int
    text: str


def cut_documents(documents: list[DocumentToCut], contents: list[bytes]) -> tuple[Iterator[list[Passage]], list[bytes]]:
    """Return the passages of documents, in order, and the line index of each document, which `line_index` decodes."""
    cut = [_cut_document(document, content) for document, content in zip(documents, contents, strict=True)]
    passages = chain.from_iterable(passages for passages, _ in cut)
    return _parts(passages), [msgspec.msgpack.encode(lines) for _, lines in cut]


def line_index(encoded: bytes) -> list[bytes]:
    """Return the pieces of a line index."""
    return msgspec.msgpack.decode(encoded, type=list[bytes])


def _cut_document(document: DocumentToCut, content: bytes) -> tuple[list[Passage], list[bytes]]:
    try:
        found = read_stored(content, document.format)
    except FindspotError as error:  # no document is saved like this: the stored bytes are damaged
        raise FindspotError("INTERNAL", f"Document {document.id} cannot be read. {error.message}") from None
    from findspot.chunking import Paragraph, cut_passages

    blocks = [Paragraph(block.start, block.end, block.level, block.after_rule) for block in found.blocks]
    cut = list(cut_passages(found.text, blocks))
    passages = []
    for each in cut:
        name = each.id(document.id)
        text = None if name in document.known else found.text[each.start : each.end]
        context = Context.of(document.title, each.headings).stored
        span = each.start, each.end, each.index, len(cut)
        passages.append(Passage(document.id, name, *span, each.paragraph, context, text))
    return passages, line_pieces(found, content.decode())


def cut_table(
    table: TableToCut, text: bytes, known_nodes: Iterator[list[Known]]
) -> tuple[TableSummary, Iterator[list[Known]], Iterator[list[NodeChunk]]]:
    """Return a summary, the known nodes that are gone, and the chunks of the nodes that are new."""
    known = set(chain.from_iterable(known_nodes))
    from findspot.chunking import cut_node

    found: dict[Known, tuple[Node, NodeChunks]] = {}
    skipped: dict[str, str] = {}
    for cut in table.cuts:
        for node in _nodes(text, cut.scopes, table.max_length):
            if isinstance(node, Skipped):
                skipped[node.pointer] = node.reason
                continue
            chunks = cut_node(node, cut.size, cut.overlap, max_chunks=table.max_chunks)
            if isinstance(chunks, Skipped):
                skipped[chunks.pointer] = chunks.reason
            elif chunks.total:
                found[chunks.pointer, chunks.content_hash, chunks.size, chunks.overlap] = node, chunks
    without_room = _remove_without_room(found, known, table.room)
    for _, chunks in list(without_room.values())[:_LISTED]:
        skipped[chunks.pointer] = SkipReason.PROJECT_FULL
    summary = TableSummary(
        nodes=len({key[0] for key in found}),
        chunks=sum(chunks.total for _, chunks in found.values()),
        skipped=tuple(skipped.items()),
        without_room=sum(chunks.total for _, chunks in without_room.values()),
    )
    gone = sorted(known - found.keys())
    new = [key for key in found if key not in known]
    # Each node is dropped when its chunks are made: a large table would be in memory twice.
    chunks_of_new = (chunk for key in new for chunk in _node_chunks(table.id, *found.pop(key)))
    return summary, _parts(gone), _parts(chunks_of_new)


def _remove_without_room(
    found: "dict[Known, tuple[Node, NodeChunks]]", known: Set[Known], room: int
) -> "dict[Known, tuple[Node, NodeChunks]]":
    """Remove the nodes from `found` that have no room, and return them. Nodes that are in the store come first."""
    taken = sum(chunks.total for key, (_, chunks) in found.items() if key in known)
    removed: dict[Known, tuple[Node, NodeChunks]] = {}
    for key in [key for key in found if key not in known]:
        total = found[key][1].total
        if taken + total <= room:
            taken += total
        else:
            removed[key] = found.pop(key)
    return removed


def _nodes(text: bytes, scopes: Sequence[tuple[str, int]], max_length: int) -> Iterable[Node | Skipped]:
    """Return the nodes that lie in any of the scopes, each once."""
    found: dict[str, Node | Skipped] = {}
    for scope, threshold in scopes:
        for node in json_tree.read(text, threshold=threshold, scope=scope, max_length=max_length):
            found[node.pointer] = node
    return found.values()


def _node_chunks(table_id: int, node: Node, chunks: "NodeChunks") -> Iterator[NodeChunk]:
    for each in chunks.chunks:
        yield NodeChunk(
            chunks.pointer,
            chunks.content_hash,
            chunks.size,
            chunks.overlap,
            len(node.text),
            chunks.id(table_id, each),
            each.index,
            chunks.total,
            each.start,
            each.end,
            node.text[each.start : each.end],
        )


def index_terms(texts: list[str]) -> list[str]:
    """Return the terms of each text, separated by blanks."""
    from findspot.words import joined_terms_of

    return joined_terms_of(texts)


def _parts(rows: Iterable[T]) -> Iterator[list[T]]:
    """Yield the rows in lists of about half a megabyte."""
    part: list[T] = []
    size = 0
    for row in rows:
        part.append(row)
        size += len(getattr(row, "text", None) or "") + _ROW
        if size >= _PART:
            yield part
            part, size = [], 0
    if part:
        yield part
