"""Cuts a string of a table into chunks, unless it is too long or would have too many chunks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from findspot.chunking.cut import OVERLAP, SIZE, Chunk, cut
from findspot.chunking.identity import content_hash, table_chunk_id
from findspot.models import Node, Skipped, SkipReason

MAX_CHUNKS = 60_000


@dataclass(frozen=True, slots=True)
class NodeChunks:
    """All chunks of one node, with everything that goes into their ids."""

    pointer: str
    content_hash: str
    size: int
    overlap: int
    chunks: tuple[Chunk, ...]

    @property
    def total(self) -> int:
        return len(self.chunks)

    def id(self, table_id: int, chunk: Chunk) -> str:
        """Return the engine's id of one of the chunks."""
        return table_chunk_id(table_id, self.pointer, self.size, self.overlap, self.content_hash, chunk.index)


def cut_node(
    node: Node, size: int = SIZE, overlap: int = OVERLAP, *, max_chunks: int = MAX_CHUNKS
) -> NodeChunks | Skipped:
    """Return the chunks of a node. A node with too many chunks is skipped as a whole, not searchable in part."""
    chunks = tuple(islice(cut(node.text, size, overlap), max_chunks + 1))
    if len(chunks) > max_chunks:
        return Skipped(node.pointer, SkipReason.TOO_MANY_CHUNKS)
    return NodeChunks(node.pointer, content_hash(node.text), size, overlap, chunks)
