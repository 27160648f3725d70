"""Answers within the token budget."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from findspot import tokens
from findspot.agents import budget
from findspot.agents.hits import readable
from findspot.agents.views import View, view
from findspot.app import App
from findspot.models import OWNER
from findspot.runtime import messages
from tests.agents.tools import (
    call,
    data,
    is_located,
    make_table,
    make_tool,
    search_spec,
)

pytestmark = pytest.mark.one_database  # test_tool_index.py runs the queries of tools on both databases


TITLES = {"en": "Tides and the moon", "zh": "潮汐与月亮"}


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
        assert tokens.count(text.decode()) + tokens.count(readable(answer)) <= 20_000
        assert answer["truncated"] is True
        assert answer["total_results"] >= len(answer["results"]) >= 1
        assert all(is_located(value, "", result) for result in answer["results"])
        assert messages.NARROWING_ADVICE[language]["search"] in answer["notice"]


@given(st.recursive(st.text(max_size=20), lambda inner: st.lists(inner, max_size=4), max_leaves=8))
def test_surely_fits_is_never_wrong(value: Any) -> None:
    text = budget.encode({"data": value})
    assert not budget.surely_fits(text, budget.token_cost(text) - 1)
    assert budget.surely_fits(text, 4 * len(text) + 2)
