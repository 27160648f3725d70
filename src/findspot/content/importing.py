"""Importing: open the body, convert its files, store them in one transaction per batch.

An import can be repeated: it changes only what differs. While one batch is stored, the next ones are converted in
helper processes. Only a few batches exist at a time, so memory does not grow with the number of files. If an import
stops early, stored batches stay, and the next run continues.
"""

import asyncio
import contextlib
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from sqlalchemy.exc import IntegrityError

from findspot.content.import_batch import Batch, BodyInfo, Source, is_large, open_body
from findspot.content.import_files import Converted, ImportFile, SizeLimits, convert_files
from findspot.content.import_plan import (
    ConvertedFile,
    ImportPlan,
    ImportTarget,
    Outcome,
    is_current,
    is_undated,
    plan_import,
)
from findspot.content.import_roots import ImportRoots, MissingFile
from findspot.content.tables import Tables
from findspot.errors import FindspotError, not_found
from findspot.runtime.helpers import Helpers
from findspot.sources.file_dates import not_in_future
from findspot.sources.files import File, Skipped
from findspot.sources.paths import printable
from findspot.store import documents as document_rows
from findspot.store import import_files as file_rows
from findspot.store import projects as project_rows
from findspot.store import tables as table_rows
from findspot.store.database import Store

REASONS_KEPT = 1000
AHEAD = 3  # batches being converted while one is stored: both helpers have work, and one batch is ready
_ATTEMPTS = 5
_FORMATS = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text"}


@dataclass(slots=True)
class Progress:
    """How far an import is. `missing` are the files that the folder does not have any more, once that is known."""

    total: int | None
    done: int = 0
    created: int = 0
    changed: int = 0
    renamed: int = 0
    unchanged: int = 0
    skipped: int = 0
    deleted: int = 0
    missing: list[MissingFile] | None = None
    reasons: list[Skipped] = field(default_factory=list)

    def skip(self, skipped: Skipped) -> None:
        self.done += 1
        self.skipped += 1
        if len(self.reasons) < REASONS_KEPT:
            self.reasons.append(skipped)

    def count(self, outcome: Outcome, number: int = 1) -> None:
        self.done += number
        setattr(self, outcome, getattr(self, outcome) + number)


@dataclass(frozen=True, slots=True)
class _ConvertedBatch:
    skipped: list[Skipped]
    unchanged: int
    files: list[ConvertedFile]


class Importing:
    """Imports the body of a request into a project."""

    def __init__(
        self,
        store: Store,
        helpers: Helpers,
        tables: Tables,
        roots: ImportRoots,
        max_body: int,
        max_document: int,
        max_table: int,
    ) -> None:
        self._store = store
        self._helpers = helpers
        self._tables = tables
        self._roots = roots
        self._max_body = max_body
        self._limits = SizeLimits(max_document, max_table)

    async def open(self, body: Sequence[bytes], info: BodyInfo) -> Source:
        """Open a request body: an archive, or the one file that a path names."""
        max_file = max(self._limits.document, self._limits.table)
        return await asyncio.to_thread(open_body, body, info, self._max_body, max_file)

    async def run(self, target: ImportTarget, source: Source) -> AsyncGenerator[Progress, None]:
        """Import all batches, and yield the progress after each of them. Then delete what is missing, if asked to."""
        progress = Progress(source.total)
        if target.root is not None and source.paths is not None:
            await self._roots.compare(target.project_id, target.root, source.paths)
        async with contextlib.aclosing(self._import_batches(target, source, progress)) as steps:
            async for _ in steps:
                yield progress
        if target.root is not None and source.paths is not None:
            progress.missing = await self._roots.missing(target.project_id, target.root)
            paths = [each.path for each in progress.missing] if target.prune else []
            async for deleted in self._roots.prune(target.project_id, target.root, paths):
                progress.deleted += deleted
                yield progress

    async def _import_batches(
        self, target: ImportTarget, source: Source, progress: Progress
    ) -> AsyncGenerator[None, None]:
        converting = deque[asyncio.Task[_ConvertedBatch]]()
        try:
            while batch := await asyncio.to_thread(next, source.batches, None):
                alone = is_large(batch)
                while converting and (alone or len(converting) >= AHEAD):
                    await self._store_batch(target, await converting.popleft(), progress)
                    yield
                converting.append(asyncio.create_task(self._convert(target, batch)))
                del batch  # the task owns it, so that a large file is not held twice
                if alone:
                    await self._store_batch(target, await converting.popleft(), progress)
                    yield
            while converting:
                await self._store_batch(target, await converting.popleft(), progress)
                yield
        finally:
            for task in converting:
                task.cancel()
            await asyncio.gather(*converting, return_exceptions=True)

    # ── converting ──

    async def _convert(self, target: ImportTarget, batch: Batch) -> _ConvertedBatch:
        """Convert the files of a batch that changed since the last import."""
        skipped = [each for each in batch if isinstance(each, Skipped)]
        files = [each for each in batch if isinstance(each, File)]
        batch.clear()
        changed = await self._changed(target, files)
        unchanged, files = len(files) - len(changed), changed
        converted = []
        for each in await self._converted(target.project_id, files) if files else ():
            if each.result.kind == "nothing":
                skipped.append(Skipped(printable(each.path), each.result.reason))
            else:
                converted.append(each)
        return _ConvertedBatch(skipped, unchanged, converted)

    async def _changed(self, target: ImportTarget, files: list[File]) -> list[File]:
        """Return the files whose bytes differ from their documents, or whose rows change. Others are not converted."""
        paths = [each.path for each in files if _stored_format(each.name)]
        if not paths:
            return files
        async with self._store.read() as connection:
            present = await document_rows.by_paths(connection, target.project_id, paths)
            known = await file_rows.by_paths(connection, target.project_id, paths)

        def differs(file: File) -> bool:
            document, content = present.get(file.path, (None, b""))
            if document is None or content != file.data or document.format != _stored_format(file.name):
                return True
            return not is_current(known.get(file.path), target, _hash(file))

        return await asyncio.to_thread(lambda: [each for each in files if differs(each)])

    async def _converted(self, project_id: int, files: list[File]) -> list[ConvertedFile]:
        """Convert files in a helper process. If one ends the helper, convert each file by itself."""
        described, data = [_described(each) for each in files], [each.data for each in files]
        try:
            results, contents = await self._helpers.run(project_id, convert_files, described, self._limits, data)
        except FindspotError as error:
            if error.code != "INTERNAL":
                raise
            if len(files) == 1:
                reason = "reading it ended a helper process; please report this file as a fault of Findspot"
                return [_with_result(files[0], Converted("nothing", reason=reason), b"")]
            return [each for file in files for each in await self._converted(project_id, [file])]
        known = zip(files, results, contents, strict=True)
        return await asyncio.to_thread(lambda: [_with_result(*each) for each in known])

    # ── storing ──

    async def _store_batch(self, target: ImportTarget, batch: _ConvertedBatch, progress: Progress) -> None:
        for skipped in batch.skipped:
            progress.skip(skipped)
        progress.count("unchanged", batch.unchanged)
        if batch.files:
            plan = await self._store_files(target, batch.files)
            for skipped in plan.skipped:
                progress.skip(skipped)
            for outcome, number in plan.counts.items():
                progress.count(outcome, number)
            renamed = {file.path for file, _ in plan.renamed_tables}
            for table in plan.separate_tables:
                outcome = await self._import_table(plan, table)
                progress.count("renamed" if table.path in renamed else outcome)

    async def _store_files(self, target: ImportTarget, files: list[ConvertedFile]) -> ImportPlan:
        """Store files in one transaction, but for the tables that need several."""
        for _ in range(_ATTEMPTS):
            try:
                async with self._store.write() as connection:
                    plan = await plan_import(connection, target, files)
                    await plan.apply(connection)
                return plan
            except IntegrityError:  # another process imports the same files, or the project was deleted
                await self._require_project(target.project_id)
        raise _conflict()

    async def _import_table(self, plan: ImportPlan, file: ConvertedFile) -> Outcome:
        target, title = plan.target, file.result.title
        for _ in range(_ATTEMPTS):
            try:
                id, outcome = await self._tables.import_file(target.project_id, file.path, title, file.content)
                await self._describe_table(plan, file, id, outcome)
                return outcome
            except IntegrityError:  # another process imported it first, or the project was deleted
                await self._require_project(target.project_id)
        raise _conflict()

    async def _describe_table(self, plan: ImportPlan, file: ConvertedFile, table_id: int, outcome: Outcome) -> None:
        """Record the file of a table, and give the table the file's date if its value comes from this import."""
        known = plan.known.get(file.path)
        if outcome == "unchanged" and is_current(known, plan.target, file.hash):
            return
        async with self._store.write() as connection:
            if file.modified and (outcome != "unchanged" or is_undated(known)):
                await table_rows.change(connection, table_id, updated_at=file.modified)
            imported = file.imported(plan.target.root, table=table_id)
            await file_rows.put(connection, plan.target.project_id, [imported])

    async def _require_project(self, project_id: int) -> None:
        async with self._store.read() as connection:
            if await project_rows.get(connection, project_id) is None:
                raise not_found("project")


def _conflict() -> FindspotError:
    message = "Other imports keep changing the same files. Import these files again."
    return FindspotError("VERSION_CONFLICT", message)


def _with_result(file: File, result: Converted, content: bytes) -> ConvertedFile:
    return ConvertedFile(file.path, result, content, _hash(file), not_in_future(file.modified))


def _hash(file: File) -> bytes:
    return hashlib.sha256(file.data).digest()


def _described(file: File) -> ImportFile:
    known = file.record
    return ImportFile(file.name, known.kind, known.title, known.type) if known else ImportFile(file.name)


def _stored_format(name: str) -> str | None:
    """Return the format of a document that stores the bytes of its file unchanged; None for other files."""
    return next((form for suffix, form in _FORMATS.items() if name.lower().endswith(suffix)), None)
