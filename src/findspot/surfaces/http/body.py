"""Request bodies: their size limit, their shared memory, and the checks that several routes need."""

import re
from typing import Annotated, Literal

from fastapi import Request
from pydantic import AfterValidator, BaseModel, ConfigDict
from starlette.types import Message

from findspot.errors import FindspotError, invalid
from findspot.jsontext.check import scalar_text
from findspot.names import checked
from findspot.surfaces.http.body_memory import Reservation

_REVISION = re.compile(r'([0-9]{1,18})|(?:W/)?"([0-9]{1,18})"', re.ASCII)

Name = Annotated[str, AfterValidator(checked)]
Text = Annotated[str, AfterValidator(scalar_text)]


class Body(BaseModel):
    """A JSON body: exact types, no unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid")


class NewProject(Body):
    name: Name


class NewKey(Body):
    name: Name
    role: Literal["read", "write", "admin"]


async def limited(request: Request, limit: int, memory: Reservation) -> Request:
    """Return the request with a body that is refused past the limit, and that is paid for from the shared memory."""
    too_large = FindspotError(
        "CONTENT_TOO_LARGE", f"The request is over the limit of {limit} bytes. Nothing was changed.", limit=limit
    )
    announced = request.headers.get("content-length", "0")
    if announced.isascii() and announced.isdigit():
        if int(announced) > limit:
            raise too_large
        await memory.announce(int(announced))
    receive, seen = request.receive, 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise too_large
        memory.received(seen)
        return message

    return Request({**request.scope, "headers": _as_json(request)}, counted)


def _as_json(request: Request) -> list[tuple[bytes, bytes]]:
    """Return the headers with the content type JSON: clients such as `curl -d` send another one with their JSON."""
    others = [(name, value) for name, value in request.scope["headers"] if name != b"content-type"]
    return [*others, (b"content-type", b"application/json")]


async def pieces(request: Request) -> list[bytes]:
    """Return the body in the pieces in which it arrived."""
    return [piece async for piece in request.stream() if piece]


def expected_revision(request: Request) -> int | None:
    """Return the revision in If-Match; None if there is none, or '*'."""
    sent = request.headers.get("if-match", "*").strip()
    if sent == "*":
        return None
    found = _REVISION.fullmatch(sent)
    if found is None:
        raise invalid("If-Match", "must be a revision number, such as 3")
    return int(found[1] or found[2])
