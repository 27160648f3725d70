"""`findspot tool …`: create, list, change, call and delete tools."""

import json
from typing import Any

import click

from findspot.models import ToolType
from findspot.surfaces.cli.arguments import (
    DUPLICATE,
    JSON,
    OPTIONAL_PROJECT,
    REFERENCE,
    TABLE_OR_NONE,
    TEXT,
    UNIQUE_REFERENCE,
    YES,
)
from findspot.surfaces.cli.connect import Api, api_command
from findspot.surfaces.cli.deleting import delete_with_dependents
from findspot.surfaces.cli.formatting import count
from findspot.surfaces.cli.groups import Group
from findspot.surfaces.cli.naming import refuse_duplicate
from findspot.surfaces.cli.printing import done, emit, emit_content, facts, show, show_rows, styled


@click.group(cls=Group)
def command() -> None:
    """Create, list, call and delete tools: what agents may do with a table.

    \b
      findspot tool create library books find_books
      findspot tool create library books titles --type query_data --pointer /articles
      findspot tool create library - find_documents --type search_documents
      findspot tool call find_books '{"query": "how long is a trial period?"}'
    """


@command.command()
@OPTIONAL_PROJECT
@click.argument("table_id", metavar="TABLE", type=TABLE_OR_NONE)
@click.argument("name", type=TEXT)
@click.option(
    "--type", "type_", type=click.Choice([each.value for each in ToolType]), default="search", show_default=True,
    help="What the tool does.",
)  # fmt: skip
@click.option(
    "--pointer", type=TEXT, default="", metavar="POINTER", help="The part of the table that the tool may use."
)
@click.option("--description", type=TEXT, metavar="TEXT", help="Description for agents; by default generated.")
@click.option("--allow-missing", is_flag=True, help="Accept a pointer to data that comes later.")
@click.option("--config", type=JSON, metavar="JSON", help="The search_config of a search tool.")
@click.option(
    "--documents", type=JSON, metavar="JSON",
    help="The documents of a tool on documents: path_prefix, types, document_ids. Default: all.",
)  # fmt: skip
@DUPLICATE
@api_command
async def create(
    api: Api, project_id: int, table_id: int | None, name: str, type_: str, pointer: str,
    allow_missing: bool, description: str | None, config: bytes | None, documents: bytes | None, duplicate: bool,
) -> None:  # fmt: skip
    """Create a tool called NAME on a table. For a search tool, wait until its texts are indexed.

    For a tool on documents, TABLE is '-'.
    """
    await refuse_duplicate(api, "tool_id", project_id, name, duplicate)
    body: dict[str, Any] = {"project_id": project_id, "name": name, "type": type_, "allow_missing": allow_missing}
    body |= {"json_pointer": pointer} | ({"description": description} if description else {})
    body |= {"table_id": table_id} if table_id is not None else {}
    body |= {"search_config": json.loads(config)} if config else {}
    body |= {"documents": json.loads(documents)} if documents else {}
    wait = "false" if api.in_process else "true"  # without a server nothing is indexed
    tool = await api.call("POST", "/api/v1/tools", json=body, params={"wait": wait})
    has_threshold = "chunk_threshold" in (body.get("search_config") or {})
    show(tool, api.as_json, done(_created(tool, type_, has_threshold)))


def _created(tool: dict[str, Any], type_: str, has_threshold: bool) -> str:
    text = f"Created tool {tool['tool_id']}, {tool['name']}."
    if type_ != ToolType.SEARCH:
        return text
    if tool["status"] == "pending":
        return f"{text} It is not indexed yet: 'findspot serve' starts a server that indexes it."
    texts, chunks = count(tool["nodes_count"], "text"), count(tool["chunks_count"], "chunk")
    text = f"{text} It searches {texts} in {chunks}."
    if not tool["nodes_count"]:
        return f"{text} {tool.get('notice') or ''}".rstrip()
    return text if has_threshold else f"{text} {_left_out()}"


def _left_out() -> str:
    """Return which strings a search tool leaves out, which its creator may not know."""
    from findspot.settings import CHUNK_THRESHOLD

    shorter = f"Strings of fewer than {CHUNK_THRESHOLD:,} characters are left out;"
    return f"{shorter} --config '{{\"chunk_threshold\": 1}}' includes them."


@command.command("list")
@OPTIONAL_PROJECT
@api_command
async def list_(api: Api, project_id: int) -> None:
    """List the tools of a project."""
    found = await api.call("GET", f"/api/v1/projects/{project_id}/tools")
    rows = [(each["id"], each["name"], each["type"], each["table_id"] or "-", each["json_pointer"], _index_status(each))
            for each in found["tools"]]  # fmt: skip
    empty = f"Project {project_id} has no tool. 'findspot tool create {project_id} TABLE NAME' creates one."
    show_rows(found, api.as_json, ("id", "name", "type", "table", "pointer", "index"), rows, empty)


def _index_status(tool: dict[str, Any]) -> str:
    return str(tool["metadata"].get("search_index", {}).get("status", ""))


@command.command()
@click.argument("tool_id", metavar="TOOL", type=REFERENCE)
@click.option("--name", type=TEXT, metavar="NAME", help="A new name.")
@click.option("--description", type=TEXT, metavar="TEXT", help="A new description for agents.")
@click.option("--pointer", type=TEXT, metavar="POINTER", help="Another part of the table.")
@click.option("--allow-missing", is_flag=True, help="Accept a pointer to data that comes later.")
@click.option("--config", type=JSON, metavar="JSON", help="The search_config; it replaces the one before.")
@click.option("--documents", type=JSON, metavar="JSON", help="The documents of a tool on documents.")
@DUPLICATE
@api_command
async def update(
    api: Api, tool_id: int, name: str | None, description: str | None, pointer: str | None, allow_missing: bool,
    config: bytes | None, documents: bytes | None, duplicate: bool,
) -> None:  # fmt: skip
    """Change a tool. What is not named stays as it is."""
    if name is not None:
        before = await api.call("GET", f"/api/v1/tools/{tool_id}")
        await refuse_duplicate(api, "tool_id", before["project_id"], name, duplicate or name == before["name"])
    changes = {"name": name, "description": description, "json_pointer": pointer}
    body: dict[str, Any] = {field: value for field, value in changes.items() if value is not None}
    body |= {"allow_missing": True} if allow_missing else {}
    body |= {"search_config": json.loads(config)} if config else {}
    body |= {"documents": json.loads(documents)} if documents else {}
    tool = await api.call("PATCH", f"/api/v1/tools/{tool_id}", json=body)
    show(tool, api.as_json, done(f"Changed tool {tool_id}, {tool['name']}."))


@command.command()
@click.argument("tool_id", metavar="TOOL", type=REFERENCE)
@api_command
async def describe(api: Api, tool_id: int) -> None:
    """Show a tool as a model sees it, and how many tokens that takes."""
    from findspot import tokens

    tool = await api.call("GET", f"/api/v1/tools/{tool_id}")
    parts = {"description": tool["description"], "input": tool["input_schema"], "output": tool["output_schema"]}
    counts = {
        name: tokens.count(
            each if isinstance(each, str) else json.dumps(each, ensure_ascii=False, separators=(",", ":"))
        )
        for name, each in parts.items()
    }
    lines = [
        ("description", f"{tool['description']} ({count(counts['description'], 'token')})"),
        ("arguments", f"{_arguments(tool['input_schema'])} ({count(counts['input'], 'token')})"),
        ("answer", f"{', '.join(tool['output_schema']['properties'])} ({count(counts['output'], 'token')})"),
    ]
    title = (
        styled(tool["name"], bold=True) + f" (tool {tool_id}, {tool['type']}): {count(sum(counts.values()), 'token')}"
    )
    text = f"{title}\n{facts(lines)}\n\n'--json' prints the schemas."
    show({**parts, "name": tool["name"], "tokens": counts}, api.as_json, text)


def _arguments(schema: dict[str, Any]) -> str:
    """Return the arguments of a tool as a list to read, one on each line."""
    lines = []
    for name, each in schema["properties"].items():
        kind = each.get("type", "any value")
        kinds = " or ".join(kind) if isinstance(kind, list) else kind
        needed = "required" if name in schema["required"] else f"default {each['default']}" if "default" in each else ""
        lines.append(f"{name}: {', '.join(filter(None, (kinds, needed)))}. {each.get('description', '')}".rstrip())
    return "\n".join(lines) or "none"


@command.command()
@click.argument("tool_id", metavar="TOOL", type=REFERENCE)
@click.argument("arguments", metavar="JSON", type=JSON, default="{}")
@api_command
async def call(api: Api, tool_id: int, arguments: bytes) -> None:
    """Call a tool with JSON as its arguments. Print the answer that an agent would get."""
    import msgspec

    body = b'{"arguments":%b}' % arguments
    response = await api.raw("POST", f"/api/v1/tools/{tool_id}/call", content=body)
    if api.as_json:
        emit(response.content)
        return
    emit_content(msgspec.json.format(response.content, indent=2))


@command.command()
@click.argument("tool_id", metavar="TOOL", type=UNIQUE_REFERENCE)
@YES
@api_command
async def delete(api: Api, tool_id: int, yes: bool) -> None:
    """Delete a tool. Its table is kept."""
    path = f"/api/v1/tools/{tool_id}"
    await delete_with_dependents(api, path, f"tool {tool_id}", tool_id, yes)
