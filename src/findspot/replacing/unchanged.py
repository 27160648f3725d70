"""Reads the documents of a preview that have not changed since it was made."""

from collections.abc import Sequence
from typing import NamedTuple

from findspot.store import documents as document_rows
from findspot.store import replaces as rows
from findspot.store.database import Store
from findspot.store.replaces import PreviewedDocument


class Unchanged(NamedTuple):
    """A document of a preview, with its content and its encoded matches."""

    previewed: PreviewedDocument
    format: str
    content: bytes
    matches: bytes


class Loaded(NamedTuple):
    """The unchanged documents among those that were asked for, and the ids of all that still exist."""

    unchanged: list[Unchanged]
    existing: set[int]


async def load(store: Store, preview_id: int, some: Sequence[PreviewedDocument]) -> Loaded:
    """Return the documents of a preview that still have the revision that was previewed."""
    ids = [each.document_id for each in some]
    async with store.read() as connection:
        loaded = {document.id: (document, text) for document, text in await document_rows.load_many(connection, ids)}
        found = await rows.found(connection, preview_id, ids)
    unchanged = [
        Unchanged(each, document.format, text, found[each.document_id])
        for each in some
        if each.document_id in loaded
        for document, text in (loaded[each.document_id],)
        if document.revision == each.revision
    ]
    return Loaded(unchanged, set(loaded))
