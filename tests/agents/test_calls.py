"""Calls of editing and searching tools."""

import asyncio
from typing import Any

import pytest

from findspot.app import App
from findspot.errors import FindspotError
from findspot.models import OWNER, Caller, Role
from findspot.surfaces.mcp.answers import sentence
from tests import flows
from tests.agents.tools import (
    CHINESE,
    ENGLISH,
    call,
    data,
    is_located,
    make_table,
    make_tool,
    refused,
    search_spec,
)

pytestmark = pytest.mark.one_database  # test_tool_index.py runs the queries of tools on both databases


async def test_create_adds_all_new_keys_to_an_object_or_none(app: App) -> None:
    table = await make_table(app, {"旧": 1})
    elements = [{"key": key, "content": {"n": at}} for at, key in enumerate(("a", "b~/", "新", "", "0"))]
    answer = await call(app, table, "create", {"elements": elements})
    assert answer == {"created_keys": ["a", "b~/", "新", "", "0"], "total": 5}
    assert await data(app, table) == {"旧": 1} | {each["key"]: each["content"] for each in elements}
    taken = [{"key": "x", "content": 1}, {"key": "新", "content": 2}]
    assert "'新' already exists" in await refused(app, table, "create", {"elements": taken}, "PATCH_CONFLICT")
    twice = [{"key": "x", "content": 1}, {"key": "x", "content": 2}]
    assert "twice" in await refused(app, table, "create", {"elements": twice}, "PATCH_CONFLICT")
    assert "strings" in await refused(app, table, "create", {"elements": [{"content": 1}]}, "INVALID_ARGUMENT")


async def test_create_appends_to_a_list_whose_keys_are_indexes(app: App) -> None:
    table = await make_table(app, {"列表": [0]})
    create = {"elements": [{"key": "ignored", "content": None}, {"content": "新"}]}
    assert await call(app, table, "create", create, "/列表") == {"created_keys": [1, 2], "total": 2}
    update = {"updates": [{"key": 0, "content": []}, {"key": "2", "content": False}]}
    assert await call(app, table, "update", update, "/列表") == {"updated_keys": [0, 2], "total": 2}
    assert await data(app, table) == {"列表": [[], None, False]}
    assert await call(app, table, "delete", {"keys": [0, 2]}, "/列表") == {"deleted_keys": [0, 2], "total": 2}
    assert await data(app, table) == {"列表": [None]}


REFUSED: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    ("update", {"updates": [{"key": 0, "content": 1}, {"key": 9, "content": 1}]}, "PATCH_CONFLICT", "past the end"),
    ("update", {"updates": [{"key": 0, "content": 1}, {"key": "0", "content": 2}]}, "INVALID_ARGUMENT", "twice"),
    ("update", {"updates": [{"key": -1, "content": 1}]}, "INVALID_ARGUMENT", "indexes from 0"),
    ("update", {"updates": [{"key": "x", "content": 1}]}, "INVALID_ARGUMENT", "indexes from 0"),
    ("update", {"updates": [{"key": 0}]}, "INVALID_ARGUMENT", "content"),
    ("update", {"updates": [{"key": 0, "content": 1, "more": 2}]}, "INVALID_ARGUMENT", "more"),
    ("delete", {"keys": [0, 2]}, "PATCH_CONFLICT", "has 2 elements"),
    ("delete", {"keys": [0, 0]}, "INVALID_ARGUMENT", "twice"),
    ("delete", {"keys": [True]}, "INVALID_ARGUMENT", "keys[0]"),
    ("delete", {"keys": 0}, "INVALID_ARGUMENT", "keys: must be an array, not an integer"),
    ("create", {"elements": [{"content": 1}, {"content": "\ud800"}]}, "INVALID_ARGUMENT", "arguments"),
    ("create", {}, "INVALID_ARGUMENT", "elements"),
)


async def test_an_invalid_edit_is_refused_with_a_reason_and_changes_nothing(app: App) -> None:
    table = await make_table(app, [1, "二"])
    for type, arguments, code, message in REFUSED:
        assert message in await refused(app, table, type, arguments, code)


async def test_an_edit_with_a_missing_key_changes_nothing(app: App) -> None:
    table = await make_table(app, {"a": 1, "二": 2})
    updates = [{"key": "a", "content": 5}, {"key": "b", "content": 5}]
    assert "no key 'b'" in await refused(app, table, "update", {"updates": updates}, "PATCH_CONFLICT")
    assert "no key 'b'" in await refused(app, table, "delete", {"keys": ["a", "b"]}, "PATCH_CONFLICT")
    assert await call(app, table, "delete", {"keys": ["二"]}) == {"deleted_keys": ["二"], "total": 1}


async def test_concurrent_edits_are_all_kept(app: App) -> None:
    table = await make_table(app, {"list": []})
    tool = await make_tool(app, table, "create", "/list")
    calls = [{"elements": [{"content": [agent, at]} for at in range(5)]} for agent in range(20)]
    answers = await asyncio.gather(*(app.tool_calls.call(tool, each, OWNER) for each in calls))
    final = await data(app, table, "/list")
    for agent, answer in enumerate(answers):
        assert [final[key] for key in answer["created_keys"]] == [[agent, at] for at in range(5)]
    assert len(final) == 100


async def test_ten_megabytes_can_be_created_at_once(app: App) -> None:
    table = await make_table(app, [])
    content = "潮汐与月亮 " * 600_000
    assert (await call(app, table, "create", {"elements": [{"content": content}]}))["total"] == 1
    assert (await data(app, table, "/0")) == content


async def test_a_key_with_the_read_role_may_only_call_reading_tools(app: App) -> None:
    table = await make_table(app, [1])
    reader = Caller(Role.READ, "reader", table.project_id)
    stranger = Caller(Role.ADMIN, "stranger", table.project_id + 1)
    every, create = await make_tool(app, table, "get_all_data"), await make_tool(app, table, "create")
    assert await app.tool_calls.call(every, {}, reader) == {"data": [1]}
    for tool, caller, code in ((create, reader, "FORBIDDEN"), (every, stranger, "NOT_FOUND")):
        with pytest.raises(FindspotError) as caught:
            await app.tool_calls.call(tool, {"elements": [{"content": 1}]}, caller)
        assert caught.value.code == code
    assert await data(app, table) == [1]


ADVICE: tuple[tuple[Any, str, dict[str, Any], str, str], ...] = (
    ({"a": 1}, "create", {"elements": [{"key": "a", "content": 1}]}, "", "use an update tool"),
    ({"a": 1}, "update", {"updates": [{"key": "b", "content": 1}]}, "", "use an existing key; a create tool adds new"),
    ({"a": 1}, "delete", {"keys": ["文"]}, "", "'文'; use an existing key. Nothing was changed"),
    ([1, 2], "update", {"updates": [{"key": 2, "content": 1}]}, "", "use 0 to 1; a create tool adds new elements"),
    ([], "update", {"updates": [{"key": 0, "content": 1}]}, "", "has 0 elements; a create tool adds new elements"),
    ([1, 2], "delete", {"keys": [2]}, "", "has 2 elements; use 0 to 1. Nothing was changed"),
    ([], "delete", {"keys": [0]}, "", "has 0 elements. Nothing was changed"),
    ([1], "delete", {"keys": [0, 0]}, "", "name it once"),
    ({"a": "文"}, "create", {"elements": [{"content": 1}]}, "/a", "until the table or the tool's scope is changed"),
    ({"a": 1}, "get_all_data", {}, "/b", "until the table or the tool's scope is changed"),
    ({"a": 1}, "preview", {}, "", "Use a get_data_schema"),
    ({"a": 1}, "select", {"field": "a", "keys": [1]}, "/a", "Use a get_data_schema"),
)


async def test_an_error_message_says_what_to_do_instead(app: App) -> None:
    for value, type, arguments, pointer, advice in ADVICE:
        table = await make_table(app, value)
        with pytest.raises(FindspotError, match=advice) as caught:
            await call(app, table, type, arguments, pointer)
        assert "patch" not in sentence(caught.value)  # an agent sent none
        assert await data(app, table) == value


@pytest.mark.scenario("003.creation.answers", "003.answer.total-results", "003.answer.query")
async def test_a_search_returns_passages_with_pointer_and_range(app: App) -> None:
    value = {"文章": [{"a/b": ENGLISH}, {"内容": CHINESE + "🌙é"}], "other": "The moon is elsewhere."}
    table = await make_table(app, value)
    made = await app.tools.create(table.project_id, search_spec(table, "/文章", chunk_size=200, chunk_overlap=20))
    assert (made.status, made.notice) == ("ready", None)
    assert made.chunks_created == sum(node[2] for node in made.nodes) > 10
    assert [node[0] for node in made.nodes] == ["/文章/0/a~1b", "/文章/1/内容"]
    for query in ("moon tide", "潮汐 月亮", "渔船 bay"):
        answer = await app.tool_calls.call(made.tool, {"query": query, "top_k": 7}, OWNER)
        assert answer["query"] == query
        assert 0 < len(answer["results"]) <= 7
        assert answer["total_results"] > len(answer["results"])
        assert all(is_located(value, "/文章", result) for result in answer["results"])
        scores = [result["score"] for result in answer["results"]]
        assert scores == sorted(scores, reverse=True)
        properties = app.tools.describe(made.tool).output_schema["properties"]
        assert set(answer) <= set(properties)
        hit = properties["results"]["items"]["properties"]
        assert all(set(hit) == set(result) for result in answer["results"])
        assert all(round(score, 4) == score for score in scores)
        assert "notice" not in answer


async def test_a_search_accepts_only_a_query_and_top_k(app: App) -> None:
    table = await make_table(app, {})
    for wrong in ({}, {"query": 1}, {"query": "x", "top_k": 0}, {"query": "x", "top_k": 21}, {"query": "x", "more": 1}):
        await refused(app, table, "search", wrong, "INVALID_ARGUMENT")


@pytest.mark.scenario("D07", "002.context-search.scope")
async def test_tools_on_two_scopes_share_chunks_and_search_only_their_own_scope(app: App) -> None:
    value = {"a": {"x": ENGLISH}, "ab": {"x": ENGLISH}, "b": [ENGLISH, CHINESE]}
    table = await make_table(app, value)
    whole = (await app.tools.create(table.project_id, search_spec(table))).tool
    rows = await flows.rows(app)
    for scope in ("/a", "/b", "/b/1", "/ab/x"):
        made = await app.tools.create(table.project_id, search_spec(table, scope))
        assert made.chunks_created == 0
        for query in ("moon", "潮汐"):
            answer = await app.tool_calls.call(made.tool, {"query": query, "top_k": 20}, OWNER)
            pointers = {result["chunk"]["json_pointer"] for result in answer["results"]}
            assert all(each == scope or each.startswith(scope + "/") for each in pointers)
            assert all(is_located(value, scope, result) for result in answer["results"])
    assert await flows.rows(app) == rows
    assert len((await app.tool_calls.call(whole, {"query": "moon", "top_k": 20}, OWNER))["results"]) > 3


@pytest.mark.scenario("002.context-search.scope")
async def test_a_tool_searches_only_strings_over_its_threshold(app: App) -> None:
    table = await make_table(app, {"short": "the moon is short", "long": ENGLISH})
    await app.tools.create(table.project_id, search_spec(table))
    long_only = (await app.tools.create(table.project_id, search_spec(table, chunk_threshold=1000))).tool
    answer = await app.tool_calls.call(long_only, {"query": "moon short", "top_k": 20}, OWNER)
    assert {result["chunk"]["json_pointer"] for result in answer["results"]} == {"/long"}


async def test_an_edit_through_a_tool_is_found_and_the_old_value_is_not(app: App) -> None:
    table = await make_table(app, {"a": "the lighthouse keeper"})
    search = (await app.tools.create(table.project_id, search_spec(table))).tool
    before = await app.tools.get(search.id)
    await call(app, table, "update", {"updates": [{"key": "a", "content": "灯塔看守人"}]})
    await call(app, table, "create", {"elements": [{"key": "b", "content": "a harbour pilot"}]})
    await flows.settle(app)

    async def found(query: str) -> list[str]:
        answer = await app.tool_calls.call(search, {"query": query}, OWNER)
        return [result["chunk"]["chunk_text"] for result in answer["results"]]

    assert (await found("灯塔"))[0] == "灯塔看守人"
    assert (await found("pilot"))[0] == "a harbour pilot"
    assert "the lighthouse keeper" not in await found("lighthouse")
    assert (await app.tools.get(search.id)).updated_at > before.updated_at


@pytest.mark.scenario("D43", "003.search-config.include-metadata")
async def test_hits_have_no_ids_without_include_metadata(app: App) -> None:
    table = await make_table(app, {"a": "the moon"})
    tool = (await app.tools.create(table.project_id, search_spec(table, include_metadata=False))).tool
    (result,) = (await app.tool_calls.call(tool, {"query": "moon"}, OWNER))["results"]
    assert set(result["chunk"]) >= {"json_pointer", "chunk_text", "char_start", "char_end"}
    assert not set(result["chunk"]) & {"id", "table_id", "content_hash", "turbopuffer_namespace", "turbopuffer_doc_id"}
