"""Access checks: who sends a request, and does the rule of its route admit them? Decided before the body is read.

A project, table, document or tool that the caller may not see answers like one that does not exist.
"""

import re
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from fastapi import Request

from findspot.app import App
from findspot.content.keys import hashed
from findspot.errors import FindspotError, invalid, not_found
from findspot.jsontext.mismatch import mismatch
from findspot.models import Caller, Role, Tool
from findspot.runtime import messages
from findspot.runtime.owner_token import PREFIX
from findspot.store.index_states import DocumentsInIndex
from findspot.store.owners import Owned, project_of
from findspot.surfaces.access import Access
from findspot.surfaces.http.origins import check_address, is_own_page
from findspot.surfaces.http.rules import Rule, Scope

_ID = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


async def authorise(app: App, request: Request, rule: Rule) -> Access:
    """Return the caller's access, or raise the error that says why the rule does not admit them."""
    assert rule.role is not None
    language = messages.language(request.headers.get("accept-language"))
    if rule.agents:
        check_address(request, app.settings)
        secret = _secret(request) or ""
        opened = await app.endpoints.opened_by(secret)
        if opened is not None and request.path_params["endpoint_id"] == str(opened[0].id):
            endpoint, tools = opened
            return Access(endpoint.caller, language, endpoint.id, tuple(tools), hashed(secret))
    found = await _found_with_key(app, request, rule)
    caller, tool = found.caller, found.tool
    for name, value in request.path_params.items():
        if not _ID.fullmatch(value):  # what cannot be an id does not exist
            raise not_found(name.removesuffix("_id"))
    if rule.scope is not Scope.INSTALLATION:
        project_id = found.project_id or await _project_of(app, request, rule.scope)
        if project_id is None or not caller.sees(project_id):
            raise not_found("project" if rule.scope is Scope.BODY else rule.scope.name.lower())
    if not caller.role.covers(rule.role):
        raise FindspotError("FORBIDDEN", f"This needs the role '{rule.role}'; the key has '{caller.role}'.")
    if not rule.agents:
        return Access(caller, language, tools=(tool,) if tool else (), index=found.index)
    endpoint_id = int(request.path_params["endpoint_id"])
    shown = tuple(await app.endpoints.tools_of(endpoint_id))
    return Access(caller, language, endpoint_id, shown, _credential(app, request))


@dataclass(frozen=True, slots=True)
class _Found:
    """What one look-up finds for a call of a tool or a search of documents, besides the caller."""

    caller: Caller
    project_id: int | None = None
    tool: Tool | None = None
    index: DocumentsInIndex | None = None


async def _found_with_key(app: App, request: Request, rule: Rule) -> _Found:
    """Return who sends this request, with what is looked up together with their key."""
    secret, named = _secret(request), request.path_params.get(f"{rule.scope.name.lower()}_id", "")
    if secret and _ID.fullmatch(named):
        if rule.scope is Scope.TOOL:
            caller, tool = await app.keys.identify_with_tool(secret, int(named))
            return _Found(_required(caller), tool.project_id if tool else None, tool)
        if rule.scope is Scope.PROJECT and rule.search:
            caller, index = await app.keys.identify_in_project(secret, int(named))
            return _Found(_required(caller), None if index is None else int(named), index=index)
    return _Found(await require_caller(app, request))


async def require_caller(app: App, request: Request) -> Caller:
    """Return who sends this request; UNAUTHORIZED if neither key nor cookie is valid."""
    return _required(await identify(app, request))


def _required(caller: Caller | None) -> Caller:
    if caller is None:
        raise FindspotError("UNAUTHORIZED", "A valid key is needed: 'Authorization: Bearer …' or 'X-API-Key'.")
    return caller


async def identify(app: App, request: Request) -> Caller | None:
    """Return who sends this request, by header or by the cookie that the sign-in link sets in a browser."""
    secret = _secret(request)
    if secret is not None:
        return await app.keys.identify(secret) if secret else None
    cookie = session_of(request)
    if not cookie or not is_own_page(request):
        return None
    return await app.sessions.identify(cookie) or (await _key_in(app, cookie))


async def _key_in(app: App, cookie: str) -> Caller | None:
    """Return the holder of the project's key in a cookie. The owner's token is not accepted there: it has sessions."""
    caller = await app.keys.identify(cookie) if cookie.startswith(PREFIX) and cookie.isascii() else None
    return None if caller is None or caller.role is Role.OWNER else caller


def _secret(request: Request) -> str | None:
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    return bearer.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key")


def _credential(app: App, request: Request) -> str:
    """Return the hash of the key or session that this request was admitted by."""
    secret = _secret(request)
    if secret is not None:
        return hashed(secret)
    cookie = session_of(request) or ""
    return hashed(cookie) if cookie.startswith(PREFIX) else app.sessions.hashed(cookie)


def session_of(request: Request) -> str | None:
    """Return the id of the browser session in the cookie, valid or not."""
    return request.cookies.get(cookie_name(request))


def cookie_name(request: Request) -> str:
    """Return the cookie's name. It has the port in it, since browsers share cookies between the ports of a machine."""
    try:
        port = urlsplit(f"//{request.headers.get('host', '')}").port
    except ValueError:
        port = None
    return f"findspot-{port or 80}"


async def _project_of(app: App, request: Request, scope: Scope) -> int | None:
    """Return the project that a request is about; None if there is none."""
    if scope is Scope.BODY:
        target = _project_in(await request.body())
    else:
        target = int(request.path_params[f"{scope.name.lower()}_id"])
    owned = Owned.PROJECT if scope is Scope.BODY else Owned[scope.name]
    return await app.store.remembered.get((owned, target), lambda: _looked_up(app, owned, target))


async def _looked_up(app: App, owned: Owned, id: int) -> int | None:
    async with app.store.lookup(one=True) as connection:
        return await connection.run_sync(project_of, owned, id)


class _ProjectInBody(msgspec.Struct):
    project_id: Annotated[int, msgspec.Meta(ge=1, lt=10**18)]


def _project_in(body: bytes) -> int:
    try:
        return msgspec.json.decode(body, type=_ProjectInBody).project_id
    except msgspec.ValidationError as error:
        raise mismatch(error, _ProjectInBody) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid("project_id", f"the body must name the project: {error}") from None
