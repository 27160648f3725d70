"""Encodes answers. Values that are JSON text already, such as table data, pass through as they are."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, cast

import msgspec
from fastapi import Response
from fastapi.responses import StreamingResponse

from findspot.store.dependents import Dependents
from findspot.surfaces.http.models.projects import Dependents as DependentCounts

_SLICE = 256 * 1024


def timestamp(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")


def encoded_dependents(found: Dependents) -> DependentCounts:
    return cast(DependentCounts, asdict(found))


def encoded(answer: Mapping[str, Any], status: int = 200) -> Response:
    """Encode an answer in one native step."""
    return Response(msgspec.json.encode(answer), status, media_type="application/json")


def framed(head: Mapping[str, Any], members: Sequence[bytes | bytearray], revision: int | None = None) -> Response:
    """Encode an object from the head's members and further ones that are JSON text already."""
    parts = [msgspec.json.encode(head)[:-1] + b",", *members, b"}"]
    headers = {"Content-Length": str(sum(map(len, parts)))}
    if revision is not None:
        headers["ETag"] = f'"{revision}"'
    return StreamingResponse(_slices(parts), media_type="application/json", headers=headers)


async def _slices(parts: Sequence[bytes | bytearray]) -> AsyncIterator[bytes]:
    """Yield the parts in slices, so that a large answer never fills the connection's buffer at once."""
    for part in parts:
        view = memoryview(part)
        for start in range(0, len(view), _SLICE):
            yield bytes(view[start : start + _SLICE])
