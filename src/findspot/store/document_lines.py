"""Rows of line indexes: pieces that map the text of a document to lines of its source."""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from findspot.store import driver
from findspot.store.schema import document_lines

Piece: TypeAlias = tuple[int, int]  # document and number of the piece

# A join, because SQLite would read the whole table for `(document_id, number) IN (…)`.
_PIECES = """\
WITH wanted (document_id, number) AS (VALUES (??))
SELECT found.document_id, found.number, found.lines
FROM wanted JOIN document_lines found ON found.document_id = wanted.document_id AND found.number = wanted.number"""


async def replace(connection: AsyncConnection, indexes: Mapping[int, Sequence[bytes]]) -> None:
    """Write the line indexes of documents in place of their earlier ones."""
    await driver.run(connection, "DELETE FROM document_lines WHERE document_id IN (??)", among=list(indexes))
    rows = [(id, number, piece) for id, pieces in indexes.items() for number, piece in enumerate(pieces)]
    await driver.insert(connection, document_lines, ("document_id", "number", "lines"), rows)


def read(connection: sa.Connection, wanted: Collection[Piece]) -> dict[Piece, bytes]:
    """Return pieces of line indexes. Those that do not exist are left out."""
    return {(row[0], row[1]): bytes(row[2]) for row in driver.rows(connection, _PIECES, among=list(wanted))}
