"""Who may call what: one table of rules, checked in one place, before a byte of the body is read.

A route without a rule cannot be added. What a caller may not see answers exactly like what does not exist.
"""

import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum, auto
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute

from findspot.app import App
from findspot.errors import FindspotError, invalid, not_found
from findspot.models import Caller, Document, Endpoint, Role, Table, Tool
from findspot.store import documents as document_rows
from findspot.store import endpoints as endpoint_rows
from findspot.store import projects as project_rows
from findspot.store import tables as table_rows
from findspot.store import tools as tool_rows
from findspot.surfaces.http.body import limited
from findspot.surfaces.http.pages import check_address

_ID = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
_SMALL = 1024 * 1024


class Scope(Enum):
    """What a route is about, and so which project the caller must belong to."""

    INSTALLATION = auto()  # nothing of one project
    PROJECT = auto()  # the project in the path
    TABLE = auto()  # the project that owns the table in the path
    DOCUMENT = auto()  # the project that owns the document in the path
    TOOL = auto()  # the project that owns the tool in the path
    ENDPOINT = auto()  # the project that owns the endpoint in the path
    BODY = auto()  # the project that the body names as `project_id`


@dataclass(frozen=True, slots=True)
class Rule:
    """The least role a route takes (None: open to all), what it is about, whether its body may be large, and whether it
    is for agents: they come with the key of the endpoint, and not from the page of another site."""

    role: Role | None
    scope: Scope = Scope.INSTALLATION
    large: bool = False
    agents: bool = False


OPEN = Rule(None)
READ, WRITE, ADMIN, OWNER = Role.READ, Role.WRITE, Role.ADMIN, Role.OWNER

RULES = {
    "GET /": OPEN,
    "GET /healthz": OPEN,
    "GET /readyz": OPEN,
    "GET /metrics": Rule(ADMIN),
    "GET /openapi.json": Rule(READ),
    "GET /internal/backup": Rule(OWNER),
    "GET /api/v1/projects": Rule(READ),
    "POST /api/v1/projects": Rule(OWNER),
    "GET /api/v1/projects/{project_id}": Rule(READ, Scope.PROJECT),
    "DELETE /api/v1/projects/{project_id}": Rule(ADMIN, Scope.PROJECT),
    "GET /api/v1/projects/{project_id}/status": Rule(READ, Scope.PROJECT),
    "GET /api/v1/projects/{project_id}/keys": Rule(ADMIN, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/keys": Rule(ADMIN, Scope.PROJECT),
    "DELETE /api/v1/projects/{project_id}/keys/{key_id}": Rule(ADMIN, Scope.PROJECT),
    "GET /api/v1/projects/{project_id}/tables": Rule(READ, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/tables": Rule(WRITE, Scope.PROJECT, large=True),
    "GET /api/v1/tables/{table_id}": Rule(READ, Scope.TABLE),
    "DELETE /api/v1/tables/{table_id}": Rule(WRITE, Scope.TABLE),
    "PUT /api/v1/tables/{table_id}/data": Rule(WRITE, Scope.TABLE, large=True),
    "PATCH /api/v1/tables/{table_id}/data": Rule(WRITE, Scope.TABLE, large=True),
    "GET /api/v1/projects/{project_id}/documents": Rule(READ, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/documents": Rule(WRITE, Scope.PROJECT, large=True),
    "POST /api/v1/projects/{project_id}/import": Rule(WRITE, Scope.PROJECT, large=True),
    "GET /api/v1/projects/{project_id}/export": Rule(READ, Scope.PROJECT),
    "GET /api/v1/documents/{document_id}": Rule(READ, Scope.DOCUMENT),
    "PUT /api/v1/documents/{document_id}": Rule(WRITE, Scope.DOCUMENT, large=True),
    "DELETE /api/v1/documents/{document_id}": Rule(WRITE, Scope.DOCUMENT),
    "GET /api/v1/documents/{document_id}/versions": Rule(READ, Scope.DOCUMENT),
    "GET /api/v1/documents/{document_id}/versions/{version_id}": Rule(READ, Scope.DOCUMENT),
    "GET /api/v1/documents/{document_id}/versions/{version_id}/diff": Rule(READ, Scope.DOCUMENT),
    "POST /api/v1/documents/{document_id}/versions/{version_id}/restore": Rule(WRITE, Scope.DOCUMENT),
    "POST /api/v1/tools/search": Rule(WRITE, Scope.BODY),
    "POST /api/v1/tools": Rule(WRITE, Scope.BODY),
    "GET /api/v1/projects/{project_id}/tools": Rule(READ, Scope.PROJECT),
    "GET /api/v1/tools/{tool_id}": Rule(READ, Scope.TOOL),
    "PATCH /api/v1/tools/{tool_id}": Rule(WRITE, Scope.TOOL),
    "DELETE /api/v1/tools/{tool_id}": Rule(WRITE, Scope.TOOL),
    "GET /api/v1/tools/{tool_id}/search-index": Rule(READ, Scope.TOOL),
    "POST /api/v1/tools/{tool_id}/call": Rule(READ, Scope.TOOL, large=True),  # the tool itself asks for more
    "GET /internal/tools/{tool_id}/chunks/stats": Rule(ADMIN, Scope.TOOL),
    "POST /internal/tools/{tool_id}/chunks/rebuild": Rule(ADMIN, Scope.TOOL),
    "DELETE /internal/tools/{tool_id}/chunks": Rule(ADMIN, Scope.TOOL),
    "POST /api/v1/mcp": Rule(WRITE, Scope.BODY),
    "GET /api/v1/projects/{project_id}/mcp": Rule(READ, Scope.PROJECT),
    "GET /api/v1/mcp/{endpoint_id}": Rule(READ, Scope.ENDPOINT),
    "DELETE /api/v1/mcp/{endpoint_id}": Rule(WRITE, Scope.ENDPOINT),
    "POST /api/v1/mcp/{endpoint_id}/rotate-key": Rule(WRITE, Scope.ENDPOINT),
    "PUT /api/v1/mcp/{endpoint_id}/tools/{tool_id}": Rule(WRITE, Scope.ENDPOINT),
    "PATCH /api/v1/mcp/{endpoint_id}/tools/{tool_id}": Rule(WRITE, Scope.ENDPOINT),
    "DELETE /api/v1/mcp/{endpoint_id}/tools/{tool_id}": Rule(WRITE, Scope.ENDPOINT),
    "POST /api/v1/projects/{project_id}/search/fts/query": Rule(READ, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/search/query/strategy": Rule(READ, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/search/rank/explain": Rule(READ, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/search/fts/reindex": Rule(WRITE, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/embedding/search": Rule(READ, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/embedding/generate": Rule(READ, Scope.PROJECT),
    "POST /api/v1/projects/{project_id}/embedding/reindex": Rule(WRITE, Scope.PROJECT),
    "POST /mcp/{endpoint_id}": Rule(READ, Scope.ENDPOINT, large=True, agents=True),  # a tool itself asks for more
}


_OWNED: dict[Scope, Callable[..., Coroutine[Any, Any, Table | Document | Tool | Endpoint | None]]] = {
    Scope.TABLE: table_rows.get,
    Scope.DOCUMENT: document_rows.get,
    Scope.TOOL: tool_rows.get,
    Scope.ENDPOINT: endpoint_rows.get,
}


class GuardedRoute(APIRoute):
    """A route that asks its rule first. Adding one without a rule fails at start."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        method = "".join(self.methods or ())
        rule = RULES[f"{method} {self.path}"]

        async def guarded(request: Request) -> Response:
            app: App = request.app.state.app
            limit = app.settings.max_body if rule.large else min(_SMALL, app.settings.max_body)
            if rule.scope is not Scope.BODY:
                request.state.caller = await _authorise(app, request, rule)
                return await handle(limited(request, limit))
            await _identified(app, request)  # whoever is unknown is told before a byte is read
            bounded = limited(request, limit)
            bounded.state.caller = await _authorise(app, bounded, rule)
            return await handle(bounded)

        return guarded


async def _identified(app: App, request: Request) -> Caller:
    caller = await identify(app, request)
    if caller is None:
        raise FindspotError("UNAUTHORIZED", "A valid key is needed: 'Authorization: Bearer …' or 'X-API-Key'.")
    return caller


async def _authorise(app: App, request: Request, rule: Rule) -> Caller | None:
    """The caller, if the rule lets it pass; otherwise the error that says why not."""
    if rule.role is None:
        return None
    if rule.agents:
        check_address(request, app.settings)
        opened = await app.endpoints.opened_by(_secret(request) or "")
        if opened is not None and request.path_params["endpoint_id"] == str(opened[0].id):
            request.state.tools = opened[1]
            return opened[0].caller
    caller = await _identified(app, request)
    for name, value in request.path_params.items():
        if not _ID.fullmatch(value):  # what cannot be an id is not there
            raise not_found(name.removesuffix("_id"))
    if rule.scope is not Scope.INSTALLATION:
        project_id = await _project_of(app, request, rule.scope)
        if project_id is None or not caller.sees(project_id):
            raise not_found("project" if rule.scope is Scope.BODY else rule.scope.name.lower())
    if not caller.role.covers(rule.role):
        raise FindspotError("FORBIDDEN", f"This needs the role '{rule.role}'; the key has '{caller.role}'.")
    return caller


async def identify(app: App, request: Request) -> Caller | None:
    """Who sends this request: by header, or by the cookie that the sign-in link leaves in a browser."""
    secret = _secret(request)
    if secret is not None:
        return await app.keys.identify(secret) if secret else None
    browser_pass = request.cookies.get(cookie_name(request))
    return app.keys.admits(browser_pass) if browser_pass and _own_page(request) else None


def _secret(request: Request) -> str | None:
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    return bearer.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key")


def cookie_name(request: Request) -> str:
    """Cookies do not know ports: each server on a machine needs a name of its own."""
    return f"findspot-{request.url.port or 80}"


def _own_page(request: Request) -> bool:
    """A browser sends its cookie along for other pages of this machine too; only our own may change things."""
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


async def _project_of(app: App, request: Request, scope: Scope) -> int | None:
    """The project a request is about; None if there is none."""
    if scope is Scope.BODY:
        target = _named_project(await request.body())
    else:
        target = int(request.path_params[f"{scope.name.lower()}_id"])
    async with app.store.lookup() as connection:
        if scope in _OWNED:
            owned = await _OWNED[scope](connection, target)
            return owned.project_id if owned else None
        project = await project_rows.get(connection, target)
        return project.id if project else None


class _Named(msgspec.Struct):
    project_id: Annotated[int, msgspec.Meta(ge=1, lt=10**18)]


def _named_project(body: bytes) -> int:
    try:
        return msgspec.json.decode(body, type=_Named).project_id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid("project_id", f"the body must name the project: {error}") from None
