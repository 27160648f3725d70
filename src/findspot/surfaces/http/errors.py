"""Turns every exception into the one error shape, `{code, message, …}`, without a trace, SQL or a secret."""

from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from findspot.agents.schemas import SearchConfig
from findspot.errors import FindspotError, in_plain_words, invalid, shortened
from findspot.surfaces.http.body import StalledBody

_log = structlog.get_logger()
_LIMITS = ("SEARCH_CAPACITY_EXCEEDED", "SERVER_BUSY")  # not faults, so not logged as errors
_LENGTHS = {
    "too_short": ("least", "min_length"),
    "too_long": ("most", "max_length"),
    "string_too_short": ("least", "min_length"),
    "string_too_long": ("most", "max_length"),
}
_PLAIN = {"missing": "is missing", "extra_forbidden": "is unknown"}
_BY_STATUS = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 413: "CONTENT_TOO_LARGE"}


def answer(error: FindspotError) -> JSONResponse:
    """Return the HTTP response of an error."""
    headers = {}
    if error.code == "UNAUTHORIZED":
        headers["WWW-Authenticate"] = "Bearer"
    if "retryAfterMs" in error.fields:
        headers["Retry-After"] = str(-(-error.fields["retryAfterMs"] // 1000))
    if isinstance(error, StalledBody):
        headers["Connection"] = "close"
    return JSONResponse(error.body(), error.kind.status, headers)


def install(api: FastAPI) -> None:
    """Register the exception handlers."""

    @api.exception_handler(FindspotError)
    async def known(request: Request, error: FindspotError) -> JSONResponse:
        if error.kind.status >= 500 and error.code not in _LIMITS:
            _log.error("request_failed", code=error.code, cause=repr(error.__cause__))
        return answer(error)

    @api.exception_handler(RequestValidationError)
    async def bad_input(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        return answer(invalid(_field(first), _sentence(first)))

    @api.exception_handler(HTTPException)
    async def from_framework(request: Request, error: HTTPException) -> JSONResponse:
        if isinstance(error.__cause__, FindspotError):  # raised while the framework read the body
            return answer(error.__cause__)
        if isinstance(error.__cause__, ClientDisconnect):
            raise error.__cause__
        code = _BY_STATUS.get(error.status_code)
        if code is None:
            return answer(invalid("body", "cannot be read"))
        return answer(FindspotError(code, f"{request.method} {request.url.path}: {error.detail}."))


def _field(first: dict[str, Any]) -> str:
    where, *parts = first["loc"]
    place = [shortened(str(part)) for part in (parts if where in ("body", "query", "path") else first["loc"])]
    return ".".join(place) if place and first["type"] != "json_invalid" else "body"


def _sentence(first: dict[str, Any]) -> str:
    if first["type"] == "json_invalid":
        return f"is not valid JSON: {first['ctx']['error']}"
    if first["type"] == "extra_forbidden" and "search_config" in first["loc"][:-1]:
        return f"is unknown; the known fields are {', '.join(SearchConfig.model_fields)}"
    if first["type"] in _LENGTHS:
        bound, name = _LENGTHS[first["type"]]
        number, unit = first["ctx"][name], "character" if isinstance(first["input"], str) else "element"
        return f"must have at {bound} {number:,} {unit}{'' if number == 1 else 's'}"
    return _PLAIN.get(first["type"]) or in_plain_words(first["msg"])
