"""Gives the body of a request again to whoever is next."""

from starlette.types import Message, Receive


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body again, then what comes after it."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
