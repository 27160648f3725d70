"""Request bodies: their size limit, their shared memory, and the checks that several routes need."""

import asyncio
import re
import time
from typing import Annotated, Literal

from fastapi import Request
from pydantic import AfterValidator, BaseModel, ConfigDict
from starlette.types import Message

from findspot.errors import FindspotError, invalid
from findspot.jsontext.check import scalar_text
from findspot.names import checked
from findspot.runtime.memory import RETRY_AFTER_MS, Reservation

STALL_S = 30.0  # the longest wait for a piece of a body
MIN_RATE = 16 * 1024  # bytes per second of waiting that a body must bring after the first STALL_S

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


class StalledBody(FindspotError):
    """The rest of a body does not arrive. The connection must be closed, because it is in the middle of a request."""

    def __init__(self) -> None:
        message = f"The request body arrives too slowly, or stopped for {STALL_S:g} seconds. Nothing was changed."
        super().__init__("SERVER_BUSY", message, retryAfterMs=RETRY_AFTER_MS)


async def limited(request: Request, limit: int, memory: Reservation) -> Request:
    """Return the request with a body that is refused if it is too large or too slow. The shared memory pays for it."""
    too_large = FindspotError(
        "CONTENT_TOO_LARGE", f"The request is over the limit of {limit} bytes. Nothing was changed.", limit=limit
    )
    announced = request.headers.get("content-length", "0")
    if announced.isascii() and announced.isdigit():
        if int(announced) > limit:
            raise too_large
        await memory.announce(int(announced))
    receive, seen, waited, complete = request.receive, 0, 0.0, False

    async def counted() -> Message:
        nonlocal seen, waited, complete
        if complete:  # the next message is the client's disconnect, which may take any time
            return await receive()
        asked = time.monotonic()  # only waiting for the client counts, not the time between two calls
        try:
            async with asyncio.timeout(min(STALL_S, STALL_S + seen / MIN_RATE - waited)):
                message = await receive()
        except TimeoutError:
            raise StalledBody from None
        waited += time.monotonic() - asked
        complete = not message.get("more_body", False)
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
