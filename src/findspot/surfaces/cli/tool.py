"""`findspot tool …`: create, list, call and delete tools."""

import json
from typing import Any

import click

from findspot.models import ToolType
from findspot.surfaces.cli.arguments import JSON, TEXT, confirm_first
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.formatting import count
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.printing import done, emit, emit_content, show, show_rows


@click.group(cls=Group)
def command() -> None:
    """Create, list, call and delete tools: what agents may do with a table.

    \b
      findspot tool create 1 1 find_rules
      findspot tool create 1 1 titles --type query_data --pointer /articles
      findspot tool call 1 '{"query": "how long is a trial period?"}'
    """


@command.command()
@click.argument("project_id", type=int)
@click.argument("table_id", type=int)
@click.argument("name", type=TEXT)
@click.option(
    "--type", "type_", type=click.Choice([each.value for each in ToolType]), default="search", show_default=True,
    help="What the tool does.",
)  # fmt: skip
@click.option(
    "--pointer", type=TEXT, default="", metavar="POINTER", help="The part of the table that the tool may use."
)
@click.option("--description", type=TEXT, metavar="TEXT", help="Description for agents; by default generated.")
@click.option("--config", type=JSON, metavar="JSON", help="The search_config of a search tool.")
@api_command
async def create(
    api: Api, project_id: int, table_id: int, name: str, type_: str, pointer: str,
    description: str | None, config: bytes | None,
) -> None:  # fmt: skip
    """Create a tool called NAME on a table. For a search tool, wait until its texts are indexed."""
    body: dict[str, Any] = {"project_id": project_id, "table_id": table_id, "name": name, "type": type_}
    body |= {"json_pointer": pointer} | ({"description": description} if description else {})
    body |= {"search_config": json.loads(config)} if config else {}
    wait = "false" if api.in_process else "true"  # without a server nothing is indexed
    tool = await api.call("POST", "/api/v1/tools", json=body, params={"wait": wait})
    show(tool, api.as_json, done(_created(tool, type_)))


def _created(tool: dict[str, Any], type_: str) -> str:
    text = f"Created tool {tool['tool_id']}, {tool['name']}."
    if type_ != ToolType.SEARCH:
        return text
    if tool["status"] == "pending":
        return f"{text} It is not indexed yet: 'findspot serve' starts a server that indexes it."
    found = tool["large_nodes_detected"]
    chunks = count(sum(each["chunks_count"] for each in found), "chunk")
    return f"{text} It searches {count(len(found), 'long text')} in {chunks}. {tool.get('notice') or ''}".rstrip()


@command.command("list")
@click.argument("project_id", type=int)
@api_command
async def list_(api: Api, project_id: int) -> None:
    """List the tools of a project."""
    found = await api.call("GET", f"/api/v1/projects/{project_id}/tools")
    rows = [(each["id"], each["name"], each["type"], each["table_id"], each["json_pointer"], _index_status(each))
            for each in found["tools"]]  # fmt: skip
    empty = f"Project {project_id} has no tool. 'findspot tool create {project_id} TABLE NAME' creates one."
    show_rows(found, api.as_json, ("id", "name", "type", "table", "pointer", "index"), rows, empty)


def _index_status(tool: dict[str, Any]) -> str:
    return str(tool["metadata"].get("search_index", {}).get("status", ""))


@command.command()
@click.argument("tool_id", type=int)
@click.argument("arguments", metavar="JSON", type=JSON, default="{}")
@api_command
async def call(api: Api, tool_id: int, arguments: bytes) -> None:
    """Call a tool with JSON as its arguments, and print the response that an agent would get."""
    import msgspec

    body = b'{"arguments":%b}' % arguments
    response = await api.raw("POST", f"/api/v1/tools/{tool_id}/call", content=body)
    if api.as_json:
        emit(response.content)
        return
    emit_content(msgspec.json.format(response.content, indent=2))


@command.command()
@click.argument("tool_id", type=int)
@confirm_first("Delete tool {tool_id}?")
@api_command
async def delete(api: Api, tool_id: int) -> None:
    """Delete a tool. Its table is kept."""
    await api.call("DELETE", f"/api/v1/tools/{tool_id}")
    show({"deleted": tool_id}, api.as_json, done(f"Deleted tool {tool_id}."))
