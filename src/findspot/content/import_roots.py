"""Import roots: which imported files does a folder not have any more, and deleting what came from them."""

import asyncio
import unicodedata
from collections.abc import AsyncGenerator, Collection, Sequence, Set
from dataclasses import dataclass
from typing import Literal

import msgspec

from findspot.content.documents import Documents
from findspot.content.tables import Tables
from findspot.errors import FindspotError, invalid
from findspot.jsontext.check import check
from findspot.jsontext.mismatch import mismatch
from findspot.names import checked
from findspot.sources.paths import UnsupportedFile, safe_path
from findspot.store import import_files as rows
from findspot.store.database import Store
from findspot.store.import_files import ImportedFile

MARKED_AT_ONCE = 500
DELETED_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A document or table whose file is gone from its folder."""

    kind: Literal["document", "table"]
    id: int
    path: str


class Listing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A root and paths of its files."""

    root: str
    paths: list[str]


def parse_listing(body: Sequence[bytes]) -> Listing:
    """Validate the body `{root, paths}`. Paths get the form in which an import stores them."""
    try:
        sent = msgspec.json.decode(check(b"".join(body)), type=Listing)
    except msgspec.ValidationError as error:
        raise mismatch(error, Listing) from None
    if not sent.paths:
        raise invalid("paths", "is empty; to delete everything, delete the documents and tables themselves")
    try:
        return Listing(root_name(sent.root), [safe_path(path) for path in sent.paths])
    except UnsupportedFile as error:
        raise invalid("paths", f"has a path that is not accepted: {error.reason}") from None


def root_name(name: str) -> str:
    """Return the name of a root, in Unicode NFC as paths are."""
    return checked(unicodedata.normalize("NFC", name), "root")


class ImportRoots:
    """Compares folders with what was imported from them. A file that was not imported from a root is never touched."""

    def __init__(self, store: Store, documents: Documents, tables: Tables) -> None:
        self._store = store
        self._documents = documents
        self._tables = tables

    async def compare(self, project_id: int, root: str, paths: Collection[str]) -> list[MissingFile]:
        """Record which files the folder has now, given the paths of all of them. Return those that are missing.

        From then on, a new file with the content of a missing one is recognised as that file under a new name.
        """
        async with self._store.read() as connection:
            known = await rows.of_root(connection, project_id, root)
        gone, is_missing = await asyncio.to_thread(_compared, known, frozenset(paths))
        for missing, changed in is_missing.items():
            for start in range(0, len(changed), MARKED_AT_ONCE):
                async with self._store.write(durable=False) as connection:
                    await rows.mark(connection, project_id, changed[start : start + MARKED_AT_ONCE], missing=missing)
        return gone

    async def missing(self, project_id: int, root: str) -> list[MissingFile]:
        """Return what the last comparison found missing and nothing has replaced since."""
        async with self._store.read() as connection:
            return [_missing(each) for each in await rows.of_root(connection, project_id, root, missing=True)]

    async def prune(self, project_id: int, root: str, paths: Sequence[str]) -> AsyncGenerator[int, None]:
        """Delete the documents and tables of missing files, and yield after each batch how many were deleted.

        Paths that are not missing any more, or are not files of this root, are left alone.
        """
        for start in range(0, len(paths), DELETED_AT_ONCE):
            some = paths[start : start + DELETED_AT_ONCE]
            async with self._store.read() as connection:
                found = (await rows.by_paths(connection, project_id, some)).values()
            lost = [each for each in found if each.missing and each.root == root]
            deleted = await self._documents.delete_many([each.document_id for each in lost if each.document_id])
            for table_id in (each.table_id for each in lost if each.table_id):
                deleted += await self._delete_table(table_id)
            yield deleted

    async def _delete_table(self, table_id: int) -> bool:
        """Delete a table. Return False if someone else has just deleted it."""
        try:
            await self._tables.delete(table_id)
        except FindspotError as error:
            if error.code != "NOT_FOUND":
                raise
            return False
        return True


def _compared(known: Sequence[ImportedFile], present: Set[str]) -> tuple[list[MissingFile], dict[bool, list[str]]]:
    """Return what is missing, and the paths whose mark changes, by their new mark."""
    gone = [_missing(each) for each in known if each.path not in present]
    lost = [each.path for each in known if not each.missing and each.path not in present]
    back = [each.path for each in known if each.missing and each.path in present]
    return gone, {True: lost, False: back}


def _missing(file: ImportedFile) -> MissingFile:
    if file.document_id is not None:
        return MissingFile("document", file.document_id, file.path)
    return MissingFile("table", file.table_id or 0, file.path)
