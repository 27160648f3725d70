"""Batches → columns of rows, in parts that are small enough for one write."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from findspot.engines.protocol import Batch
from findspot.engines.turbopuffer import schema
from findspot.engines.turbopuffer.schema import token

MAX_BYTES = 8_000_000  # of one write, about: the service takes 32 MB a second into a namespace
_ROW = 300  # bytes of a row beside its terms and its vector, about

# Refuse a row that is older than the one it would replace: an attempt whose answer was lost may arrive late.
IS_NEWER = [
    "Or",
    [
        ["fence", "Lt", {"$ref_new": "fence"}],
        ["And", [["fence", "Eq", {"$ref_new": "fence"}], ["revision", "Lte", {"$ref_new": "revision"}]]],
    ],
]


class Revisions:
    """Numbers writes in their order. They are times, so that those of the next process are higher."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> int:
        with self._lock:
            self._last = max(self._last + 1, time.time_ns() // 1000)
            return self._last


def not_newer(fence: int, revision: int) -> list[Any]:
    """Return the filter for rows of this write or an earlier one."""
    return ["Or", [["fence", "Lt", fence], ["And", [["fence", "Eq", fence], ["revision", "Lte", revision]]]]]


def parts(batch: Batch, most: int, skipped: frozenset[int] = frozenset()) -> Iterator[Sequence[int]]:
    """Yield the positions of the chunks of a batch, in parts. If a chunk occurs twice, the last one counts."""
    last = {id: position for position, id in enumerate(batch.ids)}
    part: list[int] = []
    size, vector = 0, 6 * batch.vectors.shape[1]
    for id, position in last.items():
        if id in skipped:
            continue
        context = batch.context(position)
        row = _ROW + vector + 2 * (len(batch.terms[position]) + sum(map(len, context)))
        if part and (len(part) == most or size + row > MAX_BYTES):
            yield part
            part, size = [], 0
        part.append(position)
        size += row
    if part:
        yield part


def columns(batch: Batch, positions: Sequence[int], revision: int, *, dimension: int, vectors: bool) -> dict[str, Any]:
    """Return the columns of some rows; without `vectors`, none of them has one."""
    sources = [batch.sources[position] for position in positions]
    contexts = [batch.context(position) for position in positions]
    encoded = [_vector(batch.vectors[position]) if vectors else None for position in positions]
    return {
        "id": [batch.doc_ids[position] for position in positions],
        schema.VECTOR: [each or _placeholder(dimension) for each in encoded],
        "chunk_id": [int(batch.ids[position]) for position in positions],
        "document_id": [source.document_id for source in sources],
        "pointer": [source.pointer for source in sources],
        "cut": [schema.cut(source.chunk_size, source.chunk_overlap) for source in sources],
        "length": [source.length for source in sources],
        "embedded": [each is not None for each in encoded],
        "fence": [batch.fence] * len(positions),
        "revision": [revision] * len(positions),
        schema.TERMS: [_tokens(batch.terms[position]) for position in positions],
        schema.TITLE: [_tokens(context.title) for context in contexts],
        schema.HEADINGS: [_tokens(context.headings) for context in contexts],
        schema.NAME: [_tokens(context.name) for context in contexts],
    }


def _tokens(terms: str) -> list[str]:
    return [token(term) for term in terms.split()]


def _vector(vector: Any) -> str | None:
    """Encode a vector; None if it is all zeros."""
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode() if vector.any() else None


def _placeholder(dimension: int) -> str:
    """Return a vector for a row without one: the service requires it of every row, and zeros have no cosine."""
    unit = np.zeros(dimension, "<f4")
    unit[0] = 1
    return base64.b64encode(unit.tobytes()).decode()
