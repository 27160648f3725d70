"""Rows of the service → what was recalled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from turbopuffer.types import Row

from findspot.engines.protocol import Recall


class Scored(NamedTuple):
    """A chunk with the scores of both legs. A chunk that matches no word scores 0, and one without a vector None."""

    id: int
    document_id: int | None
    keyword: float
    cosine: float | None
    is_full: bool


def read(rows: Iterable[Row] | None, *, checked: bool) -> list[Scored]:
    """Read rows. With `checked`, all of them match the keywords; otherwise each says whether it does."""
    return [_read(row.model_extra or {}, checked=checked) for row in rows or ()]


def recalled(
    keyword: Sequence[Scored], vector: Sequence[Scored], also: Sequence[Scored], limit: int, matches: int | None
) -> Recall:
    """Return what both legs recalled: the best `limit` by keyword and by vector, of those that the queries found."""
    found = {each.id: each for each in keyword if each.keyword > 0}
    order = sorted(found.values(), key=lambda each: (not each.is_full, -each.keyword, each.id))[:limit]
    by_keyword = {each.id: each.keyword for each in order}
    near = sorted((each for each in vector if each.cosine is not None), key=lambda each: (-(each.cosine or 0), each.id))
    del near[limit:]
    by_vector = {each.id: each.cosine for each in near if each.cosine is not None}
    legs = {each.id: each for each in (*order, *near)}
    full = {each.id for each in legs.values() if each.is_full}
    return Recall(
        by_keyword,
        by_vector,
        {each.id: each.keyword for each in (*near, *also) if each.keyword > 0 and each.id not in by_keyword},
        {each.id: each.cosine for each in (*order, *also) if each.cosine is not None and each.id not in by_vector},
        full,
        0 < limit <= sum(each.is_full for each in order),
        {each.id: each.document_id for each in legs.values() if each.document_id is not None},
        matches=matches,
    )


def _read(row: Mapping[str, Any], *, checked: bool) -> Scored:
    matches = checked or bool(row.get("is_match"))
    keyword = float(row.get("score", 0.0)) if matches else 0.0
    if matches and row.get("is_named"):
        keyword += float(row.get("name_score", 0.0))
    cosine = 1.0 - float(row["distance"]) if row.get("embedded") and "distance" in row else None
    document_id = row.get("document_id")
    return Scored(
        int(row["chunk_id"]),
        None if document_id is None else int(document_id),
        keyword,
        cosine,
        matches and bool(row.get("is_full")),
    )
