"""Serves the built web client. Without a build, a page says how to get it."""

import base64
import functools
import hashlib
import re
from pathlib import Path

from fastapi import Response
from fastapi.responses import HTMLResponse

from findspot import __version__
from findspot.errors import not_found

BUILT = Path(__file__).with_name("built")  # `npm run build` writes it; a wheel contains it

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}", re.ASCII)
_MEDIA = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {"Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff"}

_STYLE = """
  :root { color-scheme: light dark }
  body { font: 16px/1.6 system-ui, sans-serif; max-width: 42rem; margin: 12vh auto 4rem; padding: 0 1.5rem }
  pre { border: 1px solid; border-radius: 8px; padding: .9rem 1.1rem; overflow-x: auto }
"""

_WITHOUT_BUILD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Findspot</title><style>%(style)s</style>
<h1>Findspot</h1>
<p>Version %(version)s is running. The API is at <code>/api/v1</code>, its description at
<a href="/openapi.json">openapi.json</a>.</p>
<p>The web client is not built. Install Node.js 20.19 or newer, then build it and reload this page:</p>
<pre>make web</pre>
<p>A released package of Findspot contains the client.</p>
<hr>
<p lang="zh">网页客户端尚未构建。请安装 Node.js 20.19 或更新版本，运行 <code>make web</code>，然后刷新本页。</p>
</html>"""


def page(status: int = 200) -> Response:
    """Return the page that loads the client, or the one that says how to build it."""
    file = BUILT / "index.html"
    if not file.is_file():
        return _page_without_build(status)
    headers = {**_HEADERS, "Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}
    return HTMLResponse(file.read_bytes(), status, headers)


def asset(name: str) -> Response:
    """Return a file of the build. Its name has a hash of its content, so browsers keep it for a year."""
    file = BUILT / "assets" / name
    if not _NAME.fullmatch(name) or file.suffix not in _MEDIA or not file.is_file():
        raise not_found("file")
    headers = {**_HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(file.read_bytes(), headers=headers, media_type=_MEDIA[file.suffix])


def _page_without_build(status: int) -> Response:
    policy = f"default-src 'none'; style-src '{_hash(_STYLE)}'; base-uri 'none'; frame-ancestors 'none'"
    headers = {**_HEADERS, "Content-Security-Policy": policy, "Cache-Control": "no-store"}
    return HTMLResponse(_WITHOUT_BUILD % {"version": __version__, "style": _STYLE}, status, headers)


@functools.cache
def _hash(text: str) -> str:
    """Return the hash by which a Content-Security-Policy admits an inline style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
