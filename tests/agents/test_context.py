"""The context of a hit: the fields that name it."""

import json
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from findspot.agents.context import Contexts, contexts, contexts_and_records
from findspot.agents.records import Records
from findspot.app import App
from findspot.models import OWNER
from findspot.runtime.helpers import Helpers
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


class CountedReads:
    """The tables of an app. Counts how often one is read as a whole."""

    def __init__(self, app: App) -> None:
        self._tables = app.tables
        self.count = 0

    def reading(self, table_id: int, pointer: str) -> AbstractAsyncContextManager[Any]:
        self.count += 1
        return self._tables.reading(table_id, pointer)


async def test_a_table_is_read_once_for_the_contexts_of_all_elements_of_a_list(app: App) -> None:
    articles = [{"title": f"Article {n}", "body": "x" * 20_000} for n in range(40)]  # of several pieces
    poems = [{"标题": f"第 {n} 首", "parts": [{"正文": "月亮"}]} for n in range(40)]
    table = await make_table(app, {"name": "All", "articles": articles, "诗": [*poems, "a line"]})
    tables: Any = CountedReads(app)
    helpers = Helpers()
    found = Contexts(app.store, tables, helpers)

    async def of(*places: str, revision: int = table.revision) -> list[dict[str, Any]]:
        by_place = await found.of(table.id, revision, places, None)
        return [by_place[place] for place in places]

    assert await of("/articles/3/body", "/诗/3/parts/0/正文") == [{"title": "Article 3"}, {"标题": "第 3 首"}]
    for n in (0, 13, 26, 39):
        assert await of(f"/articles/{n}/body") == [{"title": f"Article {n}"}]
        assert await of(f"/诗/{n}/parts/0/正文") == [{"标题": f"第 {n} 首"}]
    assert await of("/诗/40", "/诗/41/text", "/articles/5/title") == [{"name": "All"}] * 3
    assert tables.count == 1

    await call(app, table, "update", {"updates": [{"key": "title", "content": "生成器"}]}, "/articles/13")
    assert await of("/articles/13/body", revision=table.revision + 1) == [{"title": "生成器"}]
    assert tables.count == 2
    await helpers.close()


@pytest.mark.parametrize("indent", [None, 2])
def test_the_spans_of_records_are_those_of_the_elements(indent: int | None) -> None:
    value: dict[str, list[Any]] = {"n": [1, "a,b", "a"], "列表": [{"标题": "月,]"}, [], "月", {"标题": "月,]"}]}
    text = json.dumps(value, ensure_ascii=False, indent=indent).encode()
    _, lists = contexts_and_records(text, ["/n/0", "/列表/2", "/other"], ["标题"])
    for records in (Records(*each) for each in lists):
        name = records.pointer.removeprefix("/")
        spans = [records.span(f"{records.pointer}/{index}") for index in range(len(value[name]) + 1)]
        assert [json.loads(text[start:end]) for start, end in filter(None, spans)] == value[name]
        assert spans[-1] is None
    assert [each[0] for each in lists] == ["/n", "/列表"]
