"""Health, readiness, metrics, backup and the API's own description."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import sqlalchemy as sa
from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Send

from findspot import __version__
from findspot.content import backup as backups
from findspot.errors import STORE_FAILURES, FindspotError
from findspot.runtime import metrics as project_metrics
from findspot.store import status as status_rows
from findspot.surfaces.http.models.operations import Health, OpenApiDocument, Readiness
from findspot.surfaces.http.router import Media, Router, access_of, app_of

api = Router("operations")


@api.head("/healthz")
@api.get("/healthz")
async def health(request: Request) -> Health:
    """Answer that the process is alive."""
    return {"status": "ok", "version": __version__}


@api.head("/readyz")
@api.get("/readyz", errors=(*STORE_FAILURES, "INDEX_ELSEWHERE"))
async def readiness(request: Request) -> Readiness:
    """Answer that the process can do its work: the database answers, and can save. An error says what cannot be
    done; with `reads`, searches still work."""
    app = app_of(request)
    await app.deployment.require_owned()
    async with app.store.read() as connection:
        await connection.execute(sa.text("SELECT 1"))
    try:
        await app.store.require_writable()
    except FindspotError as error:
        error.fields.update(reads=True, writes=False)
        raise
    return {"status": "ready", "database": app.store.kind, "engine": app.settings.engine}


@api.get("/metrics", answer=Media({"text/plain": str}))
async def metrics(request: Request) -> Response:
    """Show metrics for Prometheus: the owner sees every project and HTTP, an admin key its own project."""
    app, only = app_of(request), access_of(request.scope).caller.project_id
    async with app.store.read_replica() as connection:
        chunks = await status_rows.active_chunks(connection, only)
    content = project_metrics.text(chunks, only)
    if only is None:
        content = request.app.state.metrics.text() + content
    return Response(content, media_type=request.app.state.metrics.content_type)


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
