"""Documents: create, read, save with versions, compare and restore."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.content import document_bodies
from findspot.content.document_bodies import DocumentBody
from findspot.content.tables import Part
from findspot.errors import FindspotError, invalid, not_found
from findspot.models import Caller, Document, Version
from findspot.names import checked
from findspot.runtime.helpers import NO_PROJECT, Helpers
from findspot.runtime.memory import MemoryBudget
from findspot.runtime.remote_calls import joined_there
from findspot.store import documents as rows
from findspot.store import versions
from findspot.store.database import Store

AUTOSAVE_INTERVAL = timedelta(minutes=5)  # autosaves within it share one version
DELETE_BATCH = 100
READ_BYTES = 256 * 1024  # of contents that one helper call reads, so that others do not wait long for a helper
COPIES = 3  # of a content in an answer: as stored, as JSON, and as text


@dataclass(frozen=True, slots=True)
class Saved:
    """A document after a change, and the version that keeps its previous content, if one was added."""

    document: Document
    version_id: int | None


class Documents:
    """The documents of all projects."""

    def __init__(self, store: Store, helpers: Helpers, memory: MemoryBudget, max_document: int) -> None:
        self._store = store
        self._helpers = helpers
        self._memory = memory
        self._limit = max_document

    async def prepare(self) -> None:
        """Start a helper process, and have it load the parsers before the first save. Words of short and of long texts
        are counted in different ways."""
        for text in ("*Any* text. 任何文字。", "*Any* text. 任何文字。" * 500):
            body = f'{{"content": "{text}"}}'.encode()
            await self._helpers.run(NO_PROJECT, document_bodies.parse_body, body, "markdown", self._limit)

    async def create(self, project_id: int, body: Part) -> Document:
        """Create a document from the body `{title, type?, content, format}`."""
        sent, content = await self._open(project_id, body, "")
        for field in ("title", "format"):
            if getattr(sent, field) is None:
                raise invalid(field, "is missing")
        if not sent.has_content:
            raise invalid("content", "is missing")
        for field in ("baseRevision", "reason"):
            if getattr(sent, field) is not None:
                raise invalid(field, "is only allowed when a document is changed")
        new = rows.NewDocument(
            title=checked((sent.title or "").strip(), "title"),
            type=checked(sent.type or "document", "type"),
            format=sent.format or "",
            content=content,
            word_count=sent.word_count,
        )
        try:
            async with self._store.write() as connection:
                return await rows.create(connection, project_id, new)
        except IntegrityError:
            raise not_found("project") from None

    @contextlib.asynccontextmanager
    async def reserved(self, document_id: int, *version_ids: int) -> AsyncIterator[None]:
        """Reserve the memory for reading a document, or versions of it, while the block runs."""
        async with self._store.lookup() as connection:
            size = 0 if version_ids else await rows.size_of(connection, document_id)
            for version_id in version_ids:
                size += await versions.size_of(connection, document_id, version_id)
        async with self._memory.hold(size * COPIES):
            yield

    async def read(self, document_id: int) -> tuple[Document, bytes]:
        """Return a document, and its content and text as the JSON members `"content":…,"text":…`."""
        document, content = await self._load(document_id)
        return document, await self._members(document.project_id, content, document.format)

    async def read_texts(self, project_id: int, ids: Sequence[int]) -> dict[int, tuple[str, list[bytes]]]:
        """Return the texts of documents by id, and their line indexes in pieces. Deleted and damaged ones are left out.

        A few helper calls read many documents: after a change of all of them, a page of results needs fifty.
        """
        async with self._store.read() as connection:
            loaded = await rows.load_many(connection, ids)

        async def read(some: list[tuple[Document, bytes]]) -> list[tuple[int, str, list[bytes]]]:
            formats, contents = [document.format for document, _ in some], [content for _, content in some]
            texts, lines = await self._helpers.run(project_id, document_bodies.texts_and_lines, formats, contents)
            ids = (document.id for document, _ in some)
            found = [each for each in zip(ids, texts, lines, strict=True) if each[2] is not None]
            return await asyncio.to_thread(lambda: [(id, text.decode(), pieces or []) for id, text, pieces in found])

        parts = await asyncio.gather(*map(read, _grouped(loaded)))
        return {id: (text, pieces) for part in parts for id, text, pieces in part}

    async def save(self, document_id: int, body: Part, caller: Caller, expected: int | None = None) -> Saved:
        """Change a document with the body `{title?, content?, format?, baseRevision?, reason?}`."""
        async with self._store.lookup(one=True) as connection:
            present = await rows.get(connection, document_id)
        if present is None:
            raise not_found("document")
        sent, content = await self._open(present.project_id, body, present.format)
        if sent.type is not None:
            raise invalid("type", "cannot be changed")
        if sent.format not in (None, present.format) and not sent.has_content:
            raise invalid("format", "can only be changed together with the content")
        title = checked(sent.title.strip(), "title") if sent.title is not None else None
        async with self._store.write() as connection:
            document, before = await self._locked(connection, document_id)
            _require_revision(document, expected, "PRECONDITION_FAILED")
            _require_revision(document, sent.baseRevision, "VERSION_CONFLICT")
            values: dict[str, object] = {}
            if title is not None and title != document.title:
                values["title"] = title
            version_id = None
            form = sent.format or present.format
            if sent.has_content and (content != before or form != document.format):
                values |= {"content": content, "format": form, "word_count": sent.word_count}
                version_id = await self._add_version(connection, document, before, sent.reason or "manual", caller)
            if values:
                document = await rows.change(connection, document, **values)
        return Saved(document, version_id)

    async def delete(self, document_id: int) -> None:
        if not await self.delete_many([document_id]):
            raise not_found("document")

    async def delete_many(self, ids: Sequence[int]) -> int:
        """Delete documents, in small transactions that do not block other writers. Return how many there were."""
        deleted = 0
        for start in range(0, len(ids), DELETE_BATCH):
            async with self._store.write(frees=True) as connection:
                deleted += await rows.delete(connection, ids[start : start + DELETE_BATCH])
        return deleted

    async def delete_all(self, project_id: int) -> None:
        """Delete every document of a project, in small transactions that do not block other writers."""
        more = True
        while more:
            async with self._store.write(durable=False, frees=True) as connection:
                more = await rows.delete_some(connection, project_id, DELETE_BATCH)

    async def versions(self, document_id: int) -> list[Version]:
        async with self._store.read() as connection:
            return await versions.every(connection, document_id)

    async def version(self, document_id: int, version_id: int) -> tuple[Version, bytes]:
        """Return a version, and its content and text as JSON members."""
        project_id, version, content = await self._version(document_id, version_id)
        return version, await self._members(project_id, content, version.format)

    async def diff(self, document_id: int, version_id: int, against: int | None) -> bytes:
        """Return the changes from a version to another one, or to the current document, as a JSON list."""
        project_id, old, old_content = await self._version(document_id, version_id)
        new: Document | Version
        if against is not None:
            _, new, new_content = await self._version(document_id, against)
        else:
            new, new_content = await self._load(document_id)
        return await self._helpers.run(
            project_id, document_bodies.compare_documents, old_content, old.format, new_content, new.format
        )

    async def restore(self, document_id: int, version_id: int, caller: Caller) -> Saved:
        """Restore the content and title of a version. The current content is added as a version first."""
        async with self._store.write() as connection:
            document, before = await self._locked(connection, document_id)
            loaded = await versions.load(connection, document_id, version_id)
            if loaded is None:
                raise not_found("version")
            version, content = loaded
            if (content, version.format, version.title) == (before, document.format, document.title):
                return Saved(document, None)
            added = await versions.add(connection, document, before, "restore", caller)
            document = await rows.change(
                connection,
                document,
                content=content,
                format=version.format,
                title=version.title,
                word_count=version.word_count,
            )
        return Saved(document, added)

    async def _open(self, project_id: int, body: Part, default_format: str) -> tuple[DocumentBody, bytes]:
        return await self._helpers.run(
            project_id, document_bodies.parse_body, joined_there(body), default_format, self._limit
        )

    async def _load(self, document_id: int) -> tuple[Document, bytes]:
        async with self._store.read() as connection:
            loaded = await rows.load(connection, document_id)
        if loaded is None:
            raise not_found("document")
        return loaded

    async def _members(self, project_id: int, content: bytes, format: str) -> bytes:
        return await self._helpers.run(project_id, document_bodies.content_members, content, format)

    async def _version(self, document_id: int, version_id: int) -> tuple[int, Version, bytes]:
        """Return the project of a version, the version and its content."""
        async with self._store.read() as connection:
            document = await rows.get(connection, document_id)
            loaded = await versions.load(connection, document_id, version_id)
        if document is None or loaded is None:
            raise not_found("version")
        return document.project_id, *loaded

    @staticmethod
    async def _locked(connection: AsyncConnection, document_id: int) -> tuple[Document, bytes]:
        loaded = await rows.load(connection, document_id, lock=True)
        if loaded is None:
            raise not_found("document")
        return loaded

    @staticmethod
    async def _add_version(
        connection: AsyncConnection, document: Document, content: bytes, reason: str, caller: Caller
    ) -> int | None:
        """Add the current content as a version, unless a recent autosave of the same caller already did."""
        if reason == "autosave":
            at = await versions.autosaved_at(connection, document.id, caller)
            # A clock that was set back makes the last autosave lie in the future: only a short way is still recent.
            if at is not None and abs(datetime.now(UTC) - at) < AUTOSAVE_INTERVAL:
                return None
        return await versions.add(connection, document, content, reason, caller)


def _grouped(loaded: Sequence[tuple[Document, bytes]]) -> Iterator[list[tuple[Document, bytes]]]:
    """Yield documents in groups that one helper call reads. A large one is a group of its own."""
    group: list[tuple[Document, bytes]] = []
    size = 0
    for document, content in loaded:
        if group and size + len(content) > READ_BYTES:
            yield group
            group, size = [], 0
        group.append((document, content))
        size += len(content)
    if group:
        yield group


def _require_revision(document: Document, base: int | None, code: str) -> None:
    if base is not None and base != document.revision:
        message = f"The document is now at revision {document.revision}, not {base}. Nothing was changed."
        raise FindspotError(code, message, revision=document.revision)
