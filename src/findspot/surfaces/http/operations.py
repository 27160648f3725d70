"""Health, readiness, metrics and the API's own description."""

from typing import Any

import sqlalchemy as sa
from fastapi import Request, Response

from findspot import __version__
from findspot.app import App
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
    """Figures for Prometheus."""
    return Response(request.app.state.metrics.text(), media_type=request.app.state.metrics.content_type)


@api.get("/openapi.json")
async def openapi(request: Request) -> dict[str, Any]:
    """This API, described in OpenAPI."""
    description: dict[str, Any] = request.app.openapi()
    return description
