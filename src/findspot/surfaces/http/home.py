"""The page at `/`: signs a browser in by the link that `findspot serve` prints, shows the first steps, signs out."""

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from findspot import __version__
from findspot.content.sessions import LIFETIME
from findspot.models import Role
from findspot.surfaces.http.guard import cookie_name, identify, session_of
from findspot.surfaces.http.router import Router, app_of

api = Router("home")

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Findspot</title>
<style>
  :root { color-scheme: light dark; --ink: light-dark(#1d2328, #e8e6e1); --soft: light-dark(#5d6770, #9aa3ab);
          --line: light-dark(#dcd8cf, #3a4046); --paper: light-dark(#fbfaf7, #16191c);
          --mark: light-dark(#b4541a, #f0a36b) }
  body { font: 16px/1.6 system-ui, sans-serif; color: var(--ink); background: var(--paper);
         max-width: 42rem; margin: 12vh auto 4rem; padding: 0 1.5rem }
  h1 { font-size: 1.7rem; letter-spacing: -.02em; margin: 0 } h1 span { color: var(--mark) }
  p { margin: .6rem 0 } .soft { color: var(--soft) }
  pre { border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1.1rem; overflow-x: auto; font-size: .86rem }
</style>
<h1>Find<span>spot</span></h1>
<p class="soft">Version %(version)s is running.</p>
%(body)s
</html>"""

_SIGNED_IN = """<p>You are signed in as <b>%(name)s</b>. Make a project and give it a table:</p>
<pre>findspot project create library
findspot table create 1 first '{"greeting": "Hello, 世界"}'
findspot table get 1 /greeting</pre>
<p>The API is at <code>/api/v1</code>; its description is at <a href="openapi.json">openapi.json</a>.</p>
<form method="post" action="api/v1/sign-out"><button>Sign out</button></form>"""

_STRANGER = """<p>To sign in, open the link that <code>findspot serve</code> printed when it started.
It ends in <code>?token=…</code>.</p>"""


@api.get("/", hidden=True)
async def home(request: Request, token: str | None = None) -> Response:
    """Sign a browser in by `?token=` (redirecting at once, so that no history keeps it), or show the start page."""
    app = app_of(request)
    if token is not None:
        caller = await app.keys.identify(token)
        if caller is None or caller.role is not Role.OWNER:  # keys of projects are for programs
            return _page(_STRANGER, 401)
        answer = RedirectResponse("/", 303, headers={"Cache-Control": "no-store"})
        secure = request.url.scheme == "https"
        session_id, lifetime = await app.sessions.start(), int(LIFETIME.total_seconds())
        answer.set_cookie(
            cookie_name(request), session_id, max_age=lifetime, httponly=True, samesite="strict", secure=secure
        )
        return answer
    caller = await identify(app, request)
    return _page(_SIGNED_IN % {"name": caller.role} if caller else _STRANGER)


@api.post("/api/v1/sign-out", status=204, also={303: None})
async def sign_out(request: Request, everywhere: bool = False) -> Response:
    """End the session of this browser; with `everywhere` those of all browsers. A form is redirected to `/`."""
    sessions, session_id = app_of(request).sessions, session_of(request)
    if everywhere:
        await sessions.end_all()
    elif session_id:
        await sessions.end(session_id)
    is_form = "text/html" in request.headers.get("accept", "")
    answer = RedirectResponse("/", 303) if is_form else Response(status_code=204)
    answer.delete_cookie(cookie_name(request), httponly=True, samesite="strict")
    return answer


def _page(body: str, status: int = 200) -> HTMLResponse:
    headers = {
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
        "Referrer-Policy": "same-origin",  # with none, browsers hide the origin of the form that signs out
    }
    return HTMLResponse(_PAGE % {"version": __version__, "body": body}, status, headers)
