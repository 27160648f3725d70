"""Health, readiness, metrics, backup and the API's own description."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Send

from findspot import __version__
from findspot.content import backup as backups
from findspot.errors import STORE_FAILURES
from findspot.runtime import metrics as project_metrics
from findspot.store import leases as lease_rows
from findspot.store import processes as process_rows
from findspot.store import status as status_rows
from findspot.store.leases import HeldLease
from findspot.store.processes import SeenProcess
from findspot.surfaces.http.encoding import timestamp
from findspot.surfaces.http.models.operations import (
    Health,
    Lease,
    OpenApiDocument,
    Processes,
    Readiness,
    RunningProcess,
)
from findspot.surfaces.http.router import Media, Router, access_of, app_of

api = Router("operations")


@api.head("/healthz")
@api.get("/healthz")
async def health(request: Request) -> Health:
    """Answer that the process is alive."""
    return {"status": "ok", "version": __version__}


@api.head("/readyz")
@api.get("/readyz", errors=(*STORE_FAILURES, "INDEX_ELSEWHERE", "ENGINE_UNAVAILABLE"))
async def readiness(request: Request) -> Readiness:
    """Answer that the process can do its work: the database answers and can save, and a local index can be opened. An
    error says what cannot be done; with `reads`, searches still work."""
    app = app_of(request)
    await app.readiness.check()
    return {"status": "ready", "database": app.store.kind, "engine": app.settings.engine}


@api.get("/metrics", answer=Media({"text/plain": str}))
async def metrics(request: Request) -> Response:
    """Show metrics of all processes for Prometheus: the owner sees every project and HTTP, an admin key its own
    project."""
    app, only = app_of(request), access_of(request.scope).caller.project_id
    mine = request.app.state.metrics
    async with app.store.read_replica() as connection:
        chunks = await status_rows.active_chunks(connection, only)
        waiting = await status_rows.waiting_sources(connection, only)
    others = await app.presence.metrics_of_others()
    content = await asyncio.to_thread(
        lambda: project_metrics.joined(
            [mine.text(app.presence.id, app.presence.role), project_metrics.of_store(chunks, waiting), *others], only
        )
    )
    return Response(content, media_type=mine.content_type)


@api.get("/internal/processes")
async def processes(request: Request) -> Processes:
    """List the running processes and the namespaces that workers hold, and say how far the index is behind."""
    app = app_of(request)
    async with app.store.read() as connection:
        running = await process_rows.every(connection)
        held = await lease_rows.held(connection)
        lag = await status_rows.lag(connection)
    return {
        "database": app.store.kind,
        "engine": app.settings.engine,
        "processes": [_process(each) for each in running],
        "leases": [_lease(each) for each in held],
        "lag": {
            "sources": lag.sources,
            "errors": lag.errors,
            "deletes": lag.deletes,
            "seconds": None if lag.since is None else max(0, round((datetime.now(UTC) - lag.since).total_seconds())),
        },
    }


def _process(seen: SeenProcess) -> RunningProcess:
    process = seen.process
    return {
        "id": process.id,
        "role": process.role,
        "host": process.host,
        "pid": process.pid,
        "version": process.version,
        "serves": process.serves,
        "started_at": timestamp(process.started_at),
        "silent_s": round(seen.silent_s, 1),
    }


def _lease(held: HeldLease) -> Lease:
    return {
        "namespace": held.namespace,
        "token": held.token,
        "holder": held.holder,
        "claimed_at": timestamp(held.claimed_at),
        "expires_at": timestamp(held.expires_at),
    }


@api.get("/openapi.json")
async def openapi(request: Request) -> OpenApiDocument:
    """Describe this API in OpenAPI."""
    document: OpenApiDocument = await asyncio.to_thread(request.app.state.openapi)  # half a second, the first time
    return document


@api.get("/internal/backup", answer=Media({"application/octet-stream": None}))
async def backup(request: Request, embeddings: bool = True) -> Response:
    """Download a snapshot of this installation as one file. `embeddings=false` leaves out vectors that can be
    calculated again."""
    content = backups.stream(app_of(request).store, embeddings=embeddings)
    first = await anext(content)  # an error here is still answered as an error
    name = f"findspot-{datetime.now(UTC):%Y%m%d-%H%M%S}.backup"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return _Download(first, content, headers)


class _Download(StreamingResponse):
    """A stream that ends with its connection, so that it releases the database at once."""

    def __init__(self, first: bytes, rest: AsyncGenerator[bytes, None], headers: dict[str, str]) -> None:
        super().__init__(_chained(first, rest), headers=headers, media_type="application/octet-stream")
        self._rest = rest

    async def stream_response(self, send: Send) -> None:
        async with contextlib.aclosing(self._rest):
            await super().stream_response(send)


async def _chained(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    yield first
    async for each in rest:
        yield each
