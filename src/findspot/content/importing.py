"""Importing: files → batches → what they become → one transaction a batch. A second run changes only what changed.

While one batch is stored the next ones are read in helper processes. No more than a few batches exist at a time, so
memory does not grow with the number of files. What was stored stays when an import breaks off; the next run goes on.
"""

import asyncio
import io
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, TypeAlias, cast

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.content.intake import Became, Given, Sizes, read_files
from findspot.content.tables import Fate, Tables
from findspot.errors import FindspotError, invalid, not_found
from findspot.models import Caller, Document
from findspot.runtime.helpers import Helpers
from findspot.sources.archives import ArchiveError, Limits, open_archive
from findspot.sources.file_filter import FileFilter, SelectedFile
from findspot.sources.files import ARCHIVES, File, Skipped
from findspot.sources.paths import printable
from findspot.sources.segmented_file import SegmentedFile
from findspot.store import documents as document_rows
from findspot.store import projects as project_rows
from findspot.store import tables as table_rows
from findspot.store import versions
from findspot.store.database import Store
from findspot.store.documents import NewDocument

MAX_ENTRIES = 100_000
TOTAL_PER_BODY = 16  # text seldom packs better; what does is no text
_LEAST_TOTAL = 64 * 1024 * 1024
REASONS_KEPT = 1000
BATCH_FILES, BATCH_BYTES = 256, 512 * 1024
LARGE = 1024 * 1024  # a file of this size is a batch of its own, and is worked on alone
AHEAD = 3  # batches being read while one is stored: both helpers have work, and one is ready
_TRIES = 5
_FORMATS = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text"}

Batch: TypeAlias = list[File | Skipped]


@dataclass(slots=True)
class Tally:
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

    def count(self, fate: Fate, number: int = 1) -> None:
        self.done += number
        setattr(self, fate, getattr(self, fate) + number)


@dataclass(frozen=True, slots=True)
class Source:
    """What a request brought: so many files, if that is known, in batches that are made as they are asked for."""

    total: int | None
    batches: Iterator[Batch]


@dataclass(frozen=True, slots=True)
class _Read:
    """A file that was read: what it became, and the content to keep."""

    path: str
    became: Became
    content: bytes


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A batch that was read."""

    skipped: list[Skipped]
    unchanged: int
    read: list[_Read]


class Importing:
    """Imports what a request brings into a project."""

    def __init__(
        self, store: Store, helpers: Helpers, tables: Tables, max_body: int, max_document: int, max_table: int
    ) -> None:
        self._store = store
        self._helpers = helpers
        self._tables = tables
        self._most_of_one = max(max_document, max_table)
        self._most = TOTAL_PER_BODY * max_body
        self._sizes = Sizes(max_document, max_table)

    def _limits(self, body: Sequence[bytes]) -> Limits:
        """What an archive may unpack to follows from its own size: text packs so well, and no better."""
        total = min(self._most, max(_LEAST_TOTAL, TOTAL_PER_BODY * sum(map(len, body))))
        return Limits(MAX_ENTRIES, self._most_of_one, total)

    async def open(self, body: Sequence[bytes], path: str | None) -> Source:
        """Look at a body: an archive by its first bytes, or the one file that `path` names."""
        return await asyncio.to_thread(self._open, body, path)

    def _open(self, body: Sequence[bytes], path: str | None) -> Source:
        if not path or path.lower().endswith(ARCHIVES):  # a .docx is a zip too, but no archive to anyone
            try:
                archive = open_archive(cast(BinaryIO, io.BufferedReader(SegmentedFile(body))), self._limits(body))
            except ArchiveError as error:
                raise invalid("body", str(error)) from None
            if archive is not None:
                return Source(archive.total, _batched(archive.files))
        if not body:
            raise invalid("body", "is empty; send an archive or a file")
        if not path:
            raise invalid(
                "path", "is missing: this is no archive (zip, tar, tar.gz), so name the file: ?path=notes/a.md"
            )
        wanted = FileFilter().select(path)
        found = File(wanted.name, wanted.path, b"".join(body)) if isinstance(wanted, SelectedFile) else wanted
        return Source(1, iter([[found]] if found else []))

    async def run(self, project_id: int, caller: Caller, source: Source) -> AsyncGenerator[Tally, None]:
        """Import, and tell after every batch how far it is."""
        tally, reading = Tally(source.total), deque[asyncio.Task[_Outcome]]()
        try:
            while batch := await asyncio.to_thread(next, source.batches, None):
                alone = _is_large(batch)
                while reading and (alone or len(reading) >= AHEAD):
                    yield await self._finish(project_id, caller, await reading.popleft(), tally)
                reading.append(asyncio.create_task(self._read(project_id, batch)))
                del batch  # the task has it; a large one is not to be held twice
                if alone:
                    yield await self._finish(project_id, caller, await reading.popleft(), tally)
            while reading:
                yield await self._finish(project_id, caller, await reading.popleft(), tally)
        finally:
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)

    # ── reading ──

    async def _read(self, project_id: int, batch: Batch) -> _Outcome:
        """Set aside what is as it was, and find out what the others become."""
        skipped = [each for each in batch if isinstance(each, Skipped)]
        files = [each for each in batch if isinstance(each, File)]
        batch.clear()
        fresh = await self._not_as_before(project_id, files)
        same, files = len(files) - len(fresh), fresh
        if not files:
            return _Outcome(skipped, same, [])
        read = []
        for each in await self._became(files):
            if each.became.kind == "nothing":
                skipped.append(Skipped(printable(each.path), each.became.reason))
            else:
                read.append(each)
        return _Outcome(skipped, same, read)

    async def _not_as_before(self, project_id: int, files: list[File]) -> list[File]:
        """The files whose bytes are not what their documents hold. Others need not be read at all."""
        paths = [each.path for each in files if _format(each.name)]
        if not paths:
            return files
        async with self._store.read() as connection:
            present = await document_rows.by_paths(connection, project_id, paths)

        def differs(file: File) -> bool:
            document, content = present.get(file.path, (None, b""))
            return document is None or content != file.data or document.format != _format(file.name)

        return [each for each in files if differs(each)]

    async def _became(self, files: list[File]) -> list[_Read]:
        given, data = [_given(each) for each in files], [each.data for each in files]
        try:
            became, contents = await self._helpers.run(read_files, given, self._sizes, data)
        except FindspotError as error:
            if error.code != "INTERNAL":
                raise
            if len(files) == 1:  # whatever it is about this file, the others shall not suffer from it
                reason = "reading it ended a helper process; please report this file as a fault of Findspot"
                return [_Read(files[0].path, Became("nothing", reason=reason), b"")]
            return [each for file in files for each in await self._became([file])]
        known = zip(files, became, contents, strict=True)
        return [_Read(file.path, what, content) for file, what, content in known]

    # ── storing ──

    async def _finish(self, project_id: int, caller: Caller, outcome: _Outcome, tally: Tally) -> Tally:
        for skipped in outcome.skipped:
            tally.skip(skipped)
        tally.count("unchanged", outcome.unchanged)
        apart = await self._store_batch(project_id, caller, outcome.read, tally)
        for each in apart:
            tally.count(await self._import_table(project_id, each))
        return tally

    async def _import_table(self, project_id: int, read: _Read) -> Fate:
        for _ in range(_TRIES):
            try:
                return await self._tables.import_file(project_id, read.path, read.became.title, read.content)
            except IntegrityError:  # another process was quicker, or the project is gone
                await self._require_project(project_id)
        raise _others()

    async def _store_batch(self, project_id: int, caller: Caller, read: list[_Read], tally: Tally) -> list[_Read]:
        """One transaction for a batch; gives the tables that need steps of their own."""
        for _ in range(_TRIES if read else 0):
            try:
                async with self._store.write() as connection:
                    plan = await _plan(connection, project_id, read)
                    await plan.carry_out(connection, project_id, caller)
            except IntegrityError:  # another process imports the same files, or the project is gone
                await self._require_project(project_id)
                continue
            for skipped in plan.skipped:
                tally.skip(skipped)
            for fate, number in plan.fates().items():
                tally.count(fate, number)
            return plan.apart
        if read:
            raise _others()
        return []

    async def _require_project(self, project_id: int) -> None:
        async with self._store.read() as connection:
            if await project_rows.get(connection, project_id) is None:
                raise not_found("project")


def _others() -> FindspotError:
    return FindspotError("VERSION_CONFLICT", "Others keep importing the same files. Import these again.")


@dataclass(slots=True)
class _Plan:
    """What a batch does to the store as it is in this transaction."""

    created: list[_Read] = field(default_factory=list)
    changed: list[tuple[_Read, Document, bytes]] = field(default_factory=list)
    unchanged: int = 0
    tables: list[_Read] = field(default_factory=list)
    apart: list[_Read] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def fates(self) -> dict[Fate, int]:
        created = len(self.created) + len(self.tables)
        return {"created": created, "changed": len(self.changed), "unchanged": self.unchanged}

    async def carry_out(self, connection: AsyncConnection, project_id: int, caller: Caller) -> None:
        await document_rows.create_many(connection, project_id, [_new(each) for each in self.created])
        for read, document, before in self.changed:
            became = read.became
            await versions.keep(connection, document, before, "manual", caller)
            values = {"title": became.title, "format": became.format, "word_count": became.word_count}
            await document_rows.change(connection, document, content=read.content, **values)
        for read in self.tables:
            text_id, name = table_rows.new_text_id(), read.became.title
            size = len(read.content)
            table = await table_rows.create(connection, project_id, name, text_id, size, 1, read.path)
            (group,) = table_rows.cut(read.content)
            await table_rows.write_pieces(connection, table.id, text_id, 0, group)


async def _plan(connection: AsyncConnection, project_id: int, read: list[_Read]) -> _Plan:
    paths = [each.path for each in read]
    documents = await document_rows.by_paths(connection, project_id, paths, lock=True)
    tables = await table_rows.by_paths(connection, project_id, paths)
    plan = _Plan()
    for each in sorted(read, key=lambda read: read.path):  # in one order, or two imports could wait for each other
        is_document = each.became.kind == "document"
        if each.path in (tables if is_document else documents):
            before, now = ("table", "document") if is_document else ("document", "table")
            reason = f"it was imported as a {before} and is a {now} now; delete that {before} to import it"
            plan.skipped.append(Skipped(printable(each.path), reason))
        elif not is_document:
            small = each.path not in tables and len(each.content) <= LARGE
            (plan.tables if small else plan.apart).append(each)
        elif each.path not in documents:
            plan.created.append(each)
        else:
            document, before_content = documents[each.path]
            if each.content == before_content and each.became.format == document.format:
                plan.unchanged += 1
            else:
                plan.changed.append((each, document, before_content))
    return plan


def _new(read: _Read) -> NewDocument:
    became = read.became
    form, content = became.format or "", read.content
    return NewDocument(became.title, became.type, form, content, became.word_count, read.path)


def _given(file: File) -> Given:
    known = file.record
    return Given(file.name, known.kind, known.title, known.type) if known else Given(file.name)


def _format(name: str) -> str | None:
    """The format of a document that holds just the bytes of its file; None where they have to be looked at."""
    return next((form for suffix, form in _FORMATS.items() if name.lower().endswith(suffix)), None)


def _is_large(batch: Batch) -> bool:
    return len(batch) == 1 and isinstance(batch[0], File) and len(batch[0].data) > LARGE


def _batched(files: Iterator[File | Skipped]) -> Iterator[Batch]:
    """Files in batches that are neither many nor large."""
    batch, size = Batch(), 0
    for each in files:
        length = len(each.data) if isinstance(each, File) else 0
        if batch and (len(batch) >= BATCH_FILES or size + length > BATCH_BYTES):
            yield batch
            batch, size = Batch(), 0
        batch.append(each)
        size += length
        del each
    if batch:
        yield batch
