"""Health, readiness, metrics and the API's own description."""

import contextlib
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Send

from findspot import __version__
from findspot.app import App
from findspot.content import backup as backups
from findspot.runtime import metrics as figures
from findspot.store import status as status_rows
from findspot.surfaces.http.router import router

api = router("operations")


@api.get("/healthz")
async def healthz() -> dict[str, Any]:
    """The process is alive."""
    return {"status": "ok", "version": __version__}


@api.get("/readyz")
async def readyz(request: Request) -> dict[str, Any]:
    """The process can do its work: the database answers."""
    app: App = request.app.state.app
    async with app.store.read() as connection:
        await connection.execute(sa.text("SELECT 1"))
    return {"status": "ready", "database": app.store.kind, "engine": app.settings.engine}


@api.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus: of every project and of HTTP for the owner, of its own project for an admin key."""
    app: App = request.app.state.app
    only = request.state.caller.project_id
    async with app.store.read() as connection:
        chunks = await status_rows.active_chunks(connection, only)
    content = figures.text(chunks, only)
    if only is None:
        content = request.app.state.metrics.text() + content
    return Response(content, media_type=request.app.state.metrics.content_type)


@api.get("/openapi.json")
async def openapi(request: Request) -> dict[str, Any]:
    """This API, described in OpenAPI."""
    description: dict[str, Any] = request.app.openapi()
    return description


@api.get("/internal/backup", response_class=Response)
async def backup(request: Request, embeddings: bool = True) -> Response:
    """Everything in this installation at one moment, as one file. `embeddings=false` leaves out what can be calculated
    anew."""
    app: App = request.app.state.app
    content = backups.stream(app.store, embeddings=embeddings)
    first = await anext(content)  # what hinders it is told before the answer begins
    name = f"findspot-{datetime.now(UTC):%Y%m%d-%H%M%S}.backup"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return _Download(first, content, headers)


class _Download(StreamingResponse):
    """A stream that is ended with its connection, and lets go of the database at once."""

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
