"""What names a chunk: short ids that differ wherever chunks differ, and stay while their text stays."""

from __future__ import annotations

import hashlib


def content_hash(text: str) -> str:
    """The SHA-256 of a whole node's UTF-8 bytes in hex: by it a change is noticed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def table_chunk_id(table_id: int, pointer: str, size: int, overlap: int, content: str, index: int) -> str:
    """The engine's id of a table's chunk; `content` is the content hash of its node.

    At most 64 bytes, whatever the pointer: turbopuffer takes no longer ones.
    """
    place = content_hash(f"{size}:{overlap}:{pointer}")
    return f"{table_id}:{place[:16]}:{content[:12]}:{index}"


def document_chunk_id(document_id: int, paragraph: str, nth: int, part: int, parts: int) -> str:
    """The engine's id of a document's chunk; `paragraph` is the content hash of its paragraph.

    It says nothing of where the paragraph stands, so an edit elsewhere leaves it alone. Of a paragraph that is cut
    into several chunks each carries its number: `…:0.1`.
    """
    whole = f"d{document_id}:{paragraph[:16]}:{nth}"
    return whole if parts == 1 else f"{whole}.{part}"
