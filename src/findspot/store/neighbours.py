"""Rows of the chunks next to others in the same document, without their texts."""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from findspot.store import driver

_COLUMNS = """\
SELECT id, document_id, chunk_index, total_chunks, char_start, char_end FROM chunks WHERE last_revision IS NULL"""


class Piece(NamedTuple):
    """A chunk of a document: its number among all chunks of the document, from 0, and its range."""

    id: int
    document_id: int
    number: int
    total: int
    start: int
    end: int


def by_id(connection: sa.Connection, ids: Sequence[int]) -> list[Piece]:
    """Return those of these chunks that belong to documents and are current."""
    found = driver.rows(connection, f"{_COLUMNS} AND document_id IS NOT NULL AND id IN (??)", among=ids)
    return [Piece(*row) for row in found]


def by_number(connection: sa.Connection, document_id: int, numbers: Sequence[int]) -> list[Piece]:
    """Return the chunks of a document with these numbers. It reads all chunk rows of the document."""
    query = f"{_COLUMNS} AND document_id = ? AND chunk_index IN (??)"
    found = driver.rows(connection, query, document_id, among=numbers)
    return [Piece(*row) for row in found]
