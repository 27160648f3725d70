"""Who may call what: one table of rules, checked in one place, before a byte of the body is read.

A route without a rule cannot be added. What a caller may not see answers exactly like what does not exist.
"""

import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.routing import APIRoute

from findspot.app import App
from findspot.errors import FindspotError, not_found
from findspot.models import Caller, Role
from findspot.store import documents as document_rows
from findspot.store import endpoints as endpoint_rows
from findspot.store import projects as project_rows
from findspot.store import tables as table_rows
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
    ENDPOINT = auto()  # the project that owns the endpoint in the path


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
    "POST /mcp/{endpoint_id}": Rule(READ, Scope.ENDPOINT, large=True, agents=True),
}


class GuardedRoute(APIRoute):
    """A route that asks its rule first. Adding one without a rule fails at start."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        method = "".join(self.methods or ())
        rule = RULES[f"{method} {self.path}"]

        async def guarded(request: Request) -> Response:
            app: App = request.app.state.app
            request.state.caller = await _authorise(app, request, rule)
            limit = app.settings.max_body if rule.large else min(_SMALL, app.settings.max_body)
            return await handle(limited(request, limit))

        return guarded


async def _authorise(app: App, request: Request, rule: Rule) -> Caller | None:
    """The caller, if the rule lets it pass; otherwise the error that says why not."""
    if rule.role is None:
        return None
    if rule.agents:
        check_address(request, app.settings)
        endpoint = await app.endpoints.by_key(_secret(request) or "")
        if endpoint is not None and request.path_params["endpoint_id"] == str(endpoint.id):
            return endpoint.caller
    caller = await identify(app, request)
    if caller is None:
        raise FindspotError("UNAUTHORIZED", "A valid key is needed: 'Authorization: Bearer …' or 'X-API-Key'.")
    for name, value in request.path_params.items():
        if not _ID.fullmatch(value):  # what cannot be an id is not there
            raise not_found(name.removesuffix("_id"))
    if rule.scope is not Scope.INSTALLATION:
        project_id = await _project_of(app, request, rule.scope)
        if project_id is None or not caller.sees(project_id):
            raise not_found(rule.scope.name.lower())
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
    target = int(request.path_params[f"{scope.name.lower()}_id"])
    async with app.store.read() as connection:
        if scope is Scope.TABLE:
            table = await table_rows.get(connection, target)
            return table.project_id if table else None
        if scope is Scope.DOCUMENT:
            document = await document_rows.get(connection, target)
            return document.project_id if document else None
        if scope is Scope.ENDPOINT:
            endpoint = await endpoint_rows.get(connection, target)
            return endpoint.project_id if endpoint else None
        project = await project_rows.get(connection, target)
        return project.id if project else None
