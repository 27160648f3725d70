"""A string of a table, cut within the limits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from findspot.chunking.cut import OVERLAP, SIZE, Chunk, cut
from findspot.chunking.identity import content_hash, table_chunk_id
from findspot.models import Node, Skipped, SkipReason

MAX_CHUNKS = 60_000


@dataclass(frozen=True, slots=True)
class NodeChunks:
    """All chunks of one node, and what tells them from those of other nodes, contents and settings."""

    pointer: str
    content_hash: str
    size: int
    overlap: int
    chunks: tuple[Chunk, ...]

    @property
    def total(self) -> int:
        return len(self.chunks)

    def id(self, table_id: int, chunk: Chunk) -> str:
        """The engine's id of one of the chunks."""
        return table_chunk_id(table_id, self.pointer, self.size, self.overlap, self.content_hash, chunk.index)


def cut_node(
    node: Node, size: int = SIZE, overlap: int = OVERLAP, *, max_chunks: int = MAX_CHUNKS
) -> NodeChunks | Skipped:
    """The chunks of a node; one with too many is left out whole, since half a node found is a node half lost."""
    chunks = tuple(islice(cut(node.text, size, overlap), max_chunks + 1))
    if len(chunks) > max_chunks:
        return Skipped(node.pointer, SkipReason.TOO_MANY_CHUNKS)
    return NodeChunks(node.pointer, content_hash(node.text), size, overlap, chunks)
