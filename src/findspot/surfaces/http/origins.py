"""Checks of the Host and Origin headers: a browser must not be made to call this server for another site."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

from fastapi import Request

from findspot.errors import FindspotError
from findspot.settings import Settings


def check_address(request: Request, settings: Settings) -> None:
    """Refuse an unknown host name, and calls from pages of other sites."""
    host = request.headers.get("host", "")
    allowed, own = _allowed_hosts(settings), urlsplit(settings.address)
    if not _is_known(host, {"localhost", settings.host.lower(), own.hostname or "", *allowed}):
        raise FindspotError("MISDIRECTED", "Unknown Host header. Add the name to FINDSPOT_ALLOWED_HOSTS.")
    origin = request.headers.get("origin")
    if origin is None:
        return
    page = _split(origin)
    if page is None or (page.netloc not in (host, own.netloc) and (page.hostname or "") not in allowed):
        raise FindspotError("FORBIDDEN", "Pages of other sites may not call this.")


def is_own_page(request: Request) -> bool:
    """Return whether the request comes from a page of this server, or from no page at all.

    A browser sends its cookie along for other pages on the same machine too.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return True
    page = _split(origin)
    return page is not None and page.netloc == request.headers.get("host")


def _split(origin: str) -> SplitResult | None:
    """Return the parts of an Origin header; None if it is malformed."""
    try:
        return urlsplit(origin)
    except ValueError:
        return None


def _allowed_hosts(settings: Settings) -> set[str]:
    return {name.strip().lower() for name in settings.allowed_hosts.split(",")} - {""}


def _is_known(host: str, known: set[str]) -> bool:
    """Return whether a Host header is a known name or an IP address. Any name can be made to resolve to this server, so
    a name must be known; an IP address cannot be forged that way."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name in known or bool(ipaddress.ip_address(name))
    except ValueError:
        return False
