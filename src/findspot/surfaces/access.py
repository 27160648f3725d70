"""The result of the access check of a request, handed from the guard to routes and to the MCP server."""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from findspot.models import Caller, Tool
from findspot.runtime.messages import Language
from findspot.store.index_states import DocumentsInIndex

_KEY = "findspot.access"


@dataclass(frozen=True, slots=True)
class Access:
    """Who calls, in which language, and which tools can be called: those of an MCP endpoint, or the one in the path.

    `credential` is the hash of the key or session that opened the endpoint: a stream ends when it is revoked.
    """

    caller: Caller
    language: Language
    endpoint_id: int = 0
    tools: tuple[Tool, ...] = ()
    credential: str = ""
    index: DocumentsInIndex | None = None  # of the project in the path, if it was looked up for a search


def grant(scope: MutableMapping[str, Any], access: Access) -> None:
    """Attach the result of the access check to an ASGI scope."""
    scope[_KEY] = access


def access_of(scope: MutableMapping[str, Any]) -> Access:
    """Return the result of the access check. Routes that are open to everyone have none."""
    access: Access = scope[_KEY]
    return access
