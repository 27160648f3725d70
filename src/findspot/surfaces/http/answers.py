"""Answers that carry a JSON text as it is: only the frame around it is made here."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
from fastapi import Response
from fastapi.responses import StreamingResponse

_SLICE = 256 * 1024


def moment(value: datetime) -> str:
    return value.isoformat().replace("+00:00", "Z")


def anything(type_name: str) -> dict[str, Any]:
    """A request body that is described in the API reference but read by us, piece by piece."""
    return {"requestBody": {"required": True, "content": {type_name: {"schema": {}}}}}


def listed(name: str, members: list[dict[str, Any]]) -> Response:
    """A list that may be long."""
    return encoded({name: members})


def encoded(answer: dict[str, Any]) -> Response:
    """An answer with much in it, encoded in one native step."""
    return Response(msgspec.json.encode(answer), media_type="application/json")


def framed(head: dict[str, Any], members: Sequence[bytes | bytearray], revision: int | None = None) -> Response:
    """An object of the head's members and further ones that are JSON text already."""
    parts = [msgspec.json.encode(head)[:-1] + b",", *members, b"}"]
    headers = {"Content-Length": str(sum(map(len, parts)))}
    if revision is not None:
        headers["ETag"] = f'"{revision}"'
    return StreamingResponse(_slices(parts), media_type="application/json", headers=headers)


async def _slices(parts: Sequence[bytes | bytearray]) -> AsyncIterator[bytes]:
    """Hand out the parts in slices, so that a large answer never fills the connection's buffer at once."""
    for part in parts:
        view = memoryview(part)
        for start in range(0, len(view), _SLICE):
            yield bytes(view[start : start + _SLICE])
