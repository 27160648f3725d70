"""Nesting that MCP cannot carry, answered as a tool error that says what to do instead.

The SDK writes answers of up to 255 levels, and reads requests of older protocol revisions up to 200 levels. Beyond that
it fails with an internal error or a parse error. Tables may be nested 500 levels deep.
"""

import msgspec
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from findspot.errors import FindspotError
from findspot.jsontext.check import depth
from findspot.surfaces.mcp import answers
from findspot.surfaces.mcp.replay import replay

MAX_ANSWER = 250
MAX_OLDER_REQUEST = 200


def require_shallow(answer: bytes) -> None:
    """Raise an error that an agent can act on if the answer of a tool is nested too deep for MCP."""
    if _deeper(answer, MAX_ANSWER):
        message = f"The answer is nested more than {MAX_ANSWER} levels deep, which MCP cannot carry."
        raise FindspotError("CONTENT_TOO_LARGE", f"{message} Read a deeper part of it, for example with a query.")


class DepthLimit:
    """ASGI middleware that refuses calls in older protocol revisions whose arguments are nested too deep."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.headers.get("mcp-protocol-version", HANDSHAKE_PROTOCOL_VERSIONS[0]) in HANDSHAKE_PROTOCOL_VERSIONS:
            body = await request.body()
            if _deeper(body, MAX_OLDER_REQUEST) and (call := _tool_call(body)) is not None:
                await _refusal(call)(scope, receive, send)
                return
            receive = replay(body, receive)
        await self._inner(scope, receive, send)


class _ToolCall(msgspec.Struct):
    id: int | str
    method: str


def _tool_call(body: bytes) -> _ToolCall | None:
    try:
        call = msgspec.json.decode(body, type=_ToolCall)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # the SDK answers what is wrong
    return call if call.method == "tools/call" else None


def _refusal(call: _ToolCall) -> Response:
    message = f"The call is nested more than {MAX_OLDER_REQUEST} levels deep, which MCP cannot carry."
    error = FindspotError("CONTENT_TOO_LARGE", f"{message} Send the value in parts. Nothing was changed.")
    body = {"jsonrpc": "2.0", "id": call.id, "result": answers.refused(error)}
    return Response(msgspec.json.encode(body), media_type="application/json")


def _deeper(text: bytes, limit: int) -> bool:
    """Return whether a JSON text is nested deeper than the limit. Counting brackets rules most texts out quickly."""
    return text.count(b"[") + text.count(b"{") > limit and depth(text) > limit
