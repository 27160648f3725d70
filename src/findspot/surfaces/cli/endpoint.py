"""`findspot endpoint …`"""

from typing import Any

import click

from findspot.surfaces.cli.arguments import TEXT, asks_first
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.printing import done, facts, show, show_rows
from findspot.surfaces.cli.wording import ago


@click.group(cls=Group)
def command() -> None:
    """Make endpoints for agents, and say which tools stand behind them.

    \b
      findspot endpoint create 1 'my agent' 1 2
      findspot endpoint disable 1 2
    """


@command.command()
@click.argument("project_id", type=int)
@click.argument("name", type=TEXT)
@click.argument("tool_ids", metavar="[TOOL_ID]...", type=int, nargs=-1)
@api_command
async def create(api: Api, project_id: int, name: str, tool_ids: tuple[int, ...]) -> None:
    """Make an endpoint called NAME with these tools. Its key is shown now and never again."""
    body = {"project_id": project_id, "name": name, "tool_ids": list(tool_ids)}
    endpoint = await api.call("POST", "/api/v1/mcp", json=body)
    text = done(f"Endpoint {endpoint['id']} is called {endpoint['name']}. Keep its key well; it cannot be shown again:")
    show(endpoint, api.as_json, f"{text}\n\n{facts([('url', endpoint['url']), ('key', endpoint['api_key'])])}\n")


@command.command("list")
@click.argument("project_id", type=int)
@api_command
async def list_(api: Api, project_id: int) -> None:
    """List the endpoints of a project."""
    found = await api.call("GET", f"/api/v1/projects/{project_id}/mcp")
    rows = [(each["id"], each["name"], each["url"], ago(each["created_at"])) for each in found["endpoints"]]
    empty = f"Project {project_id} has no endpoint. 'findspot endpoint create {project_id} NAME TOOL_ID' makes one."
    show_rows(found, api.as_json, ("id", "name", "url", "made"), rows, empty)


@command.command()
@click.argument("endpoint_id", type=int)
@api_command
async def tools(api: Api, endpoint_id: int) -> None:
    """List the tools of an endpoint."""
    found = await api.call("GET", f"/api/v1/mcp/{endpoint_id}")
    rows = [(each["tool_id"], each["name"], each["type"], "yes" if each["enabled"] else "no")
            for each in found["tools"]]  # fmt: skip
    empty = f"Endpoint {endpoint_id} has no tool. 'findspot endpoint bind {endpoint_id} TOOL_ID' adds one."
    show_rows(found, api.as_json, ("id", "name", "type", "enabled"), rows, empty)


@command.command()
@click.argument("endpoint_id", type=int)
@click.argument("tool_id", type=int)
@api_command
async def bind(api: Api, endpoint_id: int, tool_id: int) -> None:
    """Add a tool to an endpoint, from this moment on."""
    await _change(api, "PUT", endpoint_id, tool_id, f"Endpoint {endpoint_id} has tool {tool_id} now.")


@command.command()
@click.argument("endpoint_id", type=int)
@click.argument("tool_id", type=int)
@api_command
async def unbind(api: Api, endpoint_id: int, tool_id: int) -> None:
    """Take a tool from an endpoint, from this moment on."""
    await _change(api, "DELETE", endpoint_id, tool_id, f"Endpoint {endpoint_id} no longer has tool {tool_id}.")


@command.command()
@click.argument("endpoint_id", type=int)
@click.argument("tool_id", type=int)
@api_command
async def enable(api: Api, endpoint_id: int, tool_id: int) -> None:
    """Let agents see and call a tool of an endpoint again."""
    text = f"Agents at endpoint {endpoint_id} see tool {tool_id}."
    await _change(api, "PATCH", endpoint_id, tool_id, text, json={"enabled": True})


@command.command()
@click.argument("endpoint_id", type=int)
@click.argument("tool_id", type=int)
@api_command
async def disable(api: Api, endpoint_id: int, tool_id: int) -> None:
    """Hide a tool from the agents at an endpoint, from this moment on."""
    text = f"Agents at endpoint {endpoint_id} no longer see tool {tool_id}."
    await _change(api, "PATCH", endpoint_id, tool_id, text, json={"enabled": False})


async def _change(api: Api, method: str, endpoint_id: int, tool_id: int, text: str, **options: Any) -> None:
    answer = await api.call(method, f"/api/v1/mcp/{endpoint_id}/tools/{tool_id}", **options)
    show(answer or {"endpoint_id": endpoint_id, "unbound": tool_id}, api.as_json, done(text))


@command.command("rotate-key")
@click.argument("endpoint_id", type=int)
@api_command
async def rotate_key(api: Api, endpoint_id: int) -> None:
    """Give an endpoint another key. The one before opens nothing from this moment on."""
    answer = await api.call("POST", f"/api/v1/mcp/{endpoint_id}/rotate-key")
    text = done(f"Endpoint {endpoint_id} has another key. Keep it well; it cannot be shown again:")
    show(answer, api.as_json, f"{text}\n\n  {answer['api_key']}\n")


@command.command()
@click.argument("endpoint_id", type=int)
@asks_first("Delete endpoint {endpoint_id}?")
@api_command
async def delete(api: Api, endpoint_id: int) -> None:
    """Delete an endpoint. Its tools stay."""
    await api.call("DELETE", f"/api/v1/mcp/{endpoint_id}")
    show({"deleted": endpoint_id}, api.as_json, done(f"Endpoint {endpoint_id} is deleted."))
