"""Documents and their versions over HTTP."""

from typing import Annotated

from fastapi import Query, Request, Response

from findspot.content.documents import Saved
from findspot.models import Document, Version
from findspot.store import documents as rows
from findspot.surfaces.http.body import expected_revision, pieces
from findspot.surfaces.http.encoding import framed, timestamp
from findspot.surfaces.http.models import documents as models
from findspot.surfaces.http.router import Router, access_of, app_of, until_sent

api = Router("documents")

_Against = Annotated[int | None, Query(ge=1, le=10**18)]


def _document(document: Document) -> models.DocumentSummary:
    return {
        "id": document.id,
        "projectId": document.project_id,
        "title": document.title,
        "type": document.type,
        "format": document.format,
        "revision": document.revision,
        "wordCount": document.word_count,
        "path": document.path,
        "updatedAt": timestamp(document.updated_at),
    }


def _version(version: Version) -> models.VersionSummary:
    return {
        "id": version.id,
        "reason": version.reason,
        "actor": version.actor,
        "createdAt": timestamp(version.created_at),
        "parentId": version.parent_id,
        "wordCount": version.word_count,
    }


def _saved(saved: Saved) -> models.SavedDocument:
    document = saved.document
    return {
        "id": document.id,
        "revision": document.revision,
        "updatedAt": timestamp(document.updated_at),
        "versionId": saved.version_id,
    }


@api.post("/api/v1/projects/{project_id}/documents", status=201, takes=models.NewDocument)
async def create_document(request: Request, project_id: int) -> models.CreatedDocument:
    """Create a document from `{title, type?, content, format}`."""
    document = await app_of(request).documents.create(project_id, await pieces(request))
    return {"id": document.id, "revision": document.revision, "updatedAt": timestamp(document.updated_at)}


@api.get("/api/v1/projects/{project_id}/documents")
async def list_documents(request: Request, project_id: int) -> models.DocumentList:
    """List the documents of a project, without their contents."""
    async with app_of(request).store.read() as connection:
        return {"documents": [_document(each) for each in await rows.every(connection, project_id)]}


@api.get("/api/v1/documents/{document_id}", answer=models.Document, errors=("CONTENT_TOO_LARGE",))
async def get_document(request: Request, document_id: int) -> Response:
    """Show a document with its content, and its text: the characters that are searched and that offsets count."""
    await until_sent(request, app_of(request).documents.reserved(document_id))
    document, shown = await app_of(request).documents.read(document_id)
    return framed(_document(document), [shown], revision=document.revision)


@api.put(
    "/api/v1/documents/{document_id}",
    takes=models.DocumentChange,
    headers=("If-Match",),
    errors=("PRECONDITION_FAILED", "VERSION_CONFLICT"),
)
async def save_document(request: Request, document_id: int) -> models.SavedDocument:
    """Change a document. If its content changes, the previous content is kept as a version."""
    expected = expected_revision(request)
    body = await pieces(request)
    caller = access_of(request.scope).caller
    return _saved(await app_of(request).documents.save(document_id, body, caller, expected))


@api.delete("/api/v1/documents/{document_id}")
async def delete_document(request: Request, document_id: int) -> Response:
    """Delete a document with its versions."""
    await app_of(request).documents.delete(document_id)
    return Response(status_code=204)


@api.get("/api/v1/documents/{document_id}/versions")
async def list_versions(request: Request, document_id: int) -> models.Versions:
    """List the versions of a document, newest first."""
    return {"versions": [_version(each) for each in await app_of(request).documents.versions(document_id)]}


@api.get("/api/v1/documents/{document_id}/versions/{version_id}", answer=models.Version, errors=("CONTENT_TOO_LARGE",))
async def get_version(request: Request, document_id: int, version_id: int) -> Response:
    """Show a version with its content and its text."""
    await until_sent(request, app_of(request).documents.reserved(document_id, version_id))
    version, shown = await app_of(request).documents.version(document_id, version_id)
    return framed({**_version(version), "title": version.title, "format": version.format}, [shown])


@api.get(
    "/api/v1/documents/{document_id}/versions/{version_id}/diff", answer=models.Diff, errors=("CONTENT_TOO_LARGE",)
)
async def diff_version(request: Request, document_id: int, version_id: int, against: _Against = None) -> Response:
    """Compare a version by word with the version `against`, or with the document as it is now."""
    compared = (version_id,) if against is None else (version_id, against)
    await until_sent(request, app_of(request).documents.reserved(document_id, *compared))
    changes = await app_of(request).documents.diff(document_id, version_id, against)
    return framed({"from": version_id, "to": against}, [b'"changes":', changes])


@api.post("/api/v1/documents/{document_id}/versions/{version_id}/restore")
async def restore_version(request: Request, document_id: int, version_id: int) -> models.SavedDocument:
    """Restore the content of a version. The current content is kept as a new version."""
    caller = access_of(request.scope).caller
    return _saved(await app_of(request).documents.restore(document_id, version_id, caller))
