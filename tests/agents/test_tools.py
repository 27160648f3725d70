"""Tools of every type: reading, editing and searching tables, within the token budget."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot import tokens
from findspot.agents import budget
from findspot.agents.calls import structured
from findspot.agents.schemas import NewSearchTool, NewTool, SearchConfig, ToolChange
from findspot.agents.views import View, view
from findspot.app import App
from findspot.errors import FindspotError
from findspot.models import OWNER, Caller, Role, Table, Tool
from findspot.runtime import messages
from tests import flows

pytestmark = pytest.mark.one_database  # test_tool_index.py runs the queries of tools on both databases

TITLES = {"en": "Tides and the moon", "zh": "潮汐与月亮"}


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
    return (await app.tools.create(table.project_id, new_tool(**spec, type=type, **more))).tool


async def data(app: App, table: Table, pointer: str = "") -> Any:
    _, text = await app.tables.read(table.id, pointer)
    return json.loads(b"".join(text))


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


# ── reading ──


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
    assert (await refused(app, table, "query_data", {"query": doubled}, "CONTENT_TOO_LARGE")).startswith("There is not")
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
    assert await chosen() == []


async def test_a_scope_that_does_not_exist_or_has_another_type_is_refused(app: App) -> None:
    table = await make_table(app, {"a": {"b": 1}})
    for type, arguments in (("get_all_data", {}), ("get_data_schema", {}), ("query_data", {"query": "@"})):
        assert "no key 'gone'" in await refused(app, table, type, arguments, "NOT_FOUND", "/gone")
    assert "list of objects" in await refused(app, table, "preview", {}, "INVALID_ARGUMENT", "/a")
    assert "list of objects" in await refused(
        app, table, "select", {"field": "b", "keys": [1]}, "INVALID_ARGUMENT", "/a"
    )
    assert "neither" in await refused(app, table, "create", {"elements": []}, "PATCH_CONFLICT", "/a/b")


# ── editing ──


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
    ("delete", {"keys": 0}, "INVALID_ARGUMENT", "keys: expected `array`"),
    ("create", {"elements": [{"content": 1}, {"content": "\ud800"}]}, "INVALID_ARGUMENT", "arguments"),
    ("create", {}, "INVALID_ARGUMENT", "elements"),
)


async def test_an_invalid_edit_is_refused_with_a_reason_and_changes_nothing(app: App) -> None:
    table = await make_table(app, [1, "二"])
    for type, arguments, code, sentence in REFUSED:
        assert sentence in await refused(app, table, type, arguments, code)


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
    ({"a": 1}, "update", {"updates": [{"key": "b", "content": 1}]}, "", "a create tool for new keys"),
    ([1, 2], "update", {"updates": [{"key": 2, "content": 1}]}, "", "use 0 to 1, or a create tool to append"),
    ([], "delete", {"keys": [0]}, "", "add the first with a create tool"),
    ([1], "delete", {"keys": [0, 0]}, "", "name it once"),
    ({"a": "文"}, "create", {"elements": [{"content": 1}]}, "/a", "until the table or the tool's scope is changed"),
    ({"a": 1}, "get_all_data", {}, "/b", "until the table or the tool's scope is changed"),
    ({"a": 1}, "preview", {}, "", "Use a get_data_schema"),
    ({"a": 1}, "select", {"field": "a", "keys": [1]}, "/a", "Use a get_data_schema"),
)


async def test_an_error_message_says_what_to_do_instead(app: App) -> None:
    for value, type, arguments, pointer, advice in ADVICE:
        table = await make_table(app, value)
        with pytest.raises(FindspotError, match=advice):
            await call(app, table, type, arguments, pointer)
        assert await data(app, table) == value


# ── the budget ──


async def test_a_large_answer_is_cut_to_the_budget_with_advice(app: App) -> None:
    rows = [{"id": at, "标题": TITLES["zh"], "body": TITLES["en"] * 20} for at in range(2000)]
    table = await make_table(app, {"rows": rows, "note": "潮汐 " * 40_000})
    for type, arguments, pointer in (
        ("get_all_data", {}, ""),
        ("query_data", {"query": "rows[*].body"}, ""),
        ("preview", {}, "/rows"),
        ("select", {"field": "标题", "keys": [TITLES["zh"]]}, "/rows"),
        ("get_all_data", {}, "/note"),
    ):
        tool = await make_tool(app, table, type, pointer)
        for language in ("en", "zh"):
            text = await app.tool_calls.call_text(tool, json.dumps(arguments).encode(), OWNER, language)
            answer = json.loads(text)
            shown = text.decode()
            spent = tokens.count(shown) + tokens.count(json.dumps(shown, ensure_ascii=False))
            assert 15_000 < spent <= 20_000, (type, pointer)
            assert answer["truncated"] is True
            assert messages.NARROWING_ADVICE[language][type] in answer["notice"]
            card = app.tools.describe(tool)
            assert set(card.output_schema["required"]) <= set(answer) <= set(card.output_schema["properties"])
    whole = await call(app, table, "get_all_data", {})
    assert list(whole["data"]) == ["rows", "note"]
    assert whole["data"]["rows"] == rows[: len(whole["data"]["rows"])] != []
    assert f"/data/rows: {len(whole['data']['rows'])}/2000" in whole["notice"]
    small = await call(app, table, "query_data", {"query": "rows[0].id"})
    assert small == {"data": 0, "query": "rows[0].id"}


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(), inner, max_size=20),
    max_leaves=60,
)


@settings(max_examples=50, deadline=None)
@given(_json, st.integers(500, 2000), st.sampled_from(["get_all_data", "get_data_schema", "query_data"]))
def test_any_answer_is_valid_json_within_the_budget(value: Any, room: int, type: str) -> None:
    request = View(type, "", {"query": "@"}, room, "zh")
    text = view(request, json.dumps(value, ensure_ascii=False).encode())
    answer = json.loads(text)
    assert budget.token_cost(text) <= room
    if "truncated" not in answer and type != "get_data_schema":
        assert answer["data"] == value


async def test_a_large_edit_is_complete_although_its_list_of_keys_is_cut(app: App) -> None:
    table = await make_table(app, [])
    answer = await call(app, table, "create", {"elements": [{"content": 0}] * 30_000})
    assert (answer["total"], answer["truncated"]) == (30_000, True)
    assert answer["created_keys"] == list(range(len(answer["created_keys"])))
    assert len(await data(app, table)) == 30_000


# ── cards ──


async def test_every_tool_type_has_a_description_schemas_and_hints(app: App) -> None:
    table = await make_table(app, {"a": []})
    types = ("get_data_schema", "get_all_data", "query_data", "preview", "select", "search")
    for type in (*types, "create", "update", "delete"):
        card = app.tools.describe(await make_tool(app, table, type, "/a"))
        assert "'t'" in card.description
        assert "'/a'" in card.description
        assert card.input_schema["additionalProperties"] is False
        assert card.output_schema["additionalProperties"] is False
        assert card.annotations["readOnlyHint"] is (type in types)
        assert card.annotations["destructiveHint"] is (type in ("update", "delete"))
    search = app.tools.describe(await make_tool(app, table, "search"))
    assert set(search.input_schema["properties"]) == {"query", "top_k"}
    assert search.input_schema["required"] == ["query"]
    assert search.input_schema["properties"]["top_k"]["maximum"] == 20


async def test_a_chinese_name_is_the_title_and_agents_call_the_tool_by_its_id(app: App) -> None:
    table = await make_table(app, {})
    spec = {"project_id": table.project_id, "table_id": table.id, "type": "get_all_data"}
    tool = (await app.tools.create(table.project_id, new_tool(**spec, name="查资料"))).tool
    assert (app.tools.describe(tool).name, app.tools.describe(tool).title) == (f"tool-{tool.id}", "查资料")
    with pytest.raises(ValueError, match="reserved for tools"):
        new_tool(**spec, name="tool-7")


def test_short_type_names_are_accepted_and_unknown_ones_refused() -> None:
    spec = {"project_id": 1, "table_id": 1, "name": "n"}
    assert (new_tool(**spec, type="get").type, new_tool(**spec, type="query").type) == ("get_all_data", "query_data")
    with pytest.raises(ValueError, match="must be one of"):
        new_tool(**spec, type="drop")
    with pytest.raises(ValueError, match="only a search tool"):
        new_tool(**spec, type="get", search_config={"top_k": 3})


# ── searching ──

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
        assert 0 < answer["total_results"] == len(answer["results"]) <= 7
        assert all(is_located(value, "/文章", result) for result in answer["results"])
        scores = [result["score"] for result in answer["results"]]
        assert scores == sorted(scores, reverse=True)
        properties = app.tools.describe(made.tool).output_schema["properties"]
        assert set(answer) <= set(properties)
        chunk = properties["results"]["items"]["properties"]["chunk"]
        assert all(set(chunk["required"]) == set(result["chunk"]) for result in answer["results"])
        assert "notice" not in answer


async def test_a_search_accepts_only_a_query_and_top_k(app: App) -> None:
    table = await make_table(app, {})
    for wrong in ({}, {"query": 1}, {"query": "x", "top_k": 0}, {"query": "x", "top_k": 21}, {"query": "x", "more": 1}):
        await refused(app, table, "search", wrong, "INVALID_ARGUMENT")


@pytest.mark.scenario("D07")
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


async def test_a_tool_searches_only_strings_over_its_threshold(app: App) -> None:
    table = await make_table(app, {"short": "the moon is short", "long": ENGLISH})
    await app.tools.create(table.project_id, search_spec(table))
    long_only = (await app.tools.create(table.project_id, search_spec(table, chunk_threshold=1000))).tool
    answer = await app.tool_calls.call(long_only, {"query": "moon short", "top_k": 20}, OWNER)
    assert {result["chunk"]["json_pointer"] for result in answer["results"]} == {"/long"}


async def test_a_tool_without_long_strings_is_ready_with_a_notice(app: App) -> None:
    table = await make_table(app, {"short": "月亮"})
    spec = {"project_id": table.project_id, "table_id": table.id, "name": "s"}
    for pointer in ("", "/nowhere"):
        made = await app.tools.create(table.project_id, new_search(**spec, json_pointer=pointer), language="zh")
        assert (made.status, made.chunks_created, made.nodes) == ("ready", 0, [])
        assert made.notice == messages.nothing_to_index(10_000, "zh")
        answer = await app.tool_calls.call(made.tool, {"query": "月亮"}, OWNER)
        assert (answer["total_results"], answer["results"]) == (0, [])
    low = await app.tools.create(table.project_id, search_spec(table))
    assert [r["json_path"] for r in (await app.tool_calls.call(low.tool, {"query": "月亮"}, OWNER))["results"]] == [
        "/short"
    ]


async def test_concurrent_creations_make_each_chunk_once(app: App) -> None:
    table = await make_table(app, {"en": ENGLISH, "zh": CHINESE})
    made = await asyncio.gather(
        *(app.tools.create(table.project_id, search_spec(table, name=f"s{at}", chunk_size=100)) for at in range(20))
    )
    rows = await flows.rows(app)
    assert len({row.turbopuffer_doc_id for row in rows}) == len(rows) == sum(node[2] for node in made[0].nodes)
    assert {each.status for each in made} == {"ready"}
    for each in made:
        index = await app.tools.search_index(each.tool.id)
        assert (index["status"], index["chunks_count"], index["indexed_chunks_count"]) == (
            "ready",
            len(rows),
            len(rows),
        )


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


async def test_chunks_are_deleted_with_the_last_tool_that_needs_them(app: App) -> None:
    table = await make_table(app, {"a": ENGLISH, "b": CHINESE})
    first = (await app.tools.create(table.project_id, search_spec(table, "/a"))).tool
    second = (await app.tools.create(table.project_id, search_spec(table))).tool
    await app.tools.delete(second.id)
    await flows.settle(app)
    assert {row.json_pointer for row in await flows.rows(app)} == {"/a"}
    await app.tools.delete(first.id)
    await flows.settle(app)
    assert await flows.rows(app) == []
    with pytest.raises(FindspotError):
        await app.tools.get(first.id)


async def test_a_tool_created_without_waiting_is_pending_and_becomes_ready(app: App) -> None:
    table = await make_table(app, {"a": ENGLISH})
    made = await app.tools.create(table.project_id, search_spec(table), wait=False)
    assert made.status == "pending"
    await app.tools.index.wait(table.id)
    index = await app.tools.search_index(made.tool.id)
    assert index["status"] == "ready"
    assert index["configured_at"] <= index["indexed_at"]
    assert index["nodes_count"] == 1
    assert index["last_error"] is None
    assert (await app.tools.get(made.tool.id)).metadata["search_index"] == index


async def test_the_index_status_shows_an_unavailable_embedder(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = flows.Telling()
    embedder.fails_on = "tide"
    monkeypatch.setattr(app.embeddings, "embedder", embedder)
    table = await make_table(app, {"a": "the tide"})
    made = await app.tools.create(table.project_id, search_spec(table))
    index = await app.tools.search_index(made.tool.id)
    assert (made.status, index["status"]) == ("error", "error")
    assert index["last_error"].startswith("EMBEDDING_UNAVAILABLE")
    assert (index["chunks_count"], index["indexed_chunks_count"]) == (1, 0)


async def test_a_new_scope_or_chunk_size_is_indexed_and_updates_the_description(app: App) -> None:
    table = await make_table(app, {"a": ENGLISH, "b": CHINESE})
    tool = (await app.tools.create(table.project_id, search_spec(table, "/a"))).tool
    changed = await app.tools.change(tool.id, ToolChange(json_pointer="/b", name="另一个"))
    assert (changed.name, "'/b'" in changed.description) == ("另一个", True)
    assert changed.metadata["search_index"]["configured_at"] > tool.metadata["search_index"]["configured_at"]
    await app.tools.index.wait(table.id)
    assert {row.json_pointer for row in await flows.rows(app)} == {"/b"}
    await app.tools.change(tool.id, ToolChange(search_config=SearchConfig(chunk_threshold=1, chunk_size=150)))
    await app.tools.index.wait(table.id)
    assert {(row.chunk_size, row.chunk_overlap) for row in await flows.rows(app)} == {(150, 74)}
    same = await app.tools.change(tool.id, ToolChange(description="说明", metadata={"mine": [1]}))
    assert (same.description, same.metadata["mine"]) == ("说明", [1])
    assert same.metadata["search_index"]["status"] == "ready"


async def test_operators_delete_and_rebuild_the_chunks_of_a_tool(app: App) -> None:
    table = await make_table(app, {"a": ENGLISH, "b": CHINESE})
    tool = (await app.tools.create(table.project_id, search_spec(table, "/a"))).tool
    other = (await app.tools.create(table.project_id, search_spec(table, "/b"))).tool
    before = await flows.rows(app)
    await app.tools.delete_chunks(tool.id)
    await flows.settle(app)
    assert {row.json_pointer for row in await flows.rows(app)} == {"/b"}
    assert (await app.tool_calls.call(tool, {"query": "moon"}, OWNER))["results"] == []
    await app.tools.rebuild_chunks(tool.id)
    await flows.settle(app)
    after = await flows.rows(app)
    assert {row.turbopuffer_doc_id for row in after} == {row.turbopuffer_doc_id for row in before}
    assert (await app.tool_calls.call(tool, {"query": "moon"}, OWNER))["results"]
    assert (await app.tool_calls.call(other, {"query": "潮汐"}, OWNER))["results"]


async def test_hits_have_no_ids_without_include_metadata(app: App) -> None:
    table = await make_table(app, {"a": "the moon"})
    tool = (await app.tools.create(table.project_id, search_spec(table, include_metadata=False))).tool
    (result,) = (await app.tool_calls.call(tool, {"query": "moon"}, OWNER))["results"]
    chunk = app.tools.describe(tool).output_schema["properties"]["results"]["items"]["properties"]["chunk"]
    assert set(result["chunk"]) == set(chunk["properties"])
    assert not set(result["chunk"]) & {"id", "table_id", "content_hash", "turbopuffer_namespace", "turbopuffer_doc_id"}


async def test_hits_over_the_budget_are_left_out_or_cut_with_a_correct_range(app: App) -> None:
    value = [
        "".join(f"第{at}段潮汐与月亮{at * 7}，" for at in range(begin, begin + 900)) for begin in range(0, 9000, 900)
    ]
    table = await make_table(app, value)
    spec = search_spec(table, chunk_size=8000, chunk_overlap=0)
    tool = (await app.tools.create(table.project_id, spec)).tool
    for language in ("en", "zh"):
        text = await app.tool_calls.call_text(tool, '{"query": "潮汐 月亮", "top_k": 20}'.encode(), OWNER, language)
        answer = json.loads(text)
        assert budget.token_cost(text) <= 20_000
        assert answer["truncated"] is True
        assert answer["total_results"] == len(answer["results"]) >= 1
        assert all(is_located(value, "", result) for result in answer["results"])
        assert messages.NARROWING_ADVICE[language]["search"] in answer["notice"]


@given(st.recursive(st.text(max_size=20), lambda inner: st.lists(inner, max_size=4), max_leaves=8))
def test_surely_fits_is_never_wrong(value: Any) -> None:
    text = budget.encode({"data": value})
    assert not budget.surely_fits(text, budget.token_cost(text) - 1)
    assert budget.surely_fits(text, 4 * len(text) + 2)
