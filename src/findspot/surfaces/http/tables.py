"""JSON tables over HTTP. Values pass through as the bytes they are; only the frame around them is made here."""

from typing import Any

from fastapi import Request, Response

from findspot.app import App
from findspot.models import Table
from findspot.store import tables as rows
from findspot.surfaces.http.answers import anything, framed, listed
from findspot.surfaces.http.body import expected_revision, pieces
from findspot.surfaces.http.router import router

api = router("tables")


def _summary(table: Table) -> dict[str, Any]:
    return {"id": table.id, "name": table.name, "revision": table.revision, "size": table.size}


@api.post("/api/v1/projects/{project_id}/tables", status_code=201, openapi_extra=anything("application/json"))
async def create_table(request: Request, project_id: int) -> dict[str, Any]:
    """Make a table from `{name, data}`; `data` is any JSON value and is kept exactly as sent."""
    app: App = request.app.state.app
    table = await app.tables.create(project_id, await pieces(request))
    return {"id": table.id, "project_id": table.project_id, "name": table.name, "revision": table.revision}


@api.get("/api/v1/projects/{project_id}/tables")
async def list_tables(request: Request, project_id: int) -> Response:
    """The tables of a project. `size` counts the bytes of a table's JSON text."""
    app: App = request.app.state.app
    async with app.store.read() as connection:
        return listed("tables", [_summary(table) for table in await rows.every(connection, project_id)])


@api.get("/api/v1/tables/{table_id}")
async def get_table(request: Request, table_id: int, json_pointer: str = "") -> Response:
    """A table with its value, or the part of it at a JSON pointer."""
    app: App = request.app.state.app
    table, text = await app.tables.read(table_id, json_pointer)
    head = {"id": table.id, "project_id": table.project_id, "name": table.name, "revision": table.revision}
    return framed(head, [b'"data":', *text], revision=table.revision)


@api.put("/api/v1/tables/{table_id}/data", openapi_extra=anything("application/json"))
async def put_data(request: Request, table_id: int, json_pointer: str = "") -> dict[str, Any]:
    """Set the value of a table, or the part of it at a JSON pointer."""
    app: App = request.app.state.app
    expected = expected_revision(request)
    return {"revision": await app.tables.put(table_id, json_pointer, await pieces(request), expected)}


@api.patch("/api/v1/tables/{table_id}/data", openapi_extra=anything("application/json-patch+json"))
async def patch_data(request: Request, table_id: int) -> dict[str, Any]:
    """Apply a JSON Patch (RFC 6902): every operation, or none."""
    app: App = request.app.state.app
    expected = expected_revision(request)
    return {"revision": await app.tables.patch(table_id, await pieces(request), expected)}


@api.delete("/api/v1/tables/{table_id}", status_code=204)
async def delete_table(request: Request, table_id: int) -> Response:
    """Delete a table with its tools and chunks."""
    app: App = request.app.state.app
    await app.tables.delete(table_id)
    return Response(status_code=204)
