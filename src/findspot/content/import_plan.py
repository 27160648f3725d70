"""Decides what a batch of imported files changes in the store, and applies it in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.content.import_batch import LARGE
from findspot.content.import_files import Converted, title_of_file
from findspot.models import Caller, Document, Table
from findspot.sources.files import Skipped
from findspot.sources.paths import printable
from findspot.store import documents as document_rows
from findspot.store import import_files as file_rows
from findspot.store import tables as table_rows
from findspot.store import versions
from findspot.store.documents import NewDocument
from findspot.store.import_files import ImportedFile

Outcome: TypeAlias = Literal["created", "changed", "renamed", "unchanged"]


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """Where an import goes, and whose it is.

    `root` names the folder that the files belong to. `prune` deletes what came from files that it does not have any
    more.
    """

    project_id: int
    caller: Caller
    root: str | None = None
    prune: bool = False


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """A file after conversion, with the content to store. `hash` is the SHA-256 of the file's own bytes."""

    path: str
    result: Converted
    content: bytes
    hash: bytes
    modified: datetime | None

    def imported(self, root: str | None, *, document: int | None = None, table: int | None = None) -> ImportedFile:
        """Return the file as a row."""
        return ImportedFile(self.path, document, table, root, self.hash)


@dataclass(slots=True)
class ImportPlan:
    """The changes that a batch makes to the store as it is in this transaction."""

    target: ImportTarget
    known: dict[str, ImportedFile]  # by path, as the store has them
    new_documents: list[ConvertedFile] = field(default_factory=list)
    present_documents: list[tuple[ConvertedFile, Document, bytes]] = field(default_factory=list)
    new_tables: list[ConvertedFile] = field(default_factory=list)
    renamed_tables: list[tuple[ConvertedFile, Table]] = field(default_factory=list)
    separate_tables: list[ConvertedFile] = field(default_factory=list)  # they need several transactions each
    skipped: list[Skipped] = field(default_factory=list)
    counts: dict[Outcome, int] = field(
        default_factory=lambda: {"created": 0, "changed": 0, "renamed": 0, "unchanged": 0}
    )

    async def apply(self, connection: AsyncConnection) -> None:
        """Write everything but the values of the separate tables."""
        project_id, root = self.target.project_id, self.target.root
        moved = [document.path for file, document, _ in self.present_documents if document.path != file.path]
        moved += [table.path for _, table in self.renamed_tables]
        await file_rows.remove(connection, project_id, [path for path in moved if path])
        new = [_new_document(each) for each in self.new_documents]
        ids = await document_rows.create_many(connection, project_id, new)
        files = [each.imported(root, document=ids[each.path]) for each in self.new_documents]
        changes = [(each, self._change(*each)) for each in self.present_documents]
        replaced = [(document, before) for (_, document, before), values in changes if "content" in values]
        await versions.add_many(connection, replaced, "manual", self.target.caller)
        await document_rows.change_many(connection, [(each[1], values) for each, values in changes if values])
        for (file, document, _), values in changes:
            outcome: Outcome = "unchanged" if not values else "renamed" if "path" in values else "changed"
            self.counts[outcome] += 1
            if not values and file.modified and is_undated(self.known.get(file.path)):
                await document_rows.date(connection, document.id, file.modified)
            if values or not is_current(self.known.get(file.path), self.target, file.hash):
                files.append(file.imported(root, document=document.id))
        for file in self.new_tables:
            files.append(file.imported(root, table=await _create_table(connection, project_id, file)))
        for file, table in self.renamed_tables:
            values = {"name": file.result.title} if table.name == title_of_file(table.path or "") else {}
            await table_rows.change(connection, table.id, path=file.path, updated_at=table.updated_at, **values)
            files.append(file.imported(root, table=table.id))
        await file_rows.put(connection, project_id, files)
        self.counts["created"] += len(self.new_documents) + len(self.new_tables)

    def _change(self, file: ConvertedFile, document: Document, before: bytes) -> dict[str, Any]:
        """Return the values that make a document equal to its file."""
        result, values = file.result, dict[str, Any]()
        if document.path != file.path:
            values |= {"path": file.path, "updated_at": file.modified or document.updated_at}
            if document.title == title_of_file(document.path or ""):
                values["title"] = result.title
        if (file.content, result.format) != (before, document.format):
            values |= {"content": file.content, "title": result.title, "format": result.format}
            values |= {"word_count": result.word_count, "updated_at": file.modified or datetime.now(UTC)}
        return values


def is_undated(known: ImportedFile | None) -> bool:
    """Return whether a file was imported before Findspot kept the dates of files."""
    return known is None or known.hash is None


def is_current(known: ImportedFile | None, target: ImportTarget, hash: bytes) -> bool:
    """Return whether the row of a file says what this import would write."""
    return (
        known is not None
        and known.hash == hash
        and not known.missing
        and (target.root is None or known.root == target.root)
    )


async def plan_import(connection: AsyncConnection, target: ImportTarget, files: Sequence[ConvertedFile]) -> ImportPlan:
    """Compare files with the documents and tables that were imported from the same paths, or renamed since."""
    paths = [each.path for each in files]
    documents = await document_rows.by_paths(connection, target.project_id, paths, lock=True)
    tables = await table_rows.by_paths(connection, target.project_id, paths)
    plan = ImportPlan(target, await file_rows.by_paths(connection, target.project_id, paths))
    new = [each for each in files if each.path not in documents and each.path not in tables]
    renamed_tables = await _add_renamed(connection, target, new, documents)
    for each in sorted(files, key=lambda file: file.path):  # the same order in every import avoids deadlocks
        is_document = each.result.kind == "document"
        if each.path in (tables if is_document else documents):
            before, now = ("table", "document") if is_document else ("document", "table")
            reason = f"it was imported as a {before} and is a {now} now; delete that {before} to import it"
            plan.skipped.append(Skipped(printable(each.path), reason))
        elif is_document and each.path in documents:
            plan.present_documents.append((each, *documents[each.path]))
        elif is_document:
            plan.new_documents.append(each)
        elif each.path in renamed_tables:
            plan.renamed_tables.append((each, renamed_tables[each.path]))
            plan.separate_tables.append(each)
        else:
            is_small = each.path not in tables and len(each.content) <= LARGE
            (plan.new_tables if is_small else plan.separate_tables).append(each)
    return plan


async def _add_renamed(
    connection: AsyncConnection,
    target: ImportTarget,
    new: Sequence[ConvertedFile],
    documents: dict[str, tuple[Document, bytes]],
) -> dict[str, Table]:
    """Add the documents of renamed files by their new paths, and return the tables of renamed files by theirs."""
    if not new or target.root is None:
        return {}
    hashes = list({each.hash for each in new})
    lost = await file_rows.lock_missing(connection, target.project_id, target.root, hashes)
    pairs = match_renamed(new, lost)
    by_document = {old.document_id: path for path, old in pairs.items() if old.document_id}
    if by_document:
        for document, content in await document_rows.load_many(connection, list(by_document), lock=True):
            documents[by_document[document.id]] = document, content
    old_paths = {old.path: path for path, old in pairs.items() if old.table_id}
    found = await table_rows.by_paths(connection, target.project_id, list(old_paths)) if old_paths else {}
    return {old_paths[path]: table for path, table in found.items()}


def match_renamed(new: Sequence[ConvertedFile], lost: Sequence[ImportedFile]) -> dict[str, ImportedFile]:
    """Return by new path the file that each one was before: equal in content and kind, first those of equal name."""
    left: dict[tuple[bytes | None, bool], list[ImportedFile]] = {}
    for old in lost:
        left.setdefault((old.hash, old.document_id is not None), []).append(old)
    pairs: dict[str, ImportedFile] = {}
    for by_name in (True, False):
        for each in sorted(new, key=lambda file: file.path):
            options = left.get((each.hash, each.result.kind == "document"), [])
            same = [old for old in options if not by_name or _name(old.path) == _name(each.path)]
            if same and each.path not in pairs:
                pairs[each.path] = same[0]
                options.remove(same[0])
    return pairs


def _name(path: str) -> str:
    return path.rpartition("/")[2]


async def _create_table(connection: AsyncConnection, project_id: int, file: ConvertedFile) -> int:
    text_id, size = table_rows.new_text_id(), len(file.content)
    table = await table_rows.create(connection, project_id, file.result.title, text_id, size, 1, file.path)
    (group,) = table_rows.split(file.content)
    await table_rows.write_pieces(connection, table.id, text_id, 0, group)
    if file.modified:
        await table_rows.change(connection, table.id, updated_at=file.modified)
    return table.id


def _new_document(file: ConvertedFile) -> NewDocument:
    result = file.result
    return NewDocument(
        result.title, result.type, result.format or "", file.content, result.word_count, file.path, file.modified
    )
