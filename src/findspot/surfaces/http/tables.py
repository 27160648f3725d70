"""JSON tables over HTTP. Values pass through as the bytes they are; only the frame around them is encoded here."""

from typing import Annotated

from fastapi import Query, Request, Response

from findspot.models import Table
from findspot.store import dependents
from findspot.store import tables as rows
from findspot.surfaces.http.body import expected_revision, pieces
from findspot.surfaces.http.encoding import encoded_dependents, framed, timestamp
from findspot.surfaces.http.models import tables as models
from findspot.surfaces.http.models.json import JsonValue
from findspot.surfaces.http.models.projects import Dependents
from findspot.surfaces.http.router import Media, Router, app_of, until_sent

api = Router("tables")

_Offset = Annotated[int, Query(ge=0, lt=10**9)]
_Limit = Annotated[int, Query(ge=1, le=500)]


def _head(table: Table) -> models.CreatedTable:
    return {
        "id": table.id,
        "project_id": table.project_id,
        "name": table.name,
        "revision": table.revision,
        "updated_at": timestamp(table.updated_at),
    }


def _summary(table: Table) -> models.TableSummary:
    return {**_head(table), "size": table.size, "path": table.path}


@api.post("/api/v1/projects/{project_id}/tables", status=201, takes=models.NewTable)
async def create_table(request: Request, project_id: int) -> models.CreatedTable:
    """Create a table from `{name, data}`; `data` is any JSON value and is kept exactly as sent."""
    return _head(await app_of(request).tables.create(project_id, await pieces(request)))


@api.get("/api/v1/projects/{project_id}/tables")
async def list_tables(request: Request, project_id: int) -> models.Tables:
    """List the tables of a project. `size` counts the bytes of a table's JSON text."""
    async with app_of(request).store.read() as connection:
        return {"tables": [_summary(table) for table in await rows.every(connection, project_id)]}


@api.get("/api/v1/tables/{table_id}", answer=models.Table, errors=("CONTENT_TOO_LARGE",))
async def get_table(request: Request, table_id: int, json_pointer: str = "") -> Response:
    """Show a table with its value, or with the part of it at a JSON pointer."""
    table, text = await until_sent(request, app_of(request).tables.reading(table_id, json_pointer))
    return framed(_head(table), [b'"data":', *text], revision=table.revision)


@api.get("/api/v1/tables/{table_id}/children", answer=models.Children, errors=("CONTENT_TOO_LARGE",))
async def list_children(
    request: Request, table_id: int, json_pointer: str = "", offset: _Offset = 0, limit: _Limit = 100
) -> Response:
    """List the members of the object or list at a JSON pointer, a page at a time, without their values."""
    table, listed = await app_of(request).tables.children(table_id, json_pointer, offset, limit)
    head = {"revision": table.revision, "json_pointer": json_pointer, "offset": offset}
    return framed(head, [listed[1:-1]], revision=table.revision)


_WRITE_ERRORS = ("PRECONDITION_FAILED", "VERSION_CONFLICT", "PATCH_CONFLICT")


@api.put("/api/v1/tables/{table_id}/data", takes=JsonValue, headers=("If-Match",), errors=_WRITE_ERRORS)
async def put_table_data(request: Request, table_id: int, json_pointer: str = "") -> models.Revision:
    """Set the value of a table, or the part of it at a JSON pointer."""
    expected = expected_revision(request)
    return {"revision": await app_of(request).tables.put(table_id, json_pointer, await pieces(request), expected)}


_PATCH = Media(dict.fromkeys(("application/json", "application/json-patch+json"), list[models.PatchOperation]))


@api.patch("/api/v1/tables/{table_id}/data", takes=_PATCH, headers=("If-Match",), errors=_WRITE_ERRORS)
async def patch_table_data(request: Request, table_id: int) -> models.Revision:
    """Apply a JSON Patch (RFC 6902): every operation, or none."""
    expected = expected_revision(request)
    return {"revision": await app_of(request).tables.patch(table_id, await pieces(request), expected)}


@api.get("/api/v1/tables/{table_id}/dependents")
async def get_table_dependents(request: Request, table_id: int) -> Dependents:
    """Count what is deleted together with a table."""
    async with app_of(request).store.read() as connection:
        return encoded_dependents(await dependents.of_table(connection, table_id))


@api.delete("/api/v1/tables/{table_id}")
async def delete_table(request: Request, table_id: int) -> Response:
    """Delete a table with its tools and chunks."""
    await app_of(request).tables.delete(table_id)
    return Response(status_code=204)
