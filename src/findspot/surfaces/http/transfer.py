"""Import and export over HTTP. Both stream their answer while they work."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import structlog
from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime

from findspot.app import App
from findspot.content import import_roots as imports
from findspot.content.import_batch import BodyInfo, Source
from findspot.content.import_plan import ImportTarget
from findspot.content.importing import Progress
from findspot.errors import FindspotError, invalid, not_found
from findspot.sources.file_dates import date_of
from findspot.store import projects as project_rows
from findspot.surfaces.http.body import pieces
from findspot.surfaces.http.models.transfer import FolderListing, ImportProgress, MissingFile, MissingFiles, Pruned
from findspot.surfaces.http.router import Media, Router, access_of, app_of

api = Router("transfer")
_log = structlog.get_logger()


@api.post(
    "/api/v1/projects/{project_id}/import",
    takes=Media({"application/octet-stream": None}),
    answer=Media({"application/x-ndjson": ImportProgress}),
)
async def import_files(
    request: Request,
    project_id: int,
    path: str | None = None,
    modified: AwareDatetime | None = None,
    root: str | None = None,
    complete: bool = False,
    prune: bool = False,
) -> Response:
    """Import an archive (zip, tar, tar.gz), or one file that `path` names. Streams its progress as lines of JSON.

    `root` names the folder that the files belong to. With `complete`, the archive has every file of that folder, so
    renamed files are recognised and missing ones are listed. With `prune`, what came from the missing ones is deleted.
    `modified` is the date of a single file.
    """
    app = app_of(request)
    if (complete or prune) and root is None:
        raise invalid("root", "is missing: name the folder that is complete, as in ?root=notes")
    name = None if root is None else imports.root_name(root)
    info = BodyInfo(path, None if modified is None else date_of(modified.timestamp()), complete or prune)
    source = await app.importing.open(await pieces(request), info)
    target = ImportTarget(project_id, access_of(request.scope).caller, name, prune)
    return StreamingResponse(_lines(app, target, source), media_type="application/x-ndjson")


@api.post("/api/v1/projects/{project_id}/import/compare", takes=FolderListing)
async def compare_import_root(request: Request, project_id: int) -> MissingFiles:
    """Compare a folder with what was imported from it, given the paths of all its files. List what is missing.

    Files that are imported into this root afterwards, and have the content of a missing one, are recognised as renamed.
    """
    listing = await asyncio.to_thread(imports.parse_listing, await pieces(request))
    missing = await app_of(request).import_roots.compare(project_id, listing.root, listing.paths)
    return {"missing": [_missing(each) for each in missing]}


@api.post("/api/v1/projects/{project_id}/import/prune", takes=FolderListing)
async def prune_import_root(request: Request, project_id: int) -> Pruned:
    """Delete documents and tables whose files are missing, by their paths. Other paths are left alone."""
    listing = await asyncio.to_thread(imports.parse_listing, await pieces(request))
    deleted = app_of(request).import_roots.prune(project_id, listing.root, listing.paths)
    return {"deleted": sum([number async for number in deleted])}


async def _lines(app: App, target: ImportTarget, source: Source) -> AsyncIterator[bytes]:
    """Yield one line per batch, and a last one with the skipped files and, if the import broke off, the error."""
    progress = Progress(source.total)
    try:
        async with contextlib.aclosing(app.importing.run(target, source)) as steps:
            async for progress in steps:
                yield _line(_progress(progress))
    except FindspotError as error:
        _log.warning("import_broken_off", code=error.code, cause=repr(error.__cause__))
        yield _line({**_last(progress), "error": error.body()})
        return
    progress.total = progress.done  # a zip's list also counts folders; a skipped folder counts as one file
    yield _line(_last(progress))


def _line(value: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _progress(progress: Progress) -> ImportProgress:
    return {
        "done": progress.done,
        "total": progress.total,
        "created": progress.created,
        "changed": progress.changed,
        "renamed": progress.renamed,
        "unchanged": progress.unchanged,
        "skipped": progress.skipped,
        "deleted": progress.deleted,
    }


def _last(progress: Progress) -> ImportProgress:
    line = _progress(progress)
    line["skipped_files"] = [{"path": each.name, "reason": each.reason} for each in progress.reasons]
    if progress.missing is not None:
        line["missing_files"] = [_missing(each) for each in progress.missing]
    return line


def _missing(file: imports.MissingFile) -> MissingFile:
    return {"kind": file.kind, "id": file.id, "path": file.path}


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
