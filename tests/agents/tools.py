"""Creating and calling tools in tests."""

import json
from typing import Any

import pytest

from findspot.agents.schemas import NewSearchTool, NewTool
from findspot.app import App
from findspot.errors import FindspotError
from findspot.models import OWNER, Table, Tool
from tests import flows
from tests.flows import read_table


def new_tool(**spec: Any) -> NewTool:
    return NewTool.model_validate(spec)


def new_search(**spec: Any) -> NewSearchTool:
    return NewSearchTool.model_validate(spec)


async def make_table(app: App, data: Any, *, raw: str | None = None) -> Table:
    project_id = await flows.make_project(app)
    text = raw if raw is not None else json.dumps(data, ensure_ascii=False)
    return await app.tables.create(project_id, f'{{"name": "t", "data": {text}}}'.encode())


async def make_tool(app: App, table: Table, type: str, pointer: str = "", **more: Any) -> Tool:
    spec = {"project_id": table.project_id, "table_id": table.id, "name": f"{type}-it", "json_pointer": pointer}
    more.setdefault("allow_missing", True)
    return (await app.tools.create(table.project_id, new_tool(**spec, type=type, **more))).tool


async def data(app: App, table: Table, pointer: str = "") -> Any:
    _, text = await read_table(app, table.id, pointer)
    return json.loads(text)


async def call(app: App, table: Table, type: str, arguments: dict[str, Any], pointer: str = "", **more: Any) -> Any:
    return await app.tool_calls.call(await make_tool(app, table, type, pointer, **more), arguments, OWNER)


async def refused(app: App, table: Table, type: str, arguments: Any, code: str, pointer: str = "") -> str:
    """Return the message with which a call is refused, and check that the table is unchanged."""
    before, tool = await data(app, table), await make_tool(app, table, type, pointer)
    with pytest.raises(FindspotError) as caught:
        await app.tool_calls.call(tool, arguments, OWNER)
    assert caught.value.code == code, caught.value.message
    assert await data(app, table) == before
    return caught.value.message


ENGLISH = "The tide follows the moon across the bay, twice a day. " * 40


CHINESE = "潮汐随着月亮涨落，每天两次，海湾里的渔船都知道。" * 60


def search_spec(table: Table, pointer: str = "", name: str = "s", **config: Any) -> NewSearchTool:
    where = {"project_id": table.project_id, "table_id": table.id, "json_pointer": pointer}
    return new_search(**where, name=name, search_config={"chunk_threshold": 1, **config})


def is_located(value: Any, scope: str, result: dict[str, Any]) -> bool:
    """Return whether the pointer and range of a hit are right, from the root and from the tool's scope."""
    chunk = result["chunk"]
    assert chunk["json_pointer"] == scope + result["json_path"]
    node = value
    for token in chunk["json_pointer"].split("/")[1:]:
        node = node[int(token)] if isinstance(node, list) else node[token.replace("~1", "/").replace("~0", "~")]
    return bool(node[chunk["char_start"] : chunk["char_end"]] == chunk["chunk_text"])
