"""`findspot project …`: create, list, show and delete projects."""

from typing import Any

import click

from findspot.surfaces.cli.arguments import OPTIONAL_PROJECT, TEXT, UNIQUE_REFERENCE, YES
from findspot.surfaces.cli.connect import Api, api_command, creating_command
from findspot.surfaces.cli.deleting import delete_with_dependents
from findspot.surfaces.cli.formatting import ago, size
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.index_status import progress_line
from findspot.surfaces.cli.last_project import remember
from findspot.surfaces.cli.printing import done, facts, show, show_rows, styled


@click.group(cls=Group)
def command() -> None:
    """Create, list, show and delete projects. A project owns tables, documents, tools and keys."""


@command.command()
@click.argument("name", type=TEXT)
@creating_command
async def create(api: Api, name: str) -> None:
    """Create a project called NAME. It becomes the default of the next commands."""
    same = [each["id"] for each in (await api.call("GET", "/api/v1/projects"))["projects"] if each["name"] == name]
    project = await api.call("POST", "/api/v1/projects", json={"name": name})
    remember(api.where, project["id"])
    show(project, api.as_json, done(_created(project, same)))


def _created(project: dict[str, Any], same: list[int]) -> str:
    text = f"Created project {project['id']}, {project['name']}."
    if not same:
        return text
    who = f"Project {same[0]} has" if len(same) == 1 else f"{len(same)} other projects have"
    return f"{text} {who} the same name: in the next commands, '{project['name']}' means the one used last."


@command.command("list")
@api_command
async def list_(api: Api) -> None:
    """List the projects."""
    found = await api.call("GET", "/api/v1/projects")
    rows = [(each["id"], each["name"], ago(each["created_at"])) for each in found["projects"]]
    empty = "There is no project yet. 'findspot project create NAME' creates one."
    show_rows(found, api.as_json, ("id", "name", "created"), rows, empty)


@command.command()
@OPTIONAL_PROJECT
@api_command
async def status(api: Api, project_id: int) -> None:
    """Show what a project contains and the state of its indexes."""
    project = await api.call("GET", f"/api/v1/projects/{project_id}")
    found = await api.call("GET", f"/api/v1/projects/{project_id}/status")
    lines = [
        ("created", ago(project["created_at"])),
        ("tables", f"{found['tables']:,}, {size(found['disk']['table_bytes'])}"),
        ("documents", _documents(found)),
        ("chunks", f"{found['chunks']:,}"),
        ("index", found["index_state"]),
        *((index["namespace"], progress_line(index)) for index in found["namespaces"] if index["step"] != "ready"),
        *(("error", f"{error['namespace']}: {error['message']}") for error in found["last_errors"]),
    ]
    title = f"{styled(project['name'], bold=True)} (project {project_id})"
    show(found, api.as_json, f"{title}\n{facts(lines)}")


def _documents(found: dict[str, Any]) -> str:
    total, indexed = found["documents"], found["indexed_documents"]
    return f"{total:,}" if indexed == total else f"{total:,}, {indexed:,} of them indexed"


@command.command()
@click.argument("project_id", metavar="PROJECT", type=UNIQUE_REFERENCE)
@YES
@api_command
async def delete(api: Api, project_id: int, yes: bool) -> None:
    """Delete a project and everything in it."""
    path = f"/api/v1/projects/{project_id}"
    await delete_with_dependents(api, path, f"project {project_id}", project_id, yes)
