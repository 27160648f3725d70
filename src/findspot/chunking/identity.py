"""Ids of chunks: short, different for different chunks, and stable while their text does not change."""

from __future__ import annotations

import hashlib


def content_hash(text: str) -> str:
    """Return the SHA-256 of a node's text in UTF-8, as hex. A different hash means that the node has changed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def table_chunk_id(table_id: int, pointer: str, size: int, overlap: int, content: str, index: int) -> str:
    """Return the engine's id of a table chunk. `content` is the content hash of its node.

    At most 64 bytes for any pointer, the limit of turbopuffer.
    """
    location = content_hash(f"{size}:{overlap}:{pointer}")
    return f"{table_id}:{location[:16]}:{content[:12]}:{index}"


def document_chunk_id(document_id: int, paragraph: str, nth: int, part: int, parts: int) -> str:
    """Return the engine's id of a document chunk. `paragraph` is the content hash of its paragraph.

    It does not contain the position of the paragraph, so edits elsewhere do not change it. The chunks of a long
    paragraph are numbered: `…:0.1`.
    """
    whole = f"d{document_id}:{paragraph[:16]}:{nth}"
    return whole if parts == 1 else f"{whole}.{part}"
