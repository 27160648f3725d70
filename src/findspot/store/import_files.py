"""Rows of imported files: which document or table each one became, and whether its folder still has it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store import driver
from findspot.store.schema import import_files

_AT_ONCE = 500

_columns = (
    import_files.c.path,
    import_files.c.document_id,
    import_files.c.table_id,
    import_files.c.root,
    import_files.c.hash,
    import_files.c.missing,
)

# A file that is imported without a root stays in the root of its last import.
_PUT = sa.text(
    "INSERT INTO import_files (project_id, path, document_id, table_id, root, hash, missing) "
    "VALUES (:project_id, :path, :document_id, :table_id, :root, :hash, :missing) "
    "ON CONFLICT (project_id, path) DO UPDATE SET document_id = excluded.document_id, table_id = excluded.table_id, "
    "root = COALESCE(excluded.root, import_files.root), hash = excluded.hash, missing = excluded.missing"
).bindparams(sa.bindparam("missing", type_=sa.Boolean), sa.bindparam("hash", type_=sa.LargeBinary))


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file that became a document or a table. `hash` is None if it was imported before hashes were kept."""

    path: str
    document_id: int | None
    table_id: int | None
    root: str | None
    hash: bytes | None
    missing: bool = False


async def put(connection: AsyncConnection, project_id: int, files: Sequence[ImportedFile]) -> None:
    """Add files, or replace the rows of the same paths."""
    if files:
        await connection.execute(_PUT, [{"project_id": project_id, **_values(each)} for each in files])


def _values(file: ImportedFile) -> dict[str, Any]:
    return {column.name: getattr(file, column.name) for column in _columns}


async def by_paths(connection: AsyncConnection, project_id: int, paths: Sequence[str]) -> dict[str, ImportedFile]:
    query = sa.select(*_columns).where(import_files.c.project_id == project_id, import_files.c.path.in_(paths))
    return {row.path: _file(row) for row in await connection.execute(query)}


async def of_root(
    connection: AsyncConnection, project_id: int, root: str, *, missing: bool = False
) -> list[ImportedFile]:
    """Return the files of a root in order of their paths; with `missing`, only those that its folder lost."""
    query = sa.select(*_columns).where(import_files.c.project_id == project_id, import_files.c.root == root)
    if missing:
        query = query.where(import_files.c.missing)
    found: list[ImportedFile] = []
    options = {"yield_per": _AT_ONCE}
    async with connection.stream(query.order_by(import_files.c.path), execution_options=options) as rows:
        async for part in rows.partitions():  # in parts, so that other tasks run in between
            found += map(_file, part)
    return found


async def lock_missing(
    connection: AsyncConnection, project_id: int, root: str, hashes: Sequence[bytes]
) -> list[ImportedFile]:
    """Return the files of a root that its folder lost and that had one of these contents, and lock them."""
    query = (
        sa.select(*_columns)
        .where(import_files.c.project_id == project_id, import_files.c.root == root, import_files.c.missing)
        .where(import_files.c.hash.in_(hashes))
        .order_by(import_files.c.path)
        .with_for_update()
    )
    return [_file(row) for row in await connection.execute(query)]


async def remove(connection: AsyncConnection, project_id: int, paths: Sequence[str]) -> None:
    """Remove the rows of files that have another path now."""
    query = "DELETE FROM import_files WHERE project_id = ? AND path IN (??)"
    await driver.run(connection, query, project_id, among=paths)


async def mark(connection: AsyncConnection, project_id: int, paths: Sequence[str], *, missing: bool) -> None:
    """Note that the folder of these files lost them, or that it has them again."""
    query = "UPDATE import_files SET missing = ? WHERE project_id = ? AND path IN (??)"
    await driver.run(connection, query, missing, project_id, among=paths)


def _file(row: Any) -> ImportedFile:
    content_hash = None if row.hash is None else bytes(row.hash)
    return ImportedFile(row.path, row.document_id, row.table_id, row.root, content_hash, row.missing)
