"""By which tokens is a chunk found by where it stands? One for every pointer above it, its cut and its document."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from itertools import accumulate

from findspot.engines.protocol import Source

_LONGEST = 120  # characters of a pointer that is its own token


@lru_cache(maxsize=4096)  # the chunks of one source come one after the other
def tokens_of(source: Source) -> tuple[str, ...]:
    """All tokens of a source. The root needs none: everything is below it."""
    above = list(accumulate(f"/{step}" for step in source.pointer.split("/")[1:]))
    found = [of_pointer(pointer) for pointer in above]
    found.append(of_cut(source.chunk_size, source.chunk_overlap))
    if source.document_id is not None:
        found.append(of_document(source.document_id))
    return tuple(found)


def of_pointer(pointer: str) -> str:
    """A long pointer has a digest for a token: tantivy leaves out what is longer than it can keep."""
    if len(pointer) <= _LONGEST and pointer.isascii():
        return pointer
    return "#" + hashlib.blake2b(pointer.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def of_cut(size: int, overlap: int) -> str:
    return f"={size}/{overlap}"


def of_document(document_id: int) -> str:
    return f"@{document_id}"
