"""The calculations of an index: sources into chunks, texts into terms. Bytes in, bytes out, to run in a helper.

Answers come in parts of about half a megabyte, so that whoever reads them is never held up for long. Of what is known
already only the name comes back. What they need is imported where it is used: a server that only hands them on never
loads it.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from findspot.errors import FindspotError
from findspot.jsontext.operations import Operation
from findspot.models import Node, Skipped, SkipReason
from findspot.sources import json_tree
from findspot.sources.stored import read_stored

if TYPE_CHECKING:
    from findspot.chunking import NodeChunks

_PART = 1 << 19  # characters
_NAMED = 1000  # nodes without room that are named; there may be millions
_ROW = 200  # what a row takes beside its text


class DocumentToCut(msgspec.Struct, frozen=True, array_like=True):
    """A document whose content comes beside, and the names of the chunks it is known to have."""

    id: int
    format: str
    known: frozenset[str]


class Passage(msgspec.Struct, frozen=True, array_like=True):
    """A chunk of a document; without its text if it is known."""

    document_id: int
    doc_id: str
    start: int
    end: int
    index: int
    total: int
    content_hash: str
    text: str | None


class Cut(msgspec.Struct, frozen=True, array_like=True):
    """One way of cutting, and where it applies: scopes, each with the least length of a node."""

    size: int
    overlap: int
    scopes: tuple[tuple[str, int], ...]


Known: TypeAlias = tuple[str, str, int, int]  # a node under one way of cutting: pointer, content hash, size, overlap


class TableToCut(msgspec.Struct, frozen=True, array_like=True):
    """A table whose text comes beside, and then the nodes it is known to have."""

    id: int
    cuts: tuple[Cut, ...]
    max_length: int
    max_chunks: int
    room: int  # chunks that the project has room for in this table


class TableSummary(msgspec.Struct, frozen=True, array_like=True):
    """What was found in a table: how many nodes and chunks, in how many parts the known nodes follow that are gone,
    what was left out, and how many chunks because there is no room for them."""

    nodes: int
    chunks: int
    gone_parts: int
    skipped: tuple[tuple[str, str], ...]
    homeless: int


class NodeChunk(msgspec.Struct, frozen=True, array_like=True):
    """A chunk of a node that is new."""

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


DOCUMENTS = msgspec.msgpack.Decoder(list[DocumentToCut])
PASSAGES = msgspec.msgpack.Decoder(list[Passage])
TABLE = msgspec.msgpack.Decoder(TableToCut)
SUMMARY = msgspec.msgpack.Decoder(TableSummary)
NODES = msgspec.msgpack.Decoder(list[Known])
NODE_CHUNKS = msgspec.msgpack.Decoder(list[NodeChunk])
TEXTS = msgspec.msgpack.Decoder(list[str])


def cut_documents(request: bytes, *contents: bytes) -> tuple[bytes, ...]:
    """The passages of some documents, in order."""
    asked = zip(DOCUMENTS.decode(request), contents, strict=True)
    return tuple(_parts(passage for document, content in asked for passage in _passages(document, content)))


def _passages(document: DocumentToCut, content: bytes) -> Iterator[Passage]:
    try:
        found = read_stored(content, document.format)
    except FindspotError as error:  # nothing that is saved is like this
        raise FindspotError("INTERNAL", f"Document {document.id} cannot be read. {error.message}") from None
    from findspot.chunking import cut_paragraphs

    passages = list(cut_paragraphs(found.text, [(block.start, block.end) for block in found.blocks]))
    for each in passages:
        name = each.id(document.id)
        text = None if name in document.known else found.text[each.start : each.end]
        yield Passage(document.id, name, each.start, each.end, each.index, len(passages), each.paragraph, text)


def cut_table(request: bytes, text: bytes, *known_parts: bytes) -> tuple[bytes, ...]:
    """A summary, the known nodes that are gone, and the chunks of the nodes that are new."""
    table = TABLE.decode(request)
    known = {node for part in known_parts for node in NODES.decode(part)}
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
    homeless = _left_out(found, known, table.room)
    for _, chunks in list(homeless.values())[:_NAMED]:
        skipped[chunks.pointer] = SkipReason.PROJECT_FULL
    gone = list(_parts(sorted(known - found.keys())))
    summary = TableSummary(
        nodes=len({key[0] for key in found}),
        chunks=sum(chunks.total for _, chunks in found.values()),
        gone_parts=len(gone),
        skipped=tuple(skipped.items()),
        homeless=sum(chunks.total for _, chunks in homeless.values()),
    )
    new = (each for key, each in found.items() if key not in known)
    chunks_of_new = (chunk for node, chunks in new for chunk in _node_chunks(table.id, node, chunks))
    return msgspec.msgpack.encode(summary), *gone, *_parts(chunks_of_new)


def _left_out(
    found: "dict[Known, tuple[Node, NodeChunks]]", known: Set[Known], room: int
) -> "dict[Known, tuple[Node, NodeChunks]]":
    """Take out the nodes for which there is no room. What was there before keeps its place."""
    taken = sum(chunks.total for place, (_, chunks) in found.items() if place in known)
    left_out: dict[Known, tuple[Node, NodeChunks]] = {}
    for place in [place for place in found if place not in known]:
        total = found[place][1].total
        if taken + total <= room:
            taken += total
        else:
            left_out[place] = found.pop(place)
    return left_out


def _nodes(text: bytes, scopes: Sequence[tuple[str, int]], max_length: int) -> Iterable[Node | Skipped]:
    """What lies in any of the scopes, each node once."""
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


def index_terms(texts: bytes) -> tuple[bytes, ...]:
    """The terms of each text, separated by blanks."""
    from findspot.words import joined_terms

    return (msgspec.msgpack.encode([joined_terms(text) for text in TEXTS.decode(texts)]),)


def _parts(rows: Iterable[Any]) -> Iterator[bytes]:
    part: list[Any] = []
    size = 0
    for row in rows:
        part.append(row)
        size += len(getattr(row, "text", None) or "") + _ROW
        if size >= _PART:
            yield msgspec.msgpack.encode(part)
            part, size = [], 0
    if part:
        yield msgspec.msgpack.encode(part)


OPERATIONS: dict[str, Operation] = {each.__name__: each for each in (cut_documents, cut_table, index_terms)}
