"""Import and export over HTTP. Both stream their answer while they work."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import structlog
from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from findspot.app import App
from findspot.content.import_batch import Source
from findspot.content.importing import Progress
from findspot.errors import FindspotError, not_found
from findspot.models import Caller
from findspot.store import projects as project_rows
from findspot.surfaces.http.body import pieces
from findspot.surfaces.http.models.transfer import ImportProgress, SkippedFile
from findspot.surfaces.http.router import Media, Router, access_of, app_of

api = Router("transfer")
_log = structlog.get_logger()


@api.post(
    "/api/v1/projects/{project_id}/import",
    takes=Media({"application/octet-stream": None}),
    answer=Media({"application/x-ndjson": ImportProgress}),
)
async def import_files(request: Request, project_id: int, path: str | None = None) -> Response:
    """Import an archive (zip, tar, tar.gz), or one file that `path` names. Streams its progress as lines of JSON."""
    app = app_of(request)
    source = await app.importing.open(await pieces(request), path)
    lines = _lines(app, project_id, access_of(request.scope).caller, source)
    return StreamingResponse(lines, media_type="application/x-ndjson")


async def _lines(app: App, project_id: int, caller: Caller, source: Source) -> AsyncIterator[bytes]:
    """Yield one line per batch, and a last one with the skipped files and, if the import broke off, the error."""
    progress = Progress(source.total)
    try:
        async with contextlib.aclosing(app.importing.run(project_id, caller, source)) as steps:
            async for progress in steps:
                yield _line(_progress(progress))
    except FindspotError as error:
        _log.warning("import_broken_off", code=error.code, cause=repr(error.__cause__))
        yield _line({**_progress(progress), "skipped_files": _skipped(progress), "error": error.body()})
        return
    progress.total = progress.done  # a zip's list also counts folders; a skipped folder counts as one file
    yield _line({**_progress(progress), "skipped_files": _skipped(progress)})


def _line(value: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _progress(progress: Progress) -> ImportProgress:
    return {
        "done": progress.done,
        "total": progress.total,
        "created": progress.created,
        "changed": progress.changed,
        "unchanged": progress.unchanged,
        "skipped": progress.skipped,
    }


def _skipped(progress: Progress) -> list[SkippedFile]:
    return [{"path": each.name, "reason": each.reason} for each in progress.reasons]


@api.get("/api/v1/projects/{project_id}/export", answer=Media({"application/x-tar": None}))
async def export_project(request: Request, project_id: int) -> Response:
    """Download everything in a project as a tar archive."""
    app = app_of(request)
    async with app.store.read() as connection:
        project = await project_rows.get(connection, project_id)
    if project is None:
        raise not_found("project")
    headers = {"Content-Disposition": f'attachment; filename="project-{project_id}.tar"'}
    return StreamingResponse(app.exporting.tar(project), media_type="application/x-tar", headers=headers)
