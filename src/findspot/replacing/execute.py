"""Executing a preview: the new contents are calculated beside the present ones, then all change in one transaction."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass

from findspot.errors import FindspotError, invalid
from findspot.models import Caller
from findspot.replacing import contents, unchanged
from findspot.replacing.batching import PAGE, Sized, calculated, grouped
from findspot.replacing.contents import UNSAFE, Plan, Rewritten
from findspot.replacing.preview import RISKY_MATCHES, is_open, is_risky, stale
from findspot.runtime.helpers import Helpers
from findspot.runtime.memory import MemoryBudget
from findspot.store import replaces as rows
from findspot.store.database import Store
from findspot.store.replaces import Change, Planned, PreviewedDocument, Replace

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Excluded:
    """What a replace leaves alone: a match that starts at `start`, or the whole document."""

    document_id: int
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A preview that somebody agreed to. `risk` confirms an empty replacement, or very many matches."""

    preview_id: int
    risk: bool = False
    exclude: tuple[Excluded, ...] = ()
    tool_id: int | None = None  # the tool that an agent calls


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a replace did to each document that it was to change."""

    changes: list[Change]

    @property
    def replaced(self) -> int:
        return sum(each.replaced for each in self.changes)

    @property
    def version_ids(self) -> list[int]:
        return [each.version_id for each in self.changes if each.version_id is not None]

    @property
    def skipped(self) -> list[tuple[int, str]]:
        return [(each.document_id, each.skipped) for each in self.changes if each.skipped is not None]


class Execution:
    """Executes previews."""

    def __init__(self, store: Store, helpers: Helpers, memory: MemoryBudget, max_document: int) -> None:
        self._store = store
        self._helpers = helpers
        self._memory = memory
        self._limit = max_document

    async def execute(
        self, project_id: int, confirmed: Confirmed, caller: Caller, progress: Progress = lambda done, total: None
    ) -> Outcome:
        """Replace the matches of a preview. Documents that changed since are skipped. A preview is executed once."""
        preview, kept = await self._checked(project_id, confirmed)
        work = asyncio.ensure_future(self._run(preview, kept, caller, progress))
        return await asyncio.shield(work)  # a change is finished, even if the caller has left

    async def check(self, project_id: int, confirmed: Confirmed) -> None:
        """Raise the error of a preview that cannot be executed this way."""
        await self._checked(project_id, confirmed)

    async def _checked(
        self, project_id: int, confirmed: Confirmed
    ) -> tuple[Replace, Mapping[int, Collection[int] | None]]:
        """Return the preview, and for each document with exclusions the matches to leave alone (None: all)."""
        kept: dict[int, set[int] | None] = {}
        for each in confirmed.exclude:
            starts = kept.setdefault(each.document_id, set())
            if each.start is None:
                kept[each.document_id] = None
            elif starts is not None:
                starts.add(each.start)
        async with self._store.read() as connection:
            preview = await rows.get(connection, project_id, confirmed.preview_id)
            if preview is None or not is_open(preview, confirmed.tool_id):
                raise stale()
            counts = await rows.match_counts(connection, preview.id, list(kept))
        if unknown := kept.keys() - counts.keys():
            raise invalid("exclude", f"document {min(unknown)} has no match in this preview")
        left = preview.matches - sum(counts[id] if starts is None else len(starts) for id, starts in kept.items())
        if is_risky(preview, left) and not confirmed.risk:
            why = "the replacement is empty" if left <= RISKY_MATCHES else f"there are {left:,} matches"
            raise invalid("confirmedRisk", f"must be true, because {why}")
        return preview, kept

    async def _run(
        self, preview: Replace, kept: Mapping[int, Collection[int] | None], caller: Caller, progress: Progress
    ) -> Outcome:
        async with self._store.write(durable=False) as connection:
            if not await rows.claim(connection, preview.project_id, preview.id):
                raise stale()
        try:
            await self._plan(preview, kept, progress)
            async with self._store.write() as connection:
                if not await rows.apply(connection, preview.id, caller):
                    raise stale()
        except BaseException:
            with contextlib.suppress(FindspotError):  # the first error says more; the preview expires anyway
                async with self._store.write(durable=False) as connection:
                    await rows.release(connection, preview.id)
            raise
        async with self._store.read() as connection:  # afterwards, so that other writers wait no longer than needed
            return Outcome(await rows.changes(connection, preview.id))

    async def _plan(self, preview: Replace, kept: Mapping[int, Collection[int] | None], progress: Progress) -> None:
        """Calculate the new contents in batches, and store each batch in a short transaction."""
        done = 0

        async def rewritten(some: list[PreviewedDocument]) -> list[Planned]:
            return await self._rewritten(preview, some, kept)

        steps = calculated(self._batches(preview, kept), rewritten, self._memory)
        async with contextlib.aclosing(steps):
            async for planned in steps:
                async with self._store.write(durable=False) as connection:
                    await rows.plan(connection, preview.id, planned)
                done += len(planned)
                progress(done, preview.documents)

    async def _batches(
        self, preview: Replace, kept: Mapping[int, Collection[int] | None]
    ) -> AsyncIterator[Sized[list[PreviewedDocument]]]:
        last = 0
        while True:
            async with self._store.read() as connection:
                page = await rows.to_plan(connection, preview.id, last, PAGE)
            if not page:
                return
            last = page[-1][0].document_id
            for group in grouped(
                [(each, size or 0) for each, size in page if kept.get(each.document_id, ()) is not None]
            ):
                yield group

    async def _rewritten(
        self, preview: Replace, some: list[PreviewedDocument], kept: Mapping[int, Collection[int] | None]
    ) -> list[Planned]:
        """Return the new contents of documents, or why they are left as they are."""
        same, existing = await unchanged.load(self._store, preview.id, some)
        is_same = {each.previewed.document_id for each in same}
        planned = [
            Planned(each.document_id, 0, "changed" if each.document_id in existing else "deleted", None, None)
            for each in some
            if each.document_id not in is_same
        ]
        if same:
            previewed, formats, texts, matches = map(list, zip(*same, strict=True))
            plans = [
                Plan(each.document_id, format, sorted(kept.get(each.document_id) or ()))
                for each, format in zip(previewed, formats, strict=True)
            ]
            outcomes, new = await self._helpers.run(
                preview.project_id, contents.replace, plans, self._limit, matches, texts
            )
            planned += map(_planned, previewed, outcomes, new)
        return planned


def _planned(document: PreviewedDocument, outcome: Rewritten, content: bytes) -> Planned:
    skipped = outcome.skipped or (UNSAFE if document.skipped == UNSAFE else None)
    if not outcome.replaced:
        return Planned(document.document_id, 0, skipped, None, None)
    return Planned(document.document_id, outcome.replaced, skipped, outcome.word_count, content)
