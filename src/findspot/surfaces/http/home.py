"""The web client's pages and files, and signing in and out."""

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from findspot import __version__
from findspot.content.sessions import LIFETIME
from findspot.errors import FindspotError
from findspot.models import Caller, Role
from findspot.surfaces.http.body import Body, Text
from findspot.surfaces.http.guard import cookie_name, session_of
from findspot.surfaces.http.models.home import SignedIn
from findspot.surfaces.http.origins import is_own_page
from findspot.surfaces.http.router import Router, access_of, app_of
from findspot.surfaces.web import client

api = Router("home")


class SignIn(Body):
    """A project's key, or the owner's token."""

    key: Text


@api.get("/", hidden=True)
async def home(request: Request, token: str | None = None) -> Response:
    """Sign a browser in by `?token=` (redirecting at once, so that no history keeps it), or show the client."""
    if token is None:
        return client.page()
    answer = RedirectResponse("/", 303, headers={"Cache-Control": "no-store"})
    return answer if await _signed_in(request, answer, token) else client.page(401)


@api.get("/projects/{page:path}", hidden=True)
async def client_page(request: Request, page: str) -> Response:
    """Show the client, which reads the address itself."""
    return client.page()


@api.get("/assets/{name}", hidden=True)
async def client_file(request: Request, name: str) -> Response:
    """Return a file of the client."""
    return client.asset(name)


@api.post("/api/v1/sign-in", status=204, errors=("UNAUTHORIZED", "FORBIDDEN"))
async def sign_in(request: Request, body: SignIn) -> Response:
    """Sign this browser in with a project's key or the owner's token, by a cookie."""
    if not is_own_page(request):
        raise FindspotError("FORBIDDEN", "Pages of other sites may not sign a browser in.")
    answer = Response(status_code=204, headers={"Cache-Control": "no-store"})
    if not await _signed_in(request, answer, body.key):
        raise FindspotError("UNAUTHORIZED", "This key is not valid.")
    return answer


@api.get("/api/v1/caller")
async def get_caller(request: Request) -> SignedIn:
    """Show whose key this is: its role and, unless it is the owner's, its project."""
    caller = access_of(request.scope).caller
    return {"role": caller.role, "name": caller.name, "projectId": caller.project_id, "version": __version__}


@api.post("/api/v1/sign-out", status=204, errors=("FORBIDDEN",))
async def sign_out(request: Request, everywhere: bool = False) -> Response:
    """End the session of this browser; with `everywhere` the owner ends those of all browsers."""
    sessions, session_id = app_of(request).sessions, session_of(request)
    if everywhere:
        if access_of(request.scope).caller.role is not Role.OWNER:
            raise FindspotError("FORBIDDEN", "Only the owner ends the sessions of all browsers.")
        await sessions.end_all()
    elif session_id:
        await sessions.end(session_id)
    answer = Response(status_code=204)
    answer.delete_cookie(cookie_name(request), httponly=True, samesite="strict")
    return answer


async def _signed_in(request: Request, answer: Response, secret: str) -> Caller | None:
    """Set the cookie that signs a browser in. The owner gets a session; a project's key is the cookie itself, so
    that revoking the key signs the browser out."""
    app = app_of(request)
    caller = await app.keys.identify(secret)
    if caller is None:
        return None
    answer.set_cookie(
        cookie_name(request),
        await app.sessions.start() if caller.role is Role.OWNER else secret,
        max_age=int(LIFETIME.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return caller
