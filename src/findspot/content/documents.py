"""Documents: create, read, save, keep what was there, compare and restore."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.content import drafts
from findspot.content.drafts import Draft
from findspot.content.tables import Part
from findspot.errors import FindspotError, invalid, not_found
from findspot.models import Caller, Document, Version
from findspot.names import checked
from findspot.runtime.helpers import Helpers
from findspot.runtime.remote_calls import joined_there
from findspot.store import documents as rows
from findspot.store import versions
from findspot.store.database import Store

AUTOSAVES_SHARE = timedelta(minutes=5)
DELETED_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Saved:
    """A document after a change, and the version that keeps what was there; None if none was made."""

    document: Document
    version_id: int | None


class Documents:
    """The documents of every project, over the store."""

    def __init__(self, store: Store, helpers: Helpers, max_document: int) -> None:
        self._store = store
        self._helpers = helpers
        self._limit = max_document

    async def prepare(self) -> None:
        """Start a helper and let it load what reads documents, before anyone waits for it."""
        await self._helpers.run(drafts.show_document, b"*ready*", "markdown")

    async def create(self, project_id: int, body: Part) -> Document:
        """Make a document from the body `{title, type?, content, format}`."""
        draft, content = await self._open(body, "")
        for field in ("title", "format"):
            if getattr(draft, field) is None:
                raise invalid(field, "is missing")
        if not draft.has_content:
            raise invalid("content", "is missing")
        for field in ("baseRevision", "reason"):
            if getattr(draft, field) is not None:
                raise invalid(field, "belongs to a change, not to a new document")
        new = rows.NewDocument(
            title=checked(draft.title or "", "title"),
            type=checked(draft.type or "document", "type"),
            format=draft.format or "",
            content=content,
            word_count=draft.word_count,
        )
        try:
            async with self._store.write() as connection:
                return await rows.create(connection, project_id, new)
        except IntegrityError:
            raise not_found("project") from None

    async def read(self, document_id: int) -> tuple[Document, bytes]:
        """A document and its content and text, as the JSON members `"content":…,"text":…`."""
        async with self._store.read() as connection:
            loaded = await rows.load(connection, document_id)
        if loaded is None:
            raise not_found("document")
        document, content = loaded
        shown = await self._helpers.run(drafts.show_document, content, document.format)
        return document, shown

    async def save(self, document_id: int, body: Part, caller: Caller, expected: int | None = None) -> Saved:
        """Change a document by the body `{title?, content?, format?, baseRevision?, reason?}`."""
        async with self._store.read() as connection:
            present = await rows.get(connection, document_id)
        if present is None:
            raise not_found("document")
        draft, content = await self._open(body, present.format)
        if draft.type is not None:
            raise invalid("type", "cannot be changed")
        if draft.format not in (None, present.format) and not draft.has_content:
            raise invalid("format", "can only be changed together with the content")
        title = checked(draft.title, "title") if draft.title is not None else None
        async with self._store.write() as connection:
            document, before = await self._locked(connection, document_id)
            _require_revision(document, expected, "PRECONDITION_FAILED")
            _require_revision(document, draft.baseRevision, "VERSION_CONFLICT")
            values: dict[str, object] = {}
            if title is not None and title != document.title:
                values["title"] = title
            version_id = None
            form = draft.format or present.format
            if draft.has_content and (content != before or form != document.format):
                values |= {"content": content, "format": form, "word_count": draft.word_count}
                version_id = await self._keep(connection, document, before, draft.reason or "manual", caller)
            if values:
                document = await rows.change(connection, document, **values)
        return Saved(document, version_id)

    async def delete(self, document_id: int) -> None:
        async with self._store.write() as connection:
            if not await rows.delete(connection, document_id):
                raise not_found("document")

    async def delete_all(self, project_id: int) -> None:
        """Delete every document of a project, some at a time, so that no writer waits long."""
        more = True
        while more:
            async with self._store.write(durable=False) as connection:
                more = await rows.delete_some(connection, project_id, DELETED_AT_ONCE)

    async def versions(self, document_id: int) -> list[Version]:
        async with self._store.read() as connection:
            return await versions.every(connection, document_id)

    async def version(self, document_id: int, version_id: int) -> tuple[Version, bytes]:
        """A version and its content and text, as JSON members."""
        version, content = await self._version(document_id, version_id)
        shown = await self._helpers.run(drafts.show_document, content, version.format)
        return version, shown

    async def diff(self, document_id: int, version_id: int, against: int | None) -> bytes:
        """What changed from a version to another one, or to the document as it is now: a JSON list of changes."""
        old, old_content = await self._version(document_id, version_id)
        new: Document | Version
        if against is not None:
            new, new_content = await self._version(document_id, against)
        else:
            async with self._store.read() as connection:
                loaded = await rows.load(connection, document_id)
            if loaded is None:
                raise not_found("document")
            new, new_content = loaded
        return await self._helpers.run(drafts.compare_documents, old_content, old.format, new_content, new.format)

    async def restore(self, document_id: int, version_id: int, caller: Caller) -> Saved:
        """Make a document what it was in a version; what it holds now is kept as a version first."""
        async with self._store.write() as connection:
            document, before = await self._locked(connection, document_id)
            loaded = await versions.load(connection, document_id, version_id)
            if loaded is None:
                raise not_found("version")
            version, content = loaded
            if (content, version.format, version.title) == (before, document.format, document.title):
                return Saved(document, None)
            kept = await versions.keep(connection, document, before, "restore", caller)
            document = await rows.change(
                connection,
                document,
                content=content,
                format=version.format,
                title=version.title,
                word_count=version.word_count,
            )
        return Saved(document, kept)

    async def _open(self, body: Part, default_format: str) -> tuple[Draft, bytes]:
        return await self._helpers.run(drafts.open_document, joined_there(body), default_format, self._limit)

    async def _version(self, document_id: int, version_id: int) -> tuple[Version, bytes]:
        async with self._store.read() as connection:
            loaded = await versions.load(connection, document_id, version_id)
        if loaded is None:
            raise not_found("version")
        return loaded

    @staticmethod
    async def _locked(connection: AsyncConnection, document_id: int) -> tuple[Document, bytes]:
        loaded = await rows.load(connection, document_id, lock=True)
        if loaded is None:
            raise not_found("document")
        return loaded

    @staticmethod
    async def _keep(
        connection: AsyncConnection, document: Document, content: bytes, reason: str, caller: Caller
    ) -> int | None:
        """Keep what a document holds, unless an autosave of the last minutes has done so for this one too."""
        if reason == "autosave":
            recently = datetime.now(UTC) - AUTOSAVES_SHARE
            if await versions.autosaved_since(connection, document.id, caller, recently):
                return None
        return await versions.keep(connection, document, content, reason, caller)


def _require_revision(document: Document, base: int | None, code: str) -> None:
    if base is not None and base != document.revision:
        message = f"The document is at revision {document.revision} now, not {base}. Nothing was changed."
        raise FindspotError(code, message, revision=document.revision)
