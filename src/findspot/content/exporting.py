"""Exporting: a project as a tar archive, readable without Findspot, streamed while the store is read.

Each document is consistent, because it is read with its content in one statement. The export as a whole is no
snapshot. Memory holds at most a megabyte of documents, or one document or table if that is larger.
"""

import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from typing import IO, Any

import msgspec

from findspot import __version__
from findspot.models import Document, Project, Table, Version
from findspot.runtime.memory import MemoryBudget
from findspot.sources.exports import ExportNames, extension
from findspot.sources.file_filter import tar_records_of
from findspot.sources.files import ExportRecord
from findspot.sources.tars import BLOCK, END, padding, tar_header
from findspot.store import documents as document_rows
from findspot.store import tables as table_rows
from findspot.store import versions as version_rows
from findspot.store.database import Store

FORMAT = 1
_PAGE = 500
_GROUP_BYTES = 1024 * 1024
_SLICE = 256 * 1024
_MANIFEST = "manifest.json"
_LISTS = ("documents", "versions", "tables")


class Exporting:
    """Exports projects as tar archives."""

    def __init__(self, store: Store, memory: MemoryBudget) -> None:
        self._store = store
        self._memory = memory

    async def tar(self, project: Project) -> AsyncIterator[bytes]:
        """Yield the archive: documents with their versions, tables, and a manifest that describes each file."""
        with contextlib.ExitStack() as closing:
            lists = [closing.enter_context(tempfile.SpooledTemporaryFile(_GROUP_BYTES)) for _ in _LISTS]
            manifest, names = _Manifest(dict(zip(_LISTS, lists, strict=True))), ExportNames()
            async for part in self._documents(project.id, names, manifest):
                yield part
            async for part in self._tables(project.id, names, manifest):
                yield part
            for part in manifest.entry(project):
                yield part
        yield END

    async def _documents(self, project_id: int, names: ExportNames, manifest: "_Manifest") -> AsyncIterator[bytes]:
        last = 0
        while True:
            async with self._store.read_replica() as connection:
                page = await document_rows.sizes(connection, project_id, last, _PAGE)
            if not page:
                return
            last = page[-1][0]
            for ids in _groups(page):
                async with self._store.read_replica() as connection:
                    found = await document_rows.load_many(connection, ids)
                    kept = await version_rows.sizes(connection, ids)
                files = {}
                for document, content in found:
                    preferred = document.path or _file_name(document.title)
                    files[document.id] = file = names.document(preferred, document.format)
                    manifest.add("documents", _document(document, file))
                    known = ExportRecord("document", document.path or file, document.title, document.type)
                    for part in _entry(f"documents/{file}", [content], document.updated_at, known):
                        yield part
                async for part in self._versions(kept, files, manifest):
                    yield part

    async def _versions(
        self, kept: Sequence[tuple[int, int]], files: dict[int, str], manifest: "_Manifest"
    ) -> AsyncIterator[bytes]:
        for ids in _groups(kept):
            async with self._store.read_replica() as connection:
                found = await version_rows.load_many(connection, ids)
            for version, content in found:
                if version.document_id not in files:  # the document was deleted meanwhile
                    continue
                folder = f"versions/{files[version.document_id]}"
                file = f"{folder}/{version.id}-{version.reason}{extension(version.format)}"
                manifest.add("versions", _version(version, file))
                for part in _entry(file, [content], version.created_at, ExportRecord("version")):
                    yield part

    async def _tables(self, project_id: int, names: ExportNames, manifest: "_Manifest") -> AsyncIterator[bytes]:
        last = 0
        while True:
            async with self._store.read_replica() as connection:
                page = await table_rows.following(connection, project_id, last, _PAGE)
            for listed in page:
                last = listed.id
                async with self._memory.hold(listed.size):
                    async with self._store.read_replica() as connection:
                        loaded = await table_rows.load(connection, listed.id)
                    if loaded is None:
                        continue
                    table, text = loaded
                    file = names.table(table.path or _file_name(table.name))
                    manifest.add("tables", _table(table, file))
                    known = ExportRecord("table", table.path or file, table.name)
                    for part in _entry(f"tables/{file}", text, table.updated_at, known):
                        yield part
                    del loaded, text
            if not page:
                return


class _Manifest:
    """The description of all files. It comes last in the archive, so it is collected in temporary files."""

    def __init__(self, parts: dict[str, IO[bytes]]) -> None:
        self._parts = parts

    def add(self, part: str, value: dict[str, Any]) -> None:
        file = self._parts[part]
        file.write((b",\n" if file.tell() else b"\n") + msgspec.json.encode(value))

    def entry(self, project: Project) -> Iterator[bytes]:
        now = datetime.now(UTC)
        about = {
            "findspot_export": FORMAT,
            "findspot": __version__,
            "exported_at": now,
            "project": {"id": project.id, "name": project.name, "created_at": project.created_at},
        }
        pieces: list[bytes | IO[bytes]] = [msgspec.json.encode(about)[:-1]]
        for name, part in self._parts.items():
            pieces += [f',\n"{name}":['.encode(), part, b"\n]"]
        pieces.append(b"}\n")
        size = sum(len(piece) if isinstance(piece, bytes) else piece.tell() for piece in pieces)
        yield tar_header(_MANIFEST, size, now, tar_records_of(ExportRecord("manifest")))
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            piece.seek(0)
            while slice_ := piece.read(_SLICE):
                yield slice_
        yield padding(size)


def _entry(name: str, pieces: Sequence[bytes], changed_at: datetime, known: ExportRecord) -> Iterator[bytes]:
    size = sum(map(len, pieces))
    yield tar_header(name, size, changed_at, tar_records_of(known))
    for piece in pieces:
        for start in range(0, len(piece), _SLICE):
            yield piece[start : start + _SLICE]
    if size % BLOCK:
        yield padding(size)


def _groups(sizes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Yield ids in groups whose contents are read together."""
    group: list[int] = []
    total = 0
    for number, size in sizes:
        if group and total + size > _GROUP_BYTES:
            yield group
            group, total = [], 0
        group.append(number)
        total += size
    if group:
        yield group


def _file_name(title: str) -> str:
    """Return a title as a file name: its slashes do not become folders."""
    return title.replace("/", "_")


def _document(document: Document, file: str) -> dict[str, Any]:
    return {
        "file": f"documents/{file}",
        "id": document.id,
        "title": document.title,
        "type": document.type,
        "format": document.format,
        "path": document.path,
        "revision": document.revision,
        "word_count": document.word_count,
        "updated_at": document.updated_at,
    }


def _version(version: Version, file: str) -> dict[str, Any]:
    return {
        "file": file,
        "id": version.id,
        "document_id": version.document_id,
        "parent_id": version.parent_id,
        "reason": version.reason,
        "actor": version.actor,
        "title": version.title,
        "format": version.format,
        "word_count": version.word_count,
        "created_at": version.created_at,
    }


def _table(table: Table, file: str) -> dict[str, Any]:
    return {
        "file": f"tables/{file}",
        "id": table.id,
        "name": table.name,
        "path": table.path,
        "revision": table.revision,
        "size": table.size,
        "updated_at": table.updated_at,
    }
