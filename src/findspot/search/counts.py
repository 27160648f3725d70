"""Count the hits of a search by document and by type of document."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from findspot.store import documents as rows
from findspot.store.database import Store

MAX_COUNTED = 100  # documents that are listed; the types count all of them


@dataclass(frozen=True, slots=True)
class DocumentHits:
    """How many passages of a document match."""

    document_id: int
    title: str
    type: str
    count: int


@dataclass(frozen=True, slots=True)
class HitCounts:
    """How many passages match, by document and by type of document, the most first."""

    documents: tuple[DocumentHits, ...]  # at most MAX_COUNTED
    types: tuple[tuple[str, int], ...]
    all_documents: int  # how many documents have a match


async def count_hits(store: Store, documents: Sequence[int]) -> HitCounts:
    """Count hits, given the document of each. Documents that are gone are left out."""
    counts = Counter(documents)
    async with store.read() as connection:
        labels = await rows.labels(connection, list(counts))
    types = Counter[str]()
    for document_id, (_, type) in labels.items():
        types[type] += counts[document_id]
    most = sorted(labels, key=lambda document_id: (-counts[document_id], document_id))[:MAX_COUNTED]
    found = tuple(DocumentHits(each, *labels[each], counts[each]) for each in most)
    return HitCounts(found, tuple(sorted(types.items(), key=lambda each: (-each[1], each[0]))), len(labels))
