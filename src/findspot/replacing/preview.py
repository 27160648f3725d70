"""Previews: the matches that a replace would change. They are rows in the store, so any process can execute them."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.exc import IntegrityError

from findspot.errors import FindspotError, not_found
from findspot.models import Caller
from findspot.replacing import contents, unchanged
from findspot.replacing.batching import Sized, calculated, grouped, of_project
from findspot.replacing.contents import Excerpt, ShownMatch
from findspot.replacing.rule import ReplaceRule
from findspot.runtime.helpers import NO_PROJECT, Helpers
from findspot.runtime.memory import MemoryBudget
from findspot.store import documents as document_rows
from findspot.store import replaces as rows
from findspot.store.database import Store
from findspot.store.replaces import FoundDocument, PreviewedDocument, Replace

PAGE = 200  # matches on a page
LIFETIME = timedelta(minutes=30)
MAX_MATCHES = 1_000_000
RISKY_MATCHES = 1_000  # more of them need a second confirmation
KEPT = 20  # previews of one key that have not been executed; older ones are dropped


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to replace: in the whole project, in one document, or in the documents of a tool."""

    project_id: int
    document_id: int | None = None
    tool_id: int | None = None
    admitted: frozenset[int] | None = None  # None: every document


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document on a page. If it changed since the preview, its matches are not shown: it will be skipped."""

    document_id: int
    title: str
    count: int
    is_changed: bool
    matches: list[ShownMatch]


@dataclass(frozen=True, slots=True)
class PreviewPage:
    """One page of a preview. `skipped` are the documents that have matches which cannot be found or replaced."""

    preview: Replace
    page: int
    items: list[ShownDocument]
    skipped: list[PreviewedDocument]

    @property
    def has_more(self) -> bool:
        return self.page * PAGE < self.preview.matches

    @property
    def is_risky(self) -> bool:
        return is_risky(self.preview, self.preview.matches)


def is_risky(preview: Replace, matches: int) -> bool:
    """Return whether a replace needs a second confirmation: it deletes text, or changes very many places."""
    return matches > 0 and (preview.rule["replace"] == "" or matches > RISKY_MATCHES)


def stale() -> FindspotError:
    message = "This preview is unknown, was used already, or has expired. Nothing was changed."
    return FindspotError("REPLACE_PREVIEW_STALE", message)


class Previews:
    """Makes previews and shows their pages."""

    def __init__(self, store: Store, helpers: Helpers, memory: MemoryBudget) -> None:
        self._store = store
        self._helpers = helpers
        self._memory = memory

    async def prepare(self) -> None:
        """Load the matcher in a helper process, before the first request needs it."""
        await self._helpers.run(NO_PROJECT, contents.check_rule, ReplaceRule("*ready*", ""))

    async def create(self, rule: ReplaceRule, scope: Scope, caller: Caller) -> int:
        """Find every match in the scope, store the preview, and return its id."""
        found: list[FoundDocument] = []
        total = 0

        async def find(ids: list[int]) -> list[FoundDocument]:
            return await self._find(rule, scope.project_id, ids)

        await self._helpers.run(scope.project_id, contents.check_rule, rule)  # before anything is read
        steps = calculated(self._batches(scope), find, self._memory)
        async with contextlib.aclosing(steps):
            async for part in steps:
                found += part
                total += sum(each.matches for each in part)
                if total > MAX_MATCHES:
                    raise _too_many()
        expires_at = datetime.now(UTC) + LIFETIME
        new = rows.NewPreview(scope.project_id, scope.document_id, scope.tool_id, asdict(rule), expires_at)
        try:
            async with self._store.write(durable=False) as connection:
                return await rows.add(connection, new, found, caller, KEPT)
        except IntegrityError:
            raise not_found("project") from None

    async def page(self, project_id: int, preview_id: int, page: int, tool_id: int | None = None) -> PreviewPage:
        """Return a page of a preview that has not been executed. The totals are those of all pages."""
        start, end = (page - 1) * PAGE, page * PAGE
        async with self._store.read() as connection:
            preview = await rows.get(connection, project_id, preview_id)
            if preview is None or not is_open(preview, tool_id):
                raise stale()
            listed = await rows.page(connection, preview_id, start, end)
            skipped = await rows.skipped(connection, preview_id)
            sizes = await document_rows.content_sizes(connection, [each.document_id for each in listed])
        sized = [(each, sizes.get(each.document_id, 0)) for each in listed]

        async def show(some: list[PreviewedDocument]) -> list[ShownDocument]:
            return await self._show(preview, some, start, end)

        async def batches() -> AsyncIterator[Sized[list[PreviewedDocument]]]:
            for group in grouped(sized):
                yield group

        steps = calculated(batches(), show, self._memory)
        async with contextlib.aclosing(steps):
            items = [each async for part in steps for each in part]
        return PreviewPage(preview, page, items, skipped)

    async def _batches(self, scope: Scope) -> AsyncIterator[Sized[list[int]]]:
        if scope.document_id is None:
            async for ids, size in of_project(self._store, scope.project_id):
                chosen = [id for id in ids if scope.admitted is None or id in scope.admitted]
                if chosen:
                    yield chosen, size
            return
        async with self._store.read() as connection:
            document = await document_rows.get(connection, scope.document_id)
            size = await document_rows.size_of(connection, scope.document_id)
        is_admitted = scope.admitted is None or scope.document_id in scope.admitted
        if document is None or document.project_id != scope.project_id or not is_admitted:
            raise not_found("document")
        yield [document.id], size

    async def _find(self, rule: ReplaceRule, project_id: int, ids: list[int]) -> list[FoundDocument]:
        """Return the documents among these that match, or cannot be searched."""
        async with self._store.read() as connection:
            loaded = await document_rows.load_many(connection, ids)
        formats, texts = [document.format for document, _ in loaded], [content for _, content in loaded]
        counts, encoded = await self._helpers.run(project_id, contents.find, rule, formats, texts)
        return [
            FoundDocument(document.id, document.title, document.revision, count.matches, count.skipped, matches or None)
            for (document, _), count, matches in zip(loaded, counts, encoded, strict=True)
            if count.matches or count.skipped
        ]

    async def _show(self, preview: Replace, some: list[PreviewedDocument], start: int, end: int) -> list[ShownDocument]:
        same, _ = await unchanged.load(self._store, preview.id, some)
        excerpts = [
            Excerpt(each.format, max(0, start - each.previewed.first), end - each.previewed.first) for each in same
        ]
        matches, texts = [each.matches for each in same], [each.content for each in same]
        shown = await self._helpers.run(preview.project_id, contents.show, excerpts, matches, texts) if same else []
        by_id = {each.previewed.document_id: matches for each, matches in zip(same, shown, strict=True)}
        return [
            ShownDocument(
                each.document_id,
                each.title,
                each.matches,
                each.document_id not in by_id,
                by_id.get(each.document_id, []),
            )
            for each in some
        ]


def is_open(preview: Replace, tool_id: int | None) -> bool:
    """Return whether a preview can still be executed, by this tool if it is one."""
    is_mine = tool_id is None or preview.tool_id == tool_id
    return is_mine and preview.state == "previewed" and preview.expires_at > datetime.now(UTC)


def _too_many() -> FindspotError:
    message = (
        f"There are more than {MAX_MATCHES:,} matches. Replace in fewer documents, or search for something longer."
    )
    return FindspotError("CONTENT_TOO_LARGE", message, limit=MAX_MATCHES)
