"""Decides what a batch of imported files changes in the store, and applies it in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.content.import_batch import LARGE
from findspot.content.import_files import Converted
from findspot.content.tables import Change
from findspot.models import Caller, Document
from findspot.sources.files import Skipped
from findspot.sources.paths import printable
from findspot.store import documents as document_rows
from findspot.store import tables as table_rows
from findspot.store import versions
from findspot.store.documents import NewDocument


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """A file after conversion, with the content to store."""

    path: str
    result: Converted
    content: bytes


@dataclass(slots=True)
class ImportPlan:
    """The changes that a batch makes to the store as it is in this transaction."""

    new_documents: list[ConvertedFile] = field(default_factory=list)
    changed_documents: list[tuple[ConvertedFile, Document, bytes]] = field(default_factory=list)
    unchanged: int = 0
    new_tables: list[ConvertedFile] = field(default_factory=list)
    separate_tables: list[ConvertedFile] = field(default_factory=list)  # they need several transactions each
    skipped: list[Skipped] = field(default_factory=list)

    def counts(self) -> dict[Change, int]:
        created = len(self.new_documents) + len(self.new_tables)
        return {"created": created, "changed": len(self.changed_documents), "unchanged": self.unchanged}

    async def apply(self, connection: AsyncConnection, project_id: int, caller: Caller) -> None:
        """Write everything but the separate tables."""
        await document_rows.create_many(connection, project_id, [_new_document(each) for each in self.new_documents])
        for file, document, before in self.changed_documents:
            result = file.result
            await versions.add(connection, document, before, "manual", caller)
            values = {"title": result.title, "format": result.format, "word_count": result.word_count}
            await document_rows.change(connection, document, content=file.content, **values)
        for file in self.new_tables:
            text_id, size = table_rows.new_text_id(), len(file.content)
            table = await table_rows.create(connection, project_id, file.result.title, text_id, size, 1, file.path)
            (group,) = table_rows.split(file.content)
            await table_rows.write_pieces(connection, table.id, text_id, 0, group)


async def plan_import(connection: AsyncConnection, project_id: int, files: Sequence[ConvertedFile]) -> ImportPlan:
    """Compare files with the documents and tables that were imported from the same paths."""
    paths = [each.path for each in files]
    documents = await document_rows.by_paths(connection, project_id, paths, lock=True)
    tables = await table_rows.by_paths(connection, project_id, paths)
    plan = ImportPlan()
    for each in sorted(files, key=lambda file: file.path):  # the same order in every import avoids deadlocks
        is_document = each.result.kind == "document"
        if each.path in (tables if is_document else documents):
            before, now = ("table", "document") if is_document else ("document", "table")
            reason = f"it was imported as a {before} and is a {now} now; delete that {before} to import it"
            plan.skipped.append(Skipped(printable(each.path), reason))
        elif not is_document:
            is_small = each.path not in tables and len(each.content) <= LARGE
            (plan.new_tables if is_small else plan.separate_tables).append(each)
        elif each.path not in documents:
            plan.new_documents.append(each)
        else:
            document, content = documents[each.path]
            if each.content == content and each.result.format == document.format:
                plan.unchanged += 1
            else:
                plan.changed_documents.append((each, document, content))
    return plan


def _new_document(file: ConvertedFile) -> NewDocument:
    result = file.result
    return NewDocument(result.title, result.type, result.format or "", file.content, result.word_count, file.path)
