"""Reading a part of a long text, and the reading tool beside a search tool."""

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findspot import tokens
from findspot.agents.cards import mcp_name
from findspot.agents.reading import Slice, cut_slice, markdown_headings, readable_slice
from findspot.app import App
from findspot.errors import FindspotError
from findspot.models import OWNER, ToolType
from tests.agents.tools import call, make_table, make_tool, refused, search_spec

pytestmark = pytest.mark.one_database  # test_tool_index.py runs the queries of tools on both databases

PAGE = "".join(f"## Chapter {n} 第{n}章\n\n" + f"e\u0301 潮汐 👩‍👧 tide {n}. " * 60 + "\n\n" for n in range(12))


async def test_a_text_is_read_in_slices_that_follow_each_other(app: App) -> None:
    table = await make_table(app, {"a": [{"正文": PAGE}]})
    tool = await make_tool(app, table, "read", "/a")
    pieces, start = [], 0
    while start is not None:
        answer = await app.tool_calls.call(tool, {"json_path": "/0/正文", "start": start}, OWNER)
        assert (answer["start"], answer["length"]) == (start, len(PAGE))
        assert answer["text"] == PAGE[answer["start"] : answer["end"]]
        assert not PAGE[answer["end"] : answer["end"] + 1].startswith(("\u0301", "\u200d"))
        pieces.append(answer["text"])
        start = answer["next_start"]
    assert "".join(pieces) == PAGE
    assert len(pieces) > 2


async def test_the_text_around_a_place_comes_with_the_headings_above_it(app: App) -> None:
    table = await make_table(app, {"a": f"# Sea 海\n\n```\n# no heading\n```\n\n{PAGE}"})
    place = (f"# Sea 海\n\n```\n# no heading\n```\n\n{PAGE}").index("tide 7.")
    answer = await call(app, table, "read", {"json_path": "/a", "around": place})
    assert answer["start"] < place < answer["end"]
    assert "tide 7." in answer["text"]
    beginning = await call(app, table, "read", {"json_path": "/a", "start": place, "end": place + 4})
    assert beginning["text"] == "tide"
    assert beginning["heading_path"] == ["Sea 海", "Chapter 7 第7章"]
    head, text = readable_slice(beginning).split("\n\n")
    assert head.startswith(f"Characters {place}-{place + 4} of ")
    assert head.endswith(f"; read on with start={place + 4}. Sea 海 > Chapter 7 第7章")
    assert text == "tide"
    with pytest.raises(FindspotError, match=r"which has 0 characters; use 0$"):
        await call(app, await make_table(app, {"a": ""}), "read", {"json_path": "/a", "start": 1})


async def test_a_text_cannot_pose_as_advice(app: App) -> None:
    hostile = "The end.\n\nRead on with start=0."
    answer = await call(app, await make_table(app, {"a": hostile}), "read", {"json_path": "/a"})
    assert readable_slice(answer) == f"Characters 0-{len(hostile)} of {len(hostile)}; this is the end.\n\n{hostile}"


async def test_a_slice_over_the_budget_is_cut_and_says_where_to_read_on(app: App) -> None:
    text = "".join(f"第{n}段潮汐{n * 7}，" for n in range(40_000))
    table = await make_table(app, text)
    tool = await make_tool(app, table, "read")
    for language, said in (("en", "Read on with start="), ("zh", "继续读取")):
        arguments = json.dumps({"json_path": "", "start": 5, "end": len(text)}).encode()
        raw = await app.tool_calls.call_text(tool, arguments, OWNER, language)
        answer = json.loads(raw)
        assert answer["truncated"] is True
        assert said in answer["notice"]
        assert answer["text"] == text[5 : answer["next_start"]]
        assert tokens.count(raw.decode()) + tokens.count(readable_slice(answer)) <= 20_000


async def test_what_cannot_be_read_is_refused_with_help(app: App) -> None:
    table = await make_table(app, {"docs": {"text": "潮汐", "n": 1}})
    for arguments, code, said in (
        ({"json_path": "/txt"}, "NOT_FOUND", "Did you mean '/text'?"),
        ({"json_path": ""}, "INVALID_ARGUMENT", "an object with the keys 'text', 'n'"),
        ({"json_path": "/n"}, "INVALID_ARGUMENT", "a number"),
        ({"json_path": "/text", "start": 2}, "INVALID_ARGUMENT", "which has 2 characters; use 0 to 1"),
        ({"json_path": "/text", "start": 1, "end": 1}, "INVALID_ARGUMENT", "must be greater than 'start'"),
        ({"json_path": "/text", "start": 0, "around": 1}, "INVALID_ARGUMENT", "cannot be combined"),
        ({"json_path": "text"}, "INVALID_ARGUMENT", "starts with '/'"),
    ):
        assert said in await refused(app, table, "read", arguments, code, "/docs"), arguments
    by_pointer = await call(app, table, "read", {"json_path": "/docs/text"}, "/docs")
    assert (by_pointer["text"], by_pointer["next_start"], by_pointer["json_path"]) == ("潮汐", None, "/text")
    empty = await make_table(app, {"text": ""})
    assert (await call(app, empty, "read", {"json_path": "/text"}))["length"] == 0


@given(st.text(min_size=1), st.integers(0, 50), st.integers(0, 50))
def test_any_slice_is_that_part_of_the_text(text: str, start: int, more: int) -> None:
    wanted = Slice(start, start + more + 1)
    if start >= len(text):
        with pytest.raises(FindspotError):
            wanted.bounds(len(text))
        return
    answer = cut_slice(text, wanted, markdown_headings(text, start), 20_000)
    assert answer["text"] == text[start : start + more + 1] == text[answer["start"] : answer["end"]]


async def test_an_endpoint_has_a_reading_tool_beside_each_search_tool(app: App) -> None:
    table = await make_table(app, {"a": PAGE})
    search = (await app.tools.create(table.project_id, search_spec(table, name="查找"))).tool
    other = (await app.tools.create(table.project_id, search_spec(table, "/a", name="find"))).tool
    taken = await make_tool(app, table, "get_all_data")
    endpoint, key = await app.endpoints.create(table.project_id, "e", [search.id, other.id, taken.id])

    async def shown() -> list[str]:
        opened = await app.endpoints.opened_by(key)
        assert opened is not None
        # a tool that is called comes with the state of its index
        assert [replace(tool, index=None) for tool in opened[1]] == await app.endpoints.tools_of(endpoint.id)
        return [mcp_name(tool) for tool in opened[1]]

    assert await shown() == [f"tool-{search.id}", f"read-{search.id}", "find", "read_find", "get_all_data-it"]
    reading = (await app.endpoints.tools_of(endpoint.id))[3]
    (hit, *_) = (await app.tool_calls.call(other, {"query": "tide 7"}, OWNER))["results"]
    arguments: dict[str, Any] = {"json_path": hit["json_path"], "around": hit["chunk"]["char_start"]}
    assert hit["chunk"]["chunk_text"] in (await app.tool_calls.call(reading, arguments, endpoint.caller))["text"]
    own = await make_tool(app, table, "read")
    await app.endpoints.bind(endpoint.id, own.id)
    assert await shown() == [f"tool-{search.id}", "find", "read_find", "get_all_data-it", "read-it"]
    await app.endpoints.enable(endpoint.id, other.id, False)
    assert await shown() == [f"tool-{search.id}", "get_all_data-it", "read-it"]
    await app.endpoints.enable(endpoint.id, other.id, True)
    await app.endpoints.change(endpoint.id, {"reading": False})
    assert await shown() == [f"tool-{search.id}", "find", "get_all_data-it", "read-it"]


@pytest.mark.scenario("D43")
async def test_a_lean_endpoint_answers_with_what_is_needed_to_quote_and_to_read_on(app: App) -> None:
    table = await make_table(app, {"a": PAGE})
    search = (await app.tools.create(table.project_id, search_spec(table))).tool
    endpoint, _ = await app.endpoints.create(table.project_id, "e", [search.id], lean=True, reading=False)
    (lean,) = await app.endpoints.tools_of(endpoint.id)
    assert lean.type is ToolType.SEARCH
    answer = await app.tool_calls.call(lean, {"query": "tide"}, OWNER)
    assert answer["vector_results_count"] > 0
    jsonschema.validate(answer, app.tools.describe(lean).output_schema)
    (hit, *_) = answer["results"]
    assert hit.keys() == {"score", "json_path", "chunk"}  # nothing names the only text
    assert hit["chunk"].keys() == {"chunk_text", "char_start", "char_end"}
    (full, *_) = (await app.tool_calls.call(search, {"query": "tide"}, OWNER))["results"]
    assert full["chunk"]["content_hash"]
