"""Import and export over HTTP: both answer while they work."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import structlog
from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from findspot.app import App
from findspot.content.importing import Source, Tally
from findspot.errors import FindspotError, not_found
from findspot.models import Caller
from findspot.store import projects as project_rows
from findspot.surfaces.http.answers import anything
from findspot.surfaces.http.body import pieces
from findspot.surfaces.http.router import router

api = router("transfer")
_log = structlog.get_logger()


@api.post("/api/v1/projects/{project_id}/import", openapi_extra=anything("application/octet-stream"))
async def import_files(request: Request, project_id: int, path: str | None = None) -> Response:
    """Import an archive (zip, tar, tar.gz), or one file that `path` names. Answers lines of JSON as it goes on."""
    app: App = request.app.state.app
    source = await app.importing.open(await pieces(request), path)
    lines = _lines(app, project_id, request.state.caller, source)
    return StreamingResponse(lines, media_type="application/x-ndjson")


async def _lines(app: App, project_id: int, caller: Caller, source: Source) -> AsyncIterator[bytes]:
    """A line a batch, and a last one with what was skipped, or with what broke it off."""
    tally = Tally(source.total)
    try:
        async with contextlib.aclosing(app.importing.run(project_id, caller, source)) as steps:
            async for tally in steps:
                yield _line(_progress(tally))
    except FindspotError as error:
        _log.warning("import_broken_off", code=error.code, cause=repr(error.__cause__))
        yield _line({**_progress(tally), **_reasons(tally), "error": error.body()})
        return
    tally.total = tally.done  # the list of a zip also counts folders, and what is said of a hidden folder once
    yield _line({**_progress(tally), **_reasons(tally)})


def _line(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _progress(tally: Tally) -> dict[str, Any]:
    names = ("done", "total", "created", "changed", "unchanged", "skipped")
    return {name: getattr(tally, name) for name in names}


def _reasons(tally: Tally) -> dict[str, Any]:
    return {"skipped_files": [{"path": each.name, "reason": each.reason} for each in tally.reasons]}


@api.get("/api/v1/projects/{project_id}/export")
async def export_project(request: Request, project_id: int) -> Response:
    """Everything of a project as a tar archive that any tool opens."""
    app: App = request.app.state.app
    async with app.store.read() as connection:
        project = await project_rows.get(connection, project_id)
    if project is None:
        raise not_found("project")
    headers = {"Content-Disposition": f'attachment; filename="project-{project_id}.tar"'}
    return StreamingResponse(app.exporting.tar(project), media_type="application/x-tar", headers=headers)
