"""Reading tools: all data, schema, query, preview, selection."""

import json
from typing import Any

import pytest

from findspot.agents.calls import structured
from findspot.app import App
from findspot.models import OWNER, Table
from tests.agents.tools import call, data, make_table, make_tool, refused

pytestmark = pytest.mark.one_database  # test_tool_index.py runs the queries of tools on both databases


VALUES: tuple[Any, ...] = (None, 0, "", [], {}, False, "潮汐", [None, 0, "", [], False])


async def test_empty_values_are_read_and_written_like_any_other(app: App) -> None:
    for value in VALUES:
        await check_value(app, await make_table(app, {"there": value}), value)


async def check_value(app: App, table: Table, value: Any) -> None:
    assert await call(app, table, "get_all_data", {}, "/there") == {"data": value}
    assert await call(app, table, "query_data", {"query": "there"}) == {"data": value, "query": "there"}
    assert (await call(app, table, "create", {"elements": [{"key": "新", "content": value}]}))["total"] == 1
    assert (await call(app, table, "update", {"updates": [{"key": "there", "content": [value]}]}))["total"] == 1
    assert await data(app, table) == {"there": [value], "新": value}


SPELLED = '{"a":1.10,"b":123456789012345678901234567890,"c":1e400,"d":-0,"e":[2.50,1.0],"f":0.1000000000000000055}'


async def test_numbers_keep_their_spelling(app: App) -> None:
    table = await make_table(app, None, raw=SPELLED)
    every = await make_tool(app, table, "get_all_data")
    assert await app.tool_calls.call_text(every, b"{}", OWNER) == f'{{"data":{SPELLED}}}'.encode()
    query = await make_tool(app, table, "query_data")

    async def answer(text: str) -> str:
        found = await app.tool_calls.call_text(query, json.dumps({"query": text}).encode(), OWNER)
        return found.decode().removeprefix('{"data":').partition(',"query":')[0]

    assert await answer("@") == SPELLED
    assert await answer("[a, b, c, d, f]") == "[1.10,123456789012345678901234567890,1e400,-0,0.1000000000000000055]"
    assert await answer("e[?@ > `2`]") == "[2.50]"
    assert await answer("max(e)") == "2.50"
    assert await answer("sort(e)") == "[1.0,2.50]"
    assert await answer("b == `123456789012345678901234567890`") == "true"
    assert await answer("a == `1.1`") == "true"
    assert await answer("type(a)") == '"number"'


def test_a_structured_answer_is_valid_json_with_any_number() -> None:
    value = structured(f'{{"data":{SPELLED}}}'.encode())["data"]
    assert (value["a"], value["b"], value["c"]) == (1.1, 123456789012345678901234567890, "1e400")
    assert json.loads(json.dumps(value, allow_nan=False)) == value


async def test_a_query_without_a_result_is_null_and_an_invalid_query_is_refused(app: App) -> None:
    table = await make_table(app, {"文章": [{"标题": "潮汐", "n": 1}, {"标题": "月亮", "n": 2}]})
    assert (await call(app, table, "query_data", {"query": "nowhere.at.all"}))["data"] is None
    assert (await call(app, table, "query_data", {"query": '"文章"[?n > `1`]."标题"'}))["data"] == ["月亮"]
    assert (await call(app, table, "query_data", {"query": "length(@)"}, "/文章"))["data"] == 2
    for query in ("[", "foo(", "unknown(@)", "length(`1`)", "(" * 3000, "", "a" * 4001):
        assert "query" in await refused(app, table, "query_data", {"query": query}, "INVALID_ARGUMENT"), query


async def test_a_query_that_needs_too_much_memory_or_space_is_stopped_or_cut(app: App) -> None:
    table = await make_table(app, {"text": "x" * 1000})
    doubled = " | ".join(["{text: join('', [text, text])}"] * 40)
    assert (await refused(app, table, "query_data", {"query": doubled}, "CONTENT_TOO_LARGE")).startswith(
        "This takes more memory"
    )
    shared = " | ".join(["[@, @]"] * 60)  # 2^60 lists
    answer = await call(app, table, "query_data", {"query": shared})
    assert answer["truncated"] is True
    assert (await call(app, table, "query_data", {"query": "length(text)"}))["data"] == 1000


async def test_the_schema_has_keys_and_types_and_merges_the_elements_of_a_list(app: App) -> None:
    articles = [{"标题": "潮汐", "n": 1, "tags": []}, {"标题": None, "n": 2.5, "tags": ["sea", 1], "more": {"x": True}}]
    table = await make_table(app, {"articles": articles, "empty": [], "mixed": [1, {"a": ""}, []]})
    answer = await call(app, table, "get_data_schema", {})
    article = {"标题": "string | null", "n": "number", "tags": ["string | number"], "more": {"x": "boolean"}}
    mixed = {"anyOf": ["number", {"a": "string"}, []]}
    assert answer["schema"] == {"articles": [article], "empty": [], "mixed": [mixed]}
    keys = ["articles", "empty", "mixed"]
    assert answer["meta"] == {"json_path": "", "root_type": "object", "keys_preview": keys}
    inner = await call(app, table, "get_data_schema", {}, "/articles")
    assert inner["meta"] == {"json_path": "/articles", "root_type": "array", "keys_preview": list(article)}


async def test_preview_returns_some_fields_of_every_object(app: App) -> None:
    rows = [{"id": 1, "标题": "潮汐", "body": "…"}, {"id": 2, "body": "x"}, "no object"]
    table = await make_table(app, rows)
    answer = await call(app, table, "preview", {"keys": ["id", "标题"]})
    shown = [{"id": 1, "标题": "潮汐"}, {"id": 2}, None]
    assert answer == {"data": shown, "keys": ["id", "标题"], "total_count": 3}
    by_default = await call(app, table, "preview", {}, metadata={"preview_keys": ["id"]})
    assert by_default == {"data": [{"id": 1}, {"id": 2}, None], "keys": ["id"], "total_count": 3}
    assert (await call(app, table, "preview", {}))["keys"] == ["id", "标题", "body"]


async def test_select_compares_types_and_values(app: App) -> None:
    values = [1, 1.0, "1", True, None, "潮汐", [1], {"a": 1}]
    table = await make_table(app, [*({"v": value} for value in values), {"other": 1}, 7])

    async def chosen(*keys: Any) -> list[Any]:
        answer = await call(app, table, "select", {"field": "v", "keys": list(keys)})
        assert answer["matched_count"] == len(answer["data"])
        return [each["v"] for each in answer["data"]]

    assert await chosen(1) == [1, 1.0]
    assert [type(each) for each in await chosen("1", True)] == [str, bool]
    assert await chosen(None, "潮汐") == [None, "潮汐"]
    assert await chosen([1.0], {"a": 1}) == [[1], {"a": 1}]
    assert await chosen([1, 1], {"a": 1.5}) == []
    assert await chosen() == []


async def test_select_finds_values_however_they_are_spelled(app: App) -> None:
    rows = '[{"v":1e2},{"v":100.0},{"v":{"b":[2.50],"a":"\\u6f6e\\u6c50"}},{"v":"\\u0031"},{"v":-0.0}]'
    table = await make_table(app, None, raw=rows)

    async def positions(*keys: Any) -> int:
        answer = await call(app, table, "select", {"field": "v", "keys": list(keys)})
        return int(answer["matched_count"])

    assert await positions(100) == 2
    assert await positions({"a": "潮汐", "b": [2.5]}) == 1
    assert await positions("1") == 1
    assert await positions(0) == 1
    assert await positions(1, True, "100", {"a": "潮汐"}) == 0


async def test_the_schema_of_a_long_list_covers_every_element(app: App) -> None:
    rows: list[Any] = [{"n": number, "标签": ["x"]} for number in range(10_000)]
    rows[7_000] = {"n": None, "late": {"deep": [[1.5, "🚗"]]}}
    rows[9_999] = "text"
    data = json.dumps({"rows": rows, "long": [rows, []], "digits": ["many"]}).replace('"many"', "1" * 5000)
    table = await make_table(app, None, raw=data)
    answer = await call(app, table, "get_data_schema", {})
    element = {"n": "number | null", "标签": ["string"], "late": {"deep": [["number | string"]]}}
    every = [{"anyOf": ["string", element]}]
    assert answer["schema"] == {"rows": every, "long": [every], "digits": ["number"]}
    inner = await call(app, table, "get_data_schema", {}, "/rows")
    assert inner["meta"] == {"json_path": "/rows", "root_type": "array", "keys_preview": list(element)}


async def test_a_scope_that_does_not_exist_or_has_another_type_is_refused(app: App) -> None:
    table = await make_table(app, {"a": {"b": 1}})
    for type, arguments in (("get_all_data", {}), ("get_data_schema", {}), ("query_data", {"query": "@"})):
        assert "no key 'gone'" in await refused(app, table, type, arguments, "NOT_FOUND", "/gone")
    assert "list of objects" in await refused(app, table, "preview", {}, "INVALID_ARGUMENT", "/a")
    assert "list of objects" in await refused(
        app, table, "select", {"field": "b", "keys": [1]}, "INVALID_ARGUMENT", "/a"
    )
    assert "neither" in await refused(app, table, "create", {"elements": []}, "PATCH_CONFLICT", "/a/b")
