"""`findspot endpoint …`: create endpoints for agents and choose their tools."""

from typing import Any

import click

from findspot.surfaces.cli.arguments import (
    DUPLICATE,
    OPTIONAL_PROJECT,
    PROJECT,
    REFERENCE,
    TEXT,
    UNIQUE_REFERENCE,
    YES,
    confirm,
)
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.formatting import ago, count
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.naming import refuse_duplicate
from findspot.surfaces.cli.printing import done, emit, facts, hang, show, show_rows


@click.group(cls=Group)
def command() -> None:
    """Create endpoints for agents and choose their tools.

    \b
      findspot endpoint create library 'my agent' find_books list_books
      findspot endpoint disable 'my agent' list_books
    """


@command.command()
@PROJECT
@click.argument("name", type=TEXT)
@click.argument("tool_ids", metavar="[TOOL]...", type=REFERENCE, nargs=-1)
@click.option("--lean", is_flag=True, help="Leave metadata out of search hits: fewer tokens for the model.")
@click.option("--no-reading", is_flag=True, help="Do not add a reading tool beside each search tool.")
@DUPLICATE
@api_command
async def create(
    api: Api, project_id: int, name: str, tool_ids: tuple[int, ...], lean: bool, no_reading: bool, duplicate: bool
) -> None:
    """Create an endpoint called NAME with these tools. Its key is shown only once."""
    await refuse_duplicate(api, "endpoint_id", project_id, name, duplicate)
    body = {"project_id": project_id, "name": name, "tool_ids": list(tool_ids)}
    body |= {"lean": lean, "reading": not no_reading}
    endpoint = await api.call("POST", "/api/v1/mcp", json=body)
    text = done(f"Created endpoint {endpoint['id']}, {endpoint['name']}. Keep its key: it cannot be shown again.")
    show(endpoint, api.as_json, f"{text}\n\n{facts([('url', endpoint['url']), ('key', endpoint['api_key'])])}\n")


@command.command("list")
@OPTIONAL_PROJECT
@api_command
async def list_(api: Api, project_id: int) -> None:
    """List the endpoints of a project."""
    found = await api.call("GET", f"/api/v1/projects/{project_id}/mcp")
    rows = [(each["id"], each["name"], each["url"], ago(each["created_at"])) for each in found["endpoints"]]
    empty = f"Project {project_id} has no endpoint. 'findspot endpoint create {project_id} NAME TOOL' creates one."
    show_rows(found, api.as_json, ("id", "name", "url", "created"), rows, empty)


@command.command()
@click.argument("endpoint_id", metavar="ENDPOINT", type=REFERENCE)
@api_command
async def tools(api: Api, endpoint_id: int) -> None:
    """List the tools of an endpoint."""
    found = await api.call("GET", f"/api/v1/mcp/{endpoint_id}")
    rows = [(each["tool_id"], each["name"], each["type"], "yes" if each["enabled"] else "no")
            for each in found["tools"]]  # fmt: skip
    empty = f"Endpoint {endpoint_id} has no tool. 'findspot endpoint bind {endpoint_id} TOOL' adds one."
    show_rows(found, api.as_json, ("id", "name", "type", "enabled"), rows, empty)
    if rows and not api.as_json and (text := _shown(found)):
        emit(f"\n{hang(text, 0)}")


def _shown(endpoint: dict[str, Any]) -> str:
    """Return how an endpoint shows its search tools, or "" if it has none."""
    if not any(tool["enabled"] and tool["type"] in ("search", "search_documents") for tool in endpoint["tools"]):
        return ""
    reading = "Agents also see a reading tool beside each search tool." if endpoint["reading"] else ""
    return f"{reading} {'Answers are lean.' if endpoint['lean'] else ''}".strip()


@command.command()
@click.argument("endpoint_id", metavar="ENDPOINT", type=REFERENCE)
@click.argument("tool_id", metavar="TOOL", type=REFERENCE)
@api_command
async def bind(api: Api, endpoint_id: int, tool_id: int) -> None:
    """Add a tool to an endpoint. It takes effect at once."""
    await _change(api, "PUT", endpoint_id, tool_id, f"Added tool {tool_id} to endpoint {endpoint_id}.")


@command.command()
@click.argument("endpoint_id", metavar="ENDPOINT", type=REFERENCE)
@click.argument("tool_id", metavar="TOOL", type=REFERENCE)
@api_command
async def unbind(api: Api, endpoint_id: int, tool_id: int) -> None:
    """Remove a tool from an endpoint. It takes effect at once."""
    await _change(api, "DELETE", endpoint_id, tool_id, f"Removed tool {tool_id} from endpoint {endpoint_id}.")


@command.command()
@click.argument("endpoint_id", metavar="ENDPOINT", type=REFERENCE)
@click.argument("tool_id", metavar="TOOL", type=REFERENCE)
@api_command
async def enable(api: Api, endpoint_id: int, tool_id: int) -> None:
    """Show a tool of an endpoint to agents again."""
    text = f"Agents of endpoint {endpoint_id} can see tool {tool_id}."
    await _change(api, "PATCH", endpoint_id, tool_id, text, json={"enabled": True})


@command.command()
@click.argument("endpoint_id", metavar="ENDPOINT", type=REFERENCE)
@click.argument("tool_id", metavar="TOOL", type=REFERENCE)
@api_command
async def disable(api: Api, endpoint_id: int, tool_id: int) -> None:
    """Hide a tool from the agents of an endpoint. It takes effect at once."""
    text = f"Agents of endpoint {endpoint_id} cannot see tool {tool_id}."
    await _change(api, "PATCH", endpoint_id, tool_id, text, json={"enabled": False})


async def _change(api: Api, method: str, endpoint_id: int, tool_id: int, text: str, **options: Any) -> None:
    response = await api.call(method, f"/api/v1/mcp/{endpoint_id}/tools/{tool_id}", **options)
    show(response or {"endpoint_id": endpoint_id, "unbound": tool_id}, api.as_json, done(text))


@command.command("rotate-key")
@click.argument("endpoint_id", metavar="ENDPOINT", type=REFERENCE)
@api_command
async def rotate_key(api: Api, endpoint_id: int) -> None:
    """Replace the key of an endpoint. The old key stops working at once."""
    response = await api.call("POST", f"/api/v1/mcp/{endpoint_id}/rotate-key")
    text = done(f"Endpoint {endpoint_id} has a new key. Keep it: it cannot be shown again.")
    show(response, api.as_json, f"{text}\n\n  {response['api_key']}\n")


@command.command()
@click.argument("endpoint_id", metavar="ENDPOINT", type=UNIQUE_REFERENCE)
@YES
@api_command
async def delete(api: Api, endpoint_id: int, yes: bool) -> None:
    """Delete an endpoint. Its tools are kept."""
    found = await api.call("GET", f"/api/v1/mcp/{endpoint_id}")
    kept = f"{count(len(found['tools']), 'tool')}, which {'is' if len(found['tools']) == 1 else 'are'} kept"
    what = f"Agents lose endpoint {endpoint_id}, {found['name']}, with {kept}."
    confirm(f"Delete endpoint {endpoint_id}?", yes, what)
    await api.call("DELETE", f"/api/v1/mcp/{endpoint_id}")
    show({"deleted": endpoint_id}, api.as_json, done(f"Deleted endpoint {endpoint_id}, {found['name']}."))
