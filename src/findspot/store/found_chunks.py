"""Reads what a search needs of the chunks that the engine found: their rows, dates, texts, and later changes."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from findspot.context import Context
from findspot.models import ChunkRow, FoundChunk
from findspot.store import driver
from findspot.store.reader import Reader
from findspot.store.schema import changes, chunks

_columns: tuple[sa.ColumnElement[Any], ...] = (
    chunks.c.id,
    chunks.c.table_id,
    chunks.c.document_id,
    chunks.c.json_pointer,
    chunks.c.chunk_index,
    chunks.c.total_chunks,
    chunks.c.chunk_size,
    chunks.c.chunk_overlap,
    chunks.c.char_start,
    chunks.c.char_end,
    chunks.c.content_hash,
    chunks.c.turbopuffer_namespace,
    chunks.c.turbopuffer_doc_id,
    chunks.c.node_length,
    chunks.c.context,
    chunks.c.chunk_text,
)

COLUMNS = f"""\
{", ".join(f"chunks.{column.name}" for column in _columns)},
  COALESCE(tables.revision, documents.revision),
  COALESCE(chunks.last_revision, of_table.indexed_revision, of_document.indexed_revision, 0),
  documents.title, documents.type, import_files.path, documents.updated_at"""
WIDTH = len(_columns) + 6  # columns
SOURCES = """\
LEFT JOIN tables ON tables.id = chunks.table_id
LEFT JOIN documents ON documents.id = chunks.document_id
LEFT JOIN import_files ON import_files.document_id = chunks.document_id
LEFT JOIN index_states of_table ON of_table.table_id = chunks.table_id
LEFT JOIN index_states of_document ON of_document.document_id = chunks.document_id"""  # a join with OR would be slow
_FOUND = f"SELECT {COLUMNS} FROM chunks {SOURCES} WHERE chunks.id IN (??)"


def found(connection: sa.Connection, ids: Sequence[int]) -> dict[int, FoundChunk]:
    """Return chunks by id, each with the current state of its source. Deleted ones are left out."""
    return of_rows(driver.rows(connection, _FOUND, among=ids))


def of_rows(rows: Sequence[Sequence[Any]]) -> dict[int, FoundChunk]:
    """Return chunks by id, of rows with COLUMNS."""
    last, read = len(_columns) - 1, _Timestamps()
    answer: dict[int, FoundChunk] = {}
    for row in rows:
        context = Context.of_row(None if row[last - 1] is None else bytes(row[last - 1]).decode(), row[3])
        chunk = ChunkRow._make((*row[: last - 1], context, bytes(row[last]).decode()))
        answer[row[0]] = FoundChunk._make((chunk, *row[last + 1 : -1], read[row[-1]]))
    return answer


class _Timestamps(dict[Any, Any]):
    """Timestamps by their value in the database, which is text in SQLite.

    Each is parsed once, because many rows share them: 50 equal ones take 3 µs instead of 33.
    """

    def __missing__(self, stored: Any) -> Any:
        self[stored] = datetime.fromisoformat(stored).replace(tzinfo=UTC) if isinstance(stored, str) else stored
        return self[stored]


_CHANGED_AT = "SELECT id, updated_at FROM documents WHERE project_id = ? AND id IN (??)"


def changed_at(connection: sa.Connection, project_id: int, document_ids: Sequence[int]) -> dict[int, datetime]:
    """Return when documents of a project were last changed. Other documents are left out."""
    read = _Timestamps()
    return {row[0]: read[row[1]] for row in driver.rows(connection, _CHANGED_AT, project_id, among=document_ids)}


def texts(connection: sa.Connection, ids: Sequence[int]) -> dict[int, str]:
    """Return the texts of chunks by id."""
    found = driver.rows(connection, "SELECT id, chunk_text FROM chunks WHERE id IN (??)", among=ids)
    return {row[0]: bytes(row[1]).decode() for row in found}


async def changed_between(
    connection: Reader, table_id: int, after: int, before: int, limit: int
) -> list[tuple[int, str]]:
    """Return up to `limit` changes of a table between two revisions, without these two: revisions and pointers."""
    query = (
        sa.select(changes.c.revision, changes.c.json_pointer)
        .where(changes.c.table_id == table_id, changes.c.revision > after, changes.c.revision < before)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in await connection.execute(query)]
