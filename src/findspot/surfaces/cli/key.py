"""`findspot key …`: create, list and revoke keys."""

import click

from findspot.surfaces.cli.arguments import OPTIONAL_PROJECT, TEXT
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.formatting import ago
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.printing import done, show, show_rows


@click.group(cls=Group)
def command() -> None:
    """Create, list and revoke the keys of a project."""


@command.command()
@OPTIONAL_PROJECT
@click.argument("name", type=TEXT)
@click.option(
    "--role", type=click.Choice(["read", "write", "admin"]), default="read", show_default=True,
    help="What the key may do.",
)  # fmt: skip
@api_command
async def create(api: Api, project_id: int, name: str, role: str) -> None:
    """Create a key called NAME. Its secret is shown only once."""
    body = {"name": name, "role": role}
    key = await api.call("POST", f"/api/v1/projects/{project_id}/keys", json=body)
    text = f"Created key {key['id']} with the role '{key['role']}' in project {project_id}."
    show(key, api.as_json, f"{done(f'{text} Keep it: it cannot be shown again.')}\n\n  {key['key']}\n")


@command.command("list")
@OPTIONAL_PROJECT
@api_command
async def list_(api: Api, project_id: int) -> None:
    """List the keys of a project, without their secrets."""
    found = await api.call("GET", f"/api/v1/projects/{project_id}/keys")
    rows = [(key["id"], key["name"], key["role"], key["hint"], ago(key["created_at"])) for key in found["keys"]]
    empty = f"Project {project_id} has no key. 'findspot key create {project_id} NAME' creates one."
    show_rows(found, api.as_json, ("id", "name", "role", "begins", "created"), rows, empty)


@command.command()
@OPTIONAL_PROJECT
@click.argument("key_id", type=int)
@api_command
async def revoke(api: Api, project_id: int, key_id: int) -> None:
    """Revoke a key. It stops working at once."""
    await api.call("DELETE", f"/api/v1/projects/{project_id}/keys/{key_id}")
    show({"revoked": key_id}, api.as_json, done(f"Revoked key {key_id}."))
