"""Where is a text cut into chunks? Pure functions from a text to spans of it; docs/chunking.md has the rules.

`cut` is the chunker for any text, and `spans` returns the same without objects. `cut_node` applies it to a string of a
table, `cut_passages` to the paragraphs of a document. `identity` builds the ids of chunks, and `excerpts` cuts what is
shown of a hit.
"""

from __future__ import annotations

from findspot.chunking.cut import OVERLAP, SIZE, Chunk, cut, spans
from findspot.chunking.excerpt import excerpts
from findspot.chunking.grouping import Paragraph
from findspot.chunking.identity import content_hash, document_chunk_id, table_chunk_id
from findspot.chunking.nodes import NodeChunks, cut_node
from findspot.chunking.passages import Passage, cut_passages

__all__ = [
    "OVERLAP",
    "SIZE",
    "Chunk",
    "NodeChunks",
    "Paragraph",
    "Passage",
    "content_hash",
    "cut",
    "cut_node",
    "cut_passages",
    "document_chunk_id",
    "excerpts",
    "spans",
    "table_chunk_id",
]
