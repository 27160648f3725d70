"""Tokens that tantivy indexes for the location of a chunk: each pointer above it, its chunk settings, its document."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from itertools import accumulate

from findspot.engines.protocol import Source

_MAX_LENGTH = 120  # characters of a pointer that is used as a token as it is


@lru_cache(maxsize=4096)  # chunks of the same source follow one another
def tokens_of(source: Source) -> tuple[str, ...]:
    """Return all tokens of a source. The root has none, because everything is below it."""
    above = list(accumulate(f"/{step}" for step in source.pointer.split("/")[1:]))
    found = [of_pointer(pointer) for pointer in above]
    found.append(of_cut(source.chunk_size, source.chunk_overlap))
    if source.document_id is not None:
        found.append(of_document(source.document_id))
    return tuple(found)


def of_pointer(pointer: str) -> str:
    """Return the token of a pointer; a hash if it is long, because tantivy drops tokens above its limit."""
    if len(pointer) <= _MAX_LENGTH and pointer.isascii():
        return pointer
    return "#" + hashlib.blake2b(pointer.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def of_cut(size: int, overlap: int) -> str:
    return f"={size}/{overlap}"


def of_document(document_id: int) -> str:
    return f"@{document_id}"
