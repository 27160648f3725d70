"""Reads the dates of candidates, and the rows of the best of them or of any hits, in one statement. PostgreSQL only.

The date of a document counts for the score of its chunks, so the database has to choose the best. With SQLite, where a
statement takes microseconds instead of a round trip, dates are read first and rows later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from findspot.models import FoundChunk
from findspot.store import found_chunks
from findspot.store.document_lines import Piece

_CHUNK, _DATE, _LINES = range(3)  # what a row is about
_OWN = 5  # columns before those of a chunk
_NO_CHUNK = ", ".join(["NULL"] * found_chunks.WIDTH)

_CHUNKS = f"""\
SELECT {_CHUNK}, best.id, NULL::integer, NULL::timestamptz, NULL::bytea, {found_chunks.COLUMNS}
FROM best LEFT JOIN chunks ON chunks.id = best.id
{found_chunks.SOURCES}"""
_PIECES = f"""\
SELECT {_LINES}, wanted.document_id, wanted.number, NULL, piece.lines, {_NO_CHUNK}
FROM (
  SELECT DISTINCT document_id, generate_series(char_start / %s::integer, (char_end - 1) / %s::integer) AS number
  FROM best JOIN chunks USING (id) JOIN import_files USING (document_id)
) AS wanted CROSS JOIN LATERAL (
  SELECT lines FROM document_lines WHERE document_id = wanted.document_id AND number = wanted.number OFFSET 0
) AS piece"""  # OFFSET 0: one lookup for each piece, because the planner expects a thousand times as many
_ROWS = f"WITH best (id) AS MATERIALIZED (SELECT unnest(%s::bigint[])) {_CHUNKS} UNION ALL {_PIECES}"
_BEST = f"""\
WITH candidates (id, document_id, score) AS (SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::float8[])),
dated AS MATERIALIZED (
  SELECT candidates.*, documents.updated_at,
    GREATEST(extract(epoch FROM %s::timestamptz - documents.updated_at)::float8, 0) AS age_s
  FROM candidates JOIN documents ON documents.id = candidates.document_id
  WHERE documents.project_id = %s
),
best AS MATERIALIZED (
  SELECT id FROM dated
  ORDER BY score + %s::float8 * power(0.5::float8, age_s / %s::float8) DESC, updated_at DESC, document_id, id
  LIMIT %s
)
{_CHUNKS}
UNION ALL
SELECT {_DATE}, document_id, NULL, updated_at, NULL, {_NO_CHUNK}
FROM (SELECT DISTINCT document_id, updated_at FROM dated) AS dates
UNION ALL
{_PIECES}"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may be a hit, and its score without the share of its date."""

    id: int
    document_id: int
    score: float


@dataclass(frozen=True, slots=True)
class ByDate:
    """How much a date adds to a score: `weight`, halved for each `half_life_s` before `now`."""

    now: datetime
    weight: float
    half_life_s: float


@dataclass(frozen=True, slots=True)
class BestHits:
    """When the documents of candidates were changed, which candidates were chosen, and what was read of these."""

    changed_at: dict[int, datetime]
    chosen: list[int]
    found: dict[int, FoundChunk]
    lines: dict[Piece, bytes]


def read(
    connection: sa.Connection, project_id: int, candidates: Sequence[Candidate], by_date: ByDate, limit: int, piece: int
) -> BestHits:
    """Return the `limit` best candidates in a project. Pieces of line indexes have `piece` characters."""
    columns = [[each.id for each in candidates], [each.document_id for each in candidates]]
    scores = [each.score for each in candidates]
    values = (*columns, scores, by_date.now, project_id, by_date.weight, by_date.half_life_s, limit, piece, piece)
    rows = connection.exec_driver_sql(_BEST, values).fetchall()
    changed_at = {row[1]: row[3] for row in rows if row[0] == _DATE}
    return BestHits(changed_at, [row[1] for row in rows if row[0] == _CHUNK], *_chunks_and_lines(rows))


def read_rows(
    connection: sa.Connection, ids: Sequence[int], piece: int
) -> tuple[dict[int, FoundChunk], dict[Piece, bytes]]:
    """Return chunks by id, without deleted ones, and the pieces of line indexes that cover them."""
    return _chunks_and_lines(connection.exec_driver_sql(_ROWS, (list(ids), piece, piece)).fetchall())


def _chunks_and_lines(rows: Sequence[Sequence[Any]]) -> tuple[dict[int, FoundChunk], dict[Piece, bytes]]:
    found = found_chunks.of_rows([row[_OWN:] for row in rows if row[0] == _CHUNK and row[_OWN] is not None])
    return found, {(row[1], row[2]): bytes(row[4]) for row in rows if row[0] == _LINES}
