"""Projects, their keys and their status over HTTP."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from typing import Literal

import msgspec
from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from findspot.app import App
from findspot.errors import not_found
from findspot.indexing.status import NamespaceReport, Step
from findspot.models import Key, Project, Role
from findspot.store import dependents
from findspot.store import keys as key_rows
from findspot.store import projects as rows
from findspot.store import status as status_rows
from findspot.store.document_counts import indexed_documents
from findspot.surfaces.http.body import NewKey, NewProject
from findspot.surfaces.http.encoding import encoded_dependents, timestamp
from findspot.surfaces.http.models import projects as models
from findspot.surfaces.http.router import Media, Router, access_of, app_of

api = Router("projects")

_EVENT_PAUSE_S = 0.5  # between two looks at the status
_EVENT_ROUNDS = 60


def _project(project: Project) -> models.Project:
    return {"id": project.id, "name": project.name, "created_at": timestamp(project.created_at)}


def _key(key: Key) -> models.Key:
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role,
        "hint": key.hint + "…",
        "created_at": timestamp(key.created_at),
    }


@api.post("/api/v1/projects", status=201)
async def create_project(request: Request, body: NewProject) -> models.Project:
    """Create a project."""
    async with app_of(request).store.write() as connection:
        return _project(await rows.create(connection, body.name))


@api.get("/api/v1/projects")
async def list_projects(request: Request) -> models.Projects:
    """List the projects that the caller sees: the owner all, a key its own."""
    async with app_of(request).store.read() as connection:
        found = await rows.every(connection, only=access_of(request.scope).caller.project_id)
    return {"projects": [_project(each) for each in found]}


@api.get("/api/v1/projects/{project_id}")
async def get_project(request: Request, project_id: int) -> models.Project:
    """Show one project."""
    app = app_of(request)
    async with app.store.read() as connection:
        project = await rows.get(connection, project_id)
    if project is None:
        raise not_found("project")
    app.index_status.warm(project_id)  # searches may follow
    return _project(project)


@api.get("/api/v1/projects/{project_id}/dependents")
async def get_project_dependents(request: Request, project_id: int) -> models.Dependents:
    """Count what is deleted together with a project."""
    async with app_of(request).store.read() as connection:
        return encoded_dependents(await dependents.of_project(connection, project_id))


@api.delete("/api/v1/projects/{project_id}")
async def delete_project(request: Request, project_id: int) -> Response:
    """Delete a project and everything in it."""
    app = app_of(request)
    await app.tables.delete_all(project_id)
    await app.documents.delete_all(project_id)
    async with app.store.write(frees=True) as connection:
        if not await rows.delete(connection, project_id):
            raise not_found("project")
    return Response(status_code=204)


@api.get("/api/v1/projects/{project_id}/status")
async def get_project_status(request: Request, project_id: int) -> models.ProjectStatus:
    """Show what a project holds, and how far its indexes are."""
    return await _status(app_of(request), project_id)


@api.get("/api/v1/projects/{project_id}/status/events", answer=Media({"text/event-stream": str}))
async def follow_project_status(request: Request, project_id: int) -> Response:
    """Send the status as a server-sent event whenever it changes, until all indexes are ready or half a minute has
    passed. A browser connects again by itself."""
    app = app_of(request)
    first = await _status(app, project_id)  # an error here is still answered as an error
    headers = {"Cache-Control": "no-store"}
    return StreamingResponse(_events(app, first), media_type="text/event-stream", headers=headers)


async def _events(app: App, status: models.ProjectStatus) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    sent: models.ProjectStatus | None = None
    for _ in range(_EVENT_ROUNDS):
        if status != sent:
            yield b"event: status\ndata: " + msgspec.json.encode(status) + b"\n\n"
            sent = status
        if status["index_state"] == "ready":
            return
        await asyncio.sleep(_EVENT_PAUSE_S)
        status = await _status(app, status["project_id"])


async def _status(app: App, project_id: int) -> models.ProjectStatus:
    async with app.store.read() as connection:
        holds = await status_rows.contents(connection, project_id)
        indexed = (await indexed_documents(connection, project_id)).indexed
    index = await app.index_status.of_project(project_id)
    return {
        "project_id": project_id,
        "tables": holds.tables,
        "documents": holds.documents,
        "chunks": sum(each.chunks for each in index),
        "vectors": sum(each.vectors for each in index),
        "evicted_vectors": sum(each.evicted for each in index),
        "disk": {"table_bytes": holds.table_bytes, "index_bytes": sum(each.bytes for each in index)},
        "index_state": _index_state(index),
        "indexed_documents": indexed,
        "namespaces": [
            {
                "namespace": each.namespace,
                "status": each.status,
                "step": each.step.value,
                "progress": {
                    "done": each.done,
                    "total": each.chunks,
                    "chunks_per_second": round(each.rate, 1),
                    "percent": round(each.percent, 1),
                    "seconds_left": None if each.left_s is None else math.ceil(each.left_s),
                },
            }
            for each in index
        ],
        "last_errors": [{"namespace": each.namespace, "message": error} for each in index for error in each.errors],
    }


def _index_state(index: Sequence[NamespaceReport]) -> Literal["ready", "indexing", "rebuilding"]:
    if any(each.step is Step.REBUILDING for each in index):
        return "rebuilding"
    return "ready" if all(each.step is Step.READY for each in index) else "indexing"


@api.post("/api/v1/projects/{project_id}/keys", status=201)
async def create_key(request: Request, project_id: int, body: NewKey) -> models.IssuedKey:
    """Create a key. Its secret is in this answer and nowhere else."""
    key, secret = await app_of(request).keys.issue(project_id, body.name, Role(body.role))
    created_at = timestamp(key.created_at)
    return {
        "id": key.id, "key": secret, "api_key": secret, "name": key.name, "role": key.role, "created_at": created_at
    }  # fmt: skip


@api.get("/api/v1/projects/{project_id}/keys")
async def list_keys(request: Request, project_id: int) -> models.Keys:
    """List the keys of a project, without their secrets."""
    async with app_of(request).store.read() as connection:
        return {"keys": [_key(key) for key in await key_rows.every(connection, project_id)]}


@api.delete("/api/v1/projects/{project_id}/keys/{key_id}")
async def revoke_key(request: Request, project_id: int, key_id: int) -> Response:
    """Revoke a key, effective at once."""
    async with app_of(request).store.write(frees=True) as connection:
        if not await key_rows.delete(connection, project_id, key_id):
            raise not_found("key")
    return Response(status_code=204)
