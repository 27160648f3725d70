"""`findspot project …`"""

import click

from findspot.surfaces.cli.connect import Api, api_command, confirm
from findspot.surfaces.cli.outcome import done, show, show_rows


@click.group()
def command() -> None:
    """Make, list, show and delete projects. A project owns tables, documents, tools and keys."""


@command.command()
@click.argument("name")
@api_command
async def create(api: Api, name: str) -> None:
    """Make a project called NAME."""
    project = await api.call("POST", "/api/v1/projects", json={"name": name})
    show(project, api.as_json, done(f"Project {project['id']} is called {project['name']}."))


@command.command("list")
@api_command
async def list_(api: Api) -> None:
    """List the projects."""
    found = await api.call("GET", "/api/v1/projects")
    empty = "There is no project yet. 'findspot project create NAME' makes one."
    show_rows(found, api.as_json, found["projects"], ("id", "name", "created_at"), empty)


@command.command()
@click.argument("project_id", type=int)
@api_command
async def status(api: Api, project_id: int) -> None:
    """Show what a project holds and how far its indexes are."""
    project = await api.call("GET", f"/api/v1/projects/{project_id}")
    found = await api.call("GET", f"/api/v1/projects/{project_id}/status")
    lines = [
        f"{project['name']} (project {project_id})",
        f"  tables     {found['tables']:,} ({found['disk']['table_bytes']:,} bytes)",
        f"  documents  {found['documents']:,}",
        f"  chunks     {found['chunks']:,}",
        f"  index      {found['index_state']}",
        *(f"  error      {error['namespace']}: {error['message']}" for error in found["last_errors"]),
    ]
    show(found, api.as_json, "\n".join(lines))


@command.command()
@click.argument("project_id", type=int)
@click.option("--yes", is_flag=True, help="Do not ask.")
@api_command
async def delete(api: Api, project_id: int, yes: bool) -> None:
    """Delete a project with everything in it."""
    confirm(f"Delete project {project_id} with all its tables and documents?", yes)
    await api.call("DELETE", f"/api/v1/projects/{project_id}")
    show({"deleted": project_id}, api.as_json, done(f"Project {project_id} is deleted."))
