"""The context of a hit: the fields that name it."""

import json
from typing import Any

import pytest

from findspot.agents.context import contexts
from findspot.app import App
from findspot.models import OWNER
from tests import flows
from tests.agents.tools import call, make_table, search_spec

pytestmark = pytest.mark.one_database  # test_tool_index.py runs the queries of tools on both databases


def context(value: Any, pointer: str, *keys: str) -> dict[str, Any]:
    (found,) = contexts(json.dumps(value, ensure_ascii=False).encode(), [pointer], list(keys))
    return found


def test_the_nearest_object_with_a_naming_field_gives_the_context() -> None:
    parts = [{"text": "x"}, {"name": "e\u0301 🌙", "text": "y"}]
    value = {"title": "top", "docs": [{"Title": "潮汐  与\n月亮", "id": 7, "parts": parts}]}
    assert context(value, "/docs/0/parts/0/text", "title", "id") == {"Title": "潮汐 与 月亮", "id": 7}
    assert context(value, "/docs/0/parts/1/text", "title", "name") == {"name": "e\u0301 🌙"}
    assert context(value, "/docs/0/Title", "title") == {"title": "top"}
    assert context(value, "/title", "title") == {}
    assert context(value, "/docs/9/text", "title") == {"title": "top"}


def test_only_short_scalars_are_context() -> None:
    value = {"title": "长" * 500, "name": {"x": 1}, "id": None, "url": "", "n": 1.5, "text": "x"}
    found = context(value, "/text", "title", "name", "id", "url", "n")
    assert found == {"title": "长" * 119 + "…", "n": 1.5}


async def test_a_hit_carries_the_fields_that_name_it_as_they_are_now(app: App) -> None:
    english = {"pep": 255, "title": "Simple Generators", "body": "a generator may return"}
    value = [english, {"标题": "潮汐", "正文": "月亮与海"}]
    table = await make_table(app, value)
    tool = (await app.tools.create(table.project_id, search_spec(table, chunk_threshold=1))).tool
    own_keys = (await app.tools.create(table.project_id, search_spec(table, context_keys=["pep"]))).tool

    async def found(tool: Any, query: str, path: str) -> dict[str, Any]:
        results = (await app.tool_calls.call(tool, {"query": query, "top_k": 10}, OWNER))["results"]
        return next(each["context"] for each in results if each["json_path"] == path)

    assert await found(tool, "generator", "/0/body") == {"title": "Simple Generators"}
    assert await found(own_keys, "generator", "/0/body") == {"pep": 255}
    assert await found(tool, "月亮", "/1/正文") == {"标题": "潮汐"}
    update = {"updates": [{"key": "title", "content": "生成器"}]}
    await call(app, table, "update", update, "/0")
    await flows.settle(app)
    assert await found(tool, "generator", "/0/body") == {"title": "生成器"}
