"""Importing: open the body, convert its files, store them in one transaction per batch.

An import can be repeated: it changes only what differs. While one batch is stored, the next ones are converted in
helper processes. Only a few batches exist at a time, so memory does not grow with the number of files. If an import
stops early, stored batches stay, and the next run continues.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from sqlalchemy.exc import IntegrityError

from findspot.content.import_batch import Batch, Source, is_large, open_body
from findspot.content.import_files import Converted, ImportFile, SizeLimits, convert_files
from findspot.content.import_plan import ConvertedFile, plan_import
from findspot.content.tables import Change, Tables
from findspot.errors import FindspotError, not_found
from findspot.models import Caller
from findspot.runtime.helpers import Helpers
from findspot.sources.files import File, Skipped
from findspot.sources.paths import printable
from findspot.store import documents as document_rows
from findspot.store import projects as project_rows
from findspot.store.database import Store

REASONS_KEPT = 1000
AHEAD = 3  # batches being converted while one is stored: both helpers have work, and one batch is ready
_ATTEMPTS = 5
_FORMATS = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text"}


@dataclass(slots=True)
class Progress:
    """How far an import is."""

    total: int | None
    done: int = 0
    created: int = 0
    changed: int = 0
    unchanged: int = 0
    skipped: int = 0
    reasons: list[Skipped] = field(default_factory=list)

    def skip(self, skipped: Skipped) -> None:
        self.done += 1
        self.skipped += 1
        if len(self.reasons) < REASONS_KEPT:
            self.reasons.append(skipped)

    def count(self, change: Change, number: int = 1) -> None:
        self.done += number
        setattr(self, change, getattr(self, change) + number)


@dataclass(frozen=True, slots=True)
class _ConvertedBatch:
    skipped: list[Skipped]
    unchanged: int
    files: list[ConvertedFile]


class Importing:
    """Imports the body of a request into a project."""

    def __init__(
        self, store: Store, helpers: Helpers, tables: Tables, max_body: int, max_document: int, max_table: int
    ) -> None:
        self._store = store
        self._helpers = helpers
        self._tables = tables
        self._max_body = max_body
        self._limits = SizeLimits(max_document, max_table)

    async def open(self, body: Sequence[bytes], path: str | None) -> Source:
        """Open a request body: an archive, or the one file that `path` names."""
        max_file = max(self._limits.document, self._limits.table)
        return await asyncio.to_thread(open_body, body, path, self._max_body, max_file)

    async def run(self, project_id: int, caller: Caller, source: Source) -> AsyncGenerator[Progress, None]:
        """Import all batches, and yield the progress after each of them."""
        progress, converting = Progress(source.total), deque[asyncio.Task[_ConvertedBatch]]()
        try:
            while batch := await asyncio.to_thread(next, source.batches, None):
                alone = is_large(batch)
                while converting and (alone or len(converting) >= AHEAD):
                    yield await self._store_batch(project_id, caller, await converting.popleft(), progress)
                converting.append(asyncio.create_task(self._convert(project_id, batch)))
                del batch  # the task owns it, so that a large file is not held twice
                if alone:
                    yield await self._store_batch(project_id, caller, await converting.popleft(), progress)
            while converting:
                yield await self._store_batch(project_id, caller, await converting.popleft(), progress)
        finally:
            for task in converting:
                task.cancel()
            await asyncio.gather(*converting, return_exceptions=True)

    # ── converting ──

    async def _convert(self, project_id: int, batch: Batch) -> _ConvertedBatch:
        """Convert the files of a batch that changed since the last import."""
        skipped = [each for each in batch if isinstance(each, Skipped)]
        files = [each for each in batch if isinstance(each, File)]
        batch.clear()
        changed = await self._changed(project_id, files)
        unchanged, files = len(files) - len(changed), changed
        converted = []
        for each in await self._converted(files) if files else ():
            if each.result.kind == "nothing":
                skipped.append(Skipped(printable(each.path), each.result.reason))
            else:
                converted.append(each)
        return _ConvertedBatch(skipped, unchanged, converted)

    async def _changed(self, project_id: int, files: list[File]) -> list[File]:
        """Return the files whose bytes differ from their documents. The others need no conversion."""
        paths = [each.path for each in files if _stored_format(each.name)]
        if not paths:
            return files
        async with self._store.read() as connection:
            present = await document_rows.by_paths(connection, project_id, paths)

        def differs(file: File) -> bool:
            document, content = present.get(file.path, (None, b""))
            return document is None or content != file.data or document.format != _stored_format(file.name)

        return [each for each in files if differs(each)]

    async def _converted(self, files: list[File]) -> list[ConvertedFile]:
        """Convert files in a helper process. If one ends the helper, convert each file by itself."""
        described, data = [_described(each) for each in files], [each.data for each in files]
        try:
            results, contents = await self._helpers.run(convert_files, described, self._limits, data)
        except FindspotError as error:
            if error.code != "INTERNAL":
                raise
            if len(files) == 1:
                reason = "reading it ended a helper process; please report this file as a fault of Findspot"
                return [ConvertedFile(files[0].path, Converted("nothing", reason=reason), b"")]
            return [each for file in files for each in await self._converted([file])]
        known = zip(files, results, contents, strict=True)
        return [ConvertedFile(file.path, result, content) for file, result, content in known]

    # ── storing ──

    async def _store_batch(
        self, project_id: int, caller: Caller, batch: _ConvertedBatch, progress: Progress
    ) -> Progress:
        for skipped in batch.skipped:
            progress.skip(skipped)
        progress.count("unchanged", batch.unchanged)
        for table in await self._store_files(project_id, caller, batch.files, progress):
            progress.count(await self._import_table(project_id, table))
        return progress

    async def _store_files(
        self, project_id: int, caller: Caller, files: list[ConvertedFile], progress: Progress
    ) -> list[ConvertedFile]:
        """Store files in one transaction. Return the tables that need several transactions."""
        for _ in range(_ATTEMPTS if files else 0):
            try:
                async with self._store.write() as connection:
                    plan = await plan_import(connection, project_id, files)
                    await plan.apply(connection, project_id, caller)
            except IntegrityError:  # another process imports the same files, or the project was deleted
                await self._require_project(project_id)
                continue
            for skipped in plan.skipped:
                progress.skip(skipped)
            for change, number in plan.counts().items():
                progress.count(change, number)
            return plan.separate_tables
        if files:
            raise _conflict()
        return []

    async def _import_table(self, project_id: int, file: ConvertedFile) -> Change:
        for _ in range(_ATTEMPTS):
            try:
                return await self._tables.import_file(project_id, file.path, file.result.title, file.content)
            except IntegrityError:  # another process imported it first, or the project was deleted
                await self._require_project(project_id)
        raise _conflict()

    async def _require_project(self, project_id: int) -> None:
        async with self._store.read() as connection:
            if await project_rows.get(connection, project_id) is None:
                raise not_found("project")


def _conflict() -> FindspotError:
    message = "Other imports keep changing the same files. Import these files again."
    return FindspotError("VERSION_CONFLICT", message)


def _described(file: File) -> ImportFile:
    known = file.record
    return ImportFile(file.name, known.kind, known.title, known.type) if known else ImportFile(file.name)


def _stored_format(name: str) -> str | None:
    """Return the format of a document that stores the bytes of its file unchanged; None for other files."""
    return next((form for suffix, form in _FORMATS.items() if name.lower().endswith(suffix)), None)
