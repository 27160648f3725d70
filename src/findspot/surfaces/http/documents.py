"""Documents and their versions over HTTP."""

from typing import Annotated, Any

from fastapi import Query, Request, Response

from findspot.app import App
from findspot.content.documents import Saved
from findspot.models import Document, Version
from findspot.store import documents as rows
from findspot.surfaces.http.answers import anything, framed, listed, moment
from findspot.surfaces.http.body import expected_revision, pieces
from findspot.surfaces.http.router import router

api = router("documents")

_Against = Annotated[int | None, Query(ge=1, le=10**18)]


def _document(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "projectId": document.project_id,
        "title": document.title,
        "type": document.type,
        "format": document.format,
        "revision": document.revision,
        "wordCount": document.word_count,
        "updatedAt": moment(document.updated_at),
    }


def _version(version: Version) -> dict[str, Any]:
    return {
        "id": version.id,
        "reason": version.reason,
        "actor": version.actor,
        "createdAt": moment(version.created_at),
        "parentId": version.parent_id,
        "wordCount": version.word_count,
    }


def _saved(saved: Saved) -> dict[str, Any]:
    document = saved.document
    answer = {"id": document.id, "revision": document.revision, "updatedAt": moment(document.updated_at)}
    return answer | {"versionId": saved.version_id}


@api.post("/api/v1/projects/{project_id}/documents", status_code=201, openapi_extra=anything("application/json"))
async def create_document(request: Request, project_id: int) -> dict[str, Any]:
    """Make a document from `{title, type?, content, format}`."""
    app: App = request.app.state.app
    document = await app.documents.create(project_id, await pieces(request))
    return {"id": document.id, "revision": document.revision, "updatedAt": moment(document.updated_at)}


@api.get("/api/v1/projects/{project_id}/documents")
async def list_documents(request: Request, project_id: int) -> Response:
    """The documents of a project, without their contents."""
    app: App = request.app.state.app
    async with app.store.read() as connection:
        return listed("documents", [_document(each) for each in await rows.every(connection, project_id)])


@api.get("/api/v1/documents/{document_id}")
async def get_document(request: Request, document_id: int) -> Response:
    """A document with its content, and its text: what is searched, and what offsets count in."""
    app: App = request.app.state.app
    document, shown = await app.documents.read(document_id)
    return framed(_document(document), [shown], revision=document.revision)


@api.put("/api/v1/documents/{document_id}", openapi_extra=anything("application/json"))
async def save_document(request: Request, document_id: int) -> dict[str, Any]:
    """Change a document. What it held is kept as a version when its content changes."""
    app: App = request.app.state.app
    expected = expected_revision(request)
    body = await pieces(request)
    return _saved(await app.documents.save(document_id, body, request.state.caller, expected))


@api.delete("/api/v1/documents/{document_id}", status_code=204)
async def delete_document(request: Request, document_id: int) -> Response:
    """Delete a document with its versions."""
    app: App = request.app.state.app
    await app.documents.delete(document_id)
    return Response(status_code=204)


@api.get("/api/v1/documents/{document_id}/versions")
async def list_versions(request: Request, document_id: int) -> Response:
    """The versions of a document, newest first."""
    app: App = request.app.state.app
    return listed("versions", [_version(each) for each in await app.documents.versions(document_id)])


@api.get("/api/v1/documents/{document_id}/versions/{version_id}")
async def get_version(request: Request, document_id: int, version_id: int) -> Response:
    """A version with its content and its text."""
    app: App = request.app.state.app
    version, shown = await app.documents.version(document_id, version_id)
    return framed(_version(version) | {"title": version.title, "format": version.format}, [shown])


@api.get("/api/v1/documents/{document_id}/versions/{version_id}/diff")
async def diff_version(request: Request, document_id: int, version_id: int, against: _Against = None) -> Response:
    """What changed since a version, by word: up to now, or up to the version `against`."""
    app: App = request.app.state.app
    changes = await app.documents.diff(document_id, version_id, against)
    return framed({"from": version_id, "to": against}, [b'"changes":', changes])


@api.post("/api/v1/documents/{document_id}/versions/{version_id}/restore")
async def restore_version(request: Request, document_id: int, version_id: int) -> dict[str, Any]:
    """Make a document what it was in a version. What it holds now is kept first."""
    app: App = request.app.state.app
    return _saved(await app.documents.restore(document_id, version_id, request.state.caller))
