"""Request logging: an id, one log line and three metrics for every request. Never a token, never a query."""

import re
import time
import uuid

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from findspot.errors import FindspotError
from findspot.runtime import metrics
from findspot.surfaces.http.errors import answer

_log = structlog.get_logger()
_CLIENT_GONE = 499  # in log and metrics only: the client hung up before it was answered
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


class Metrics:
    """The HTTP metrics of this process."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "findspot_http_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self.duration = Histogram(
            "findspot_http_request_duration_seconds",
            "Time from the request's head to the answer's end.",
            ["method", "route"],
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
            registry=self.registry,
        )
        self.refused = Counter(
            "findspot_http_refused", "Searches refused because too many were in progress.", registry=self.registry
        )
        self.in_flight = Gauge("findspot_http_requests_in_flight", "Requests being answered.", registry=self.registry)

    def text(self, process_id: str, role: str) -> bytes:
        """Return all metrics of this process, with its id and role as labels."""
        return metrics.of_process(process_id, role, self.registry)


class RequestLog:
    """ASGI middleware around everything else: logs and counts requests, and turns unexpected errors into a 500."""

    def __init__(self, inner: ASGIApp, metrics: Metrics, process: int | None = None) -> None:
        """`process` is the number of this process, if several serve. It is named in every answer."""
        self._inner = inner
        self._metrics = metrics
        self._process = [] if process is None else [(b"x-findspot-process", b"%d" % process)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        request_id, started, status = _request_id(scope), time.perf_counter(), 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"x-request-id", request_id.encode()),
                    *self._process,
                ]
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id), self._metrics.in_flight.track_inprogress():
            try:
                await self._inner(scope, receive, send_with_id)
            except ClientDisconnect:
                status = status or _CLIENT_GONE  # there is no one to answer
            except Exception:
                _log.exception("unexpected_error")
                if status:  # the answer has begun: all that is left is to close the connection
                    raise
                await answer(_unexpected(request_id))(scope, receive, send_with_id)
            finally:
                self._record(scope, status, time.perf_counter() - started)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unknown")  # the pattern, not the address: no id, no query
        self._metrics.requests.labels(scope["method"], route, status).inc()
        self._metrics.duration.labels(scope["method"], route).observe(seconds)
        log = _log.warning if status >= 500 else _log.info
        log("request", method=scope["method"], route=route, status=status, ms=round(seconds * 1000, 2))


def _unexpected(request_id: str) -> FindspotError:
    return FindspotError("INTERNAL", f"Something went wrong (request {request_id}).", requestId=request_id)


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value.decode("latin-1")):
            return str(value.decode("latin-1"))
    return uuid.uuid4().hex
