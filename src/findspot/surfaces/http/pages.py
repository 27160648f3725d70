"""Where a request was sent to, and from which page: a browser must not be talked into calling for another site."""

import ipaddress
from urllib.parse import urlsplit

from fastapi import Request

from findspot.errors import FindspotError
from findspot.settings import Settings


def check_address(request: Request, settings: Settings) -> None:
    """Refuse a host that this server is not called, and a page that is none of its own."""
    host = request.headers.get("host", "")
    known = {"localhost", settings.host.lower(), *_names(settings)}
    if not _is_ours(host, known):
        raise FindspotError("MISDIRECTED", "This server is not called so.")
    origin = request.headers.get("origin")
    if origin is None:
        return
    page = urlsplit(origin)
    if page.netloc != host and (page.hostname or "") not in _names(settings):
        raise FindspotError("FORBIDDEN", "Pages of other sites may not call this.")


def _names(settings: Settings) -> set[str]:
    return {name.strip().lower() for name in settings.allowed_hosts.split(",")} - {""}


def _is_ours(host: str, known: set[str]) -> bool:
    """A name has to be known, since any name can be made to lead here; a numeric address cannot."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name in known or bool(ipaddress.ip_address(name))
    except ValueError:
        return False
