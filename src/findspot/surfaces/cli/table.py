"""`findspot table …`: create, read, change and delete tables."""

import json
from typing import Any

import click

from findspot.surfaces.cli.arguments import DUPLICATE, JSON, OPTIONAL_PROJECT, REFERENCE, TEXT, UNIQUE_REFERENCE, YES
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.deleting import delete_with_dependents
from findspot.surfaces.cli.formatting import size
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.naming import refuse_duplicate
from findspot.surfaces.cli.printing import done, emit, emit_content, show, show_rows

_REVISION = click.option(
    "--if-revision", type=int, metavar="N", help="Change it only if the table is still at revision N."
)


@click.group(cls=Group)
def command() -> None:
    """Create, read, change and delete JSON tables.

    A JSON argument is the text itself, '-' for standard input, or '@FILE'. A POINTER (RFC 6901) selects a part of a
    table: '' is the whole table, '/books/0/title' the title of the first book.

    \b
      findspot table create library books @books.json
      findspot table get books /0/title
      findspot table set books /0/title '"Mardi"'
      findspot table patch books '[{"op": "remove", "path": "/0"}]'
    """


@command.command()
@OPTIONAL_PROJECT
@click.argument("name", type=TEXT)
@click.argument("value", metavar="JSON", type=JSON)
@DUPLICATE
@api_command
async def create(api: Api, project_id: int, name: str, value: bytes, duplicate: bool) -> None:
    """Create a table called NAME with JSON as its value."""
    await refuse_duplicate(api, "table_id", project_id, name, duplicate)
    body = b'{"name":%b,"data":%b}' % (json.dumps(name).encode(), value)
    table = await api.call("POST", f"/api/v1/projects/{project_id}/tables", content=body)
    show(table, api.as_json, done(f"Created table {table['id']}, {table['name']}."))


@command.command("list")
@OPTIONAL_PROJECT
@api_command
async def list_(api: Api, project_id: int) -> None:
    """List the tables of a project."""
    found = await api.call("GET", f"/api/v1/projects/{project_id}/tables")
    rows = [
        (each["id"], each["name"], each["path"] or "", each["revision"], size(each["size"])) for each in found["tables"]
    ]
    empty = f"Project {project_id} has no table. 'findspot table create {project_id} NAME JSON' creates one."
    show_rows(found, api.as_json, ("id", "name", "path", "revision", "size"), rows, empty)


@command.command()
@click.argument("table_id", metavar="TABLE", type=REFERENCE)
@click.argument("pointer", default="", type=TEXT)
@click.option("--raw", is_flag=True, help="Print the text as it was sent, not indented.")
@api_command
async def get(api: Api, table_id: int, pointer: str, raw: bool) -> None:
    """Print the value of a table, or the part at POINTER."""
    import msgspec

    response = await api.raw("GET", f"/api/v1/tables/{table_id}", params={"json_pointer": pointer})
    if api.as_json:
        emit(response.content)
        return
    value = bytes(msgspec.json.decode(response.content, type=dict[str, msgspec.Raw])["data"])
    emit_content(value if raw else msgspec.json.format(value, indent=2))


@command.command("set")
@click.argument("table_id", metavar="TABLE", type=REFERENCE)
@click.argument("pointer", type=TEXT)
@click.argument("value", metavar="JSON", type=JSON)
@_REVISION
@api_command
async def set_(api: Api, table_id: int, pointer: str, value: bytes, if_revision: int | None) -> None:
    """Set the value at POINTER to JSON. The pointer '' is the whole table; '/list/-' appends to a list."""
    await _change(api, "PUT", table_id, value, if_revision, params={"json_pointer": pointer})


@command.command()
@click.argument("table_id", metavar="TABLE", type=REFERENCE)
@click.argument("value", metavar="JSON", type=JSON)
@_REVISION
@api_command
async def patch(api: Api, table_id: int, value: bytes, if_revision: int | None) -> None:
    """Apply a JSON Patch (RFC 6902) to a table, completely or not at all."""
    await _change(api, "PATCH", table_id, value, if_revision)


async def _change(api: Api, method: str, table_id: int, value: bytes, if_revision: int | None, **options: Any) -> None:
    headers = {} if if_revision is None else {"If-Match": str(if_revision)}
    response = await api.call(method, f"/api/v1/tables/{table_id}/data", content=value, headers=headers, **options)
    show(response, api.as_json, done(f"Table {table_id} is at revision {response['revision']}."))


@command.command()
@click.argument("table_id", metavar="TABLE", type=UNIQUE_REFERENCE)
@YES
@api_command
async def delete(api: Api, table_id: int, yes: bool) -> None:
    """Delete a table, its tools and its chunks."""
    path = f"/api/v1/tables/{table_id}"
    await delete_with_dependents(api, path, f"table {table_id}", table_id, yes)
