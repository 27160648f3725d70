"""Projects, their keys and their status over HTTP."""

from typing import Any

from fastapi import Request, Response

from findspot.app import App
from findspot.errors import not_found
from findspot.models import Key, Project, Role
from findspot.store import keys as key_rows
from findspot.store import projects as rows
from findspot.store import status as status_rows
from findspot.surfaces.http.answers import moment
from findspot.surfaces.http.body import NewKey, NewProject
from findspot.surfaces.http.router import router

api = router("projects")


def _project(project: Project) -> dict[str, Any]:
    return {"id": project.id, "name": project.name, "created_at": moment(project.created_at)}


def _key(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role,
        "hint": key.hint + "…",
        "created_at": moment(key.created_at),
    }


@api.post("/api/v1/projects", status_code=201)
async def create_project(request: Request, body: NewProject) -> dict[str, Any]:
    """Make a project."""
    app: App = request.app.state.app
    async with app.store.write() as connection:
        return _project(await rows.create(connection, body.name))


@api.get("/api/v1/projects")
async def list_projects(request: Request) -> dict[str, Any]:
    """The projects this key sees: the owner all, a key its own."""
    app: App = request.app.state.app
    async with app.store.read() as connection:
        found = await rows.every(connection, only=request.state.caller.project_id)
    return {"projects": [_project(each) for each in found]}


@api.get("/api/v1/projects/{project_id}")
async def get_project(request: Request, project_id: int) -> dict[str, Any]:
    """One project."""
    app: App = request.app.state.app
    async with app.store.read() as connection:
        project = await rows.get(connection, project_id)
    if project is None:
        raise not_found("project")
    return _project(project)


@api.delete("/api/v1/projects/{project_id}", status_code=204)
async def delete_project(request: Request, project_id: int) -> Response:
    """Delete a project and everything in it."""
    app: App = request.app.state.app
    await app.tables.delete_all(project_id)
    await app.documents.delete_all(project_id)
    async with app.store.write() as connection:
        if not await rows.delete(connection, project_id):
            raise not_found("project")
    return Response(status_code=204)


@api.get("/api/v1/projects/{project_id}/status")
async def project_status(request: Request, project_id: int) -> dict[str, Any]:
    """What a project holds, and how far its indexes are."""
    app: App = request.app.state.app
    async with app.store.read() as connection:
        holds = await status_rows.contents(connection, project_id)
    index = await app.index_status.of_project(project_id)
    return {
        "project_id": project_id,
        "tables": holds.tables,
        "documents": holds.documents,
        "chunks": sum(each.chunks for each in index),
        "vectors": sum(each.vectors for each in index),
        "evicted_vectors": sum(each.evicted for each in index),
        "disk": {"table_bytes": holds.table_bytes, "index_bytes": sum(each.bytes for each in index)},
        "index_state": "ready" if all(each.status == "ready" for each in index) else "rebuilding",
        "namespaces": [
            {
                "namespace": each.namespace,
                "status": each.status,
                "progress": {"done": each.done, "total": each.chunks, "chunks_per_second": round(each.rate, 1)},
            }
            for each in index
        ],
        "last_errors": [{"namespace": each.namespace, "message": error} for each in index for error in each.errors],
    }


@api.post("/api/v1/projects/{project_id}/keys", status_code=201)
async def create_key(request: Request, project_id: int, body: NewKey) -> dict[str, Any]:
    """Make a key. Its secret is in this answer and nowhere else."""
    app: App = request.app.state.app
    key, secret = await app.keys.issue(project_id, body.name, Role(body.role))
    return {"id": key.id, "key": secret, "name": key.name, "role": key.role}


@api.get("/api/v1/projects/{project_id}/keys")
async def list_keys(request: Request, project_id: int) -> dict[str, Any]:
    """The keys of a project, without their secrets."""
    app: App = request.app.state.app
    async with app.store.read() as connection:
        return {"keys": [_key(key) for key in await key_rows.every(connection, project_id)]}


@api.delete("/api/v1/projects/{project_id}/keys/{key_id}", status_code=204)
async def revoke_key(request: Request, project_id: int, key_id: int) -> Response:
    """Revoke a key, from this moment on."""
    app: App = request.app.state.app
    async with app.store.write() as connection:
        if not await key_rows.delete(connection, project_id, key_id):
            raise not_found("key")
    return Response(status_code=204)
