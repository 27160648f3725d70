"""Tools on documents: search, read, list, and the scope of a tool."""

import json
from typing import Any

import pytest

from findspot import tokens
from findspot.agents.cards import mcp_name
from findspot.agents.hits import readable
from findspot.app import App
from findspot.errors import FindspotError
from findspot.models import OWNER, Tool
from findspot.store.schema import documents
from tests import flows
from tests.agents.tools import new_tool

TIDES = "# Tides\n\nAn introduction.\n\n## The moon\n\nThe tide follows the moon across the bay, e\u0301 👩‍👧.\n"
CHINESE = "# 潮汐\n\n## 月亮\n\n潮汐随着月亮涨落，臺灣的漁船都知道。\n"


async def make_documents(app: App) -> int:
    """Make a project with three documents, two of which have a path."""
    project = await flows.make_project(app)
    made = [
        ("Tides", "note", TIDES, "sea/tides.md"),
        ("潮汐", "chapter", CHINESE, "sea/zh/潮汐.md"),
        ("Pool", "note", "The swimming pool is closed on Mondays. " * 200, None),
    ]
    for title, type, content, path in made:
        body = {"title": title, "type": type, "content": content, "format": "markdown"}
        document = await app.documents.create(project, json.dumps(body).encode())
        if path is not None:
            async with app.store.write() as connection:
                await connection.execute(documents.update().where(documents.c.id == document.id).values(path=path))
    await flows.settle(app)
    return project


async def make(app: App, project: int, type: str, name: str = "t", **scope: Any) -> Tool:
    spec = new_tool(project_id=project, name=name, type=type, documents=scope or None)
    return (await app.tools.create(project, spec)).tool


async def test_a_search_finds_passages_with_title_path_headings_and_line(app: App) -> None:
    project = await make_documents(app)
    tool = await make(app, project, "search_documents")
    answer = await app.tool_calls.call(tool, {"query": "moon tide", "top_k": 1}, OWNER)
    (hit,) = answer["results"]
    assert answer["total_results"] >= 1
    assert (hit["title"], hit["path"], hit["heading_path"]) == ("Tides", "sea/tides.md", ["Tides", "The moon"])
    assert "The tide follows the moon" in hit["text"]
    assert round(hit["score"], 4) == hit["score"]
    text = json.loads(b"{" + bytes((await app.documents.read(hit["document_id"]))[1]) + b"}")["text"]
    assert text[hit["start"] : hit["end"]] == hit["text"]
    assert TIDES.splitlines()[hit["line"] - 1] in (
        "## The moon",
        "The tide follows the moon across the bay, e\u0301 👩‍👧.",
    )
    nothing = await app.tool_calls.call(tool, {"query": "—"}, OWNER)
    assert nothing["notice"] == "The query contains no words to search for."
    absent = await app.tool_calls.call(tool, {"query": "🎉"}, OWNER)
    assert absent["notice"] == "Nothing that this tool searches contains 🎉."
    chinese = await app.tool_calls.call(tool, {"query": "月亮 漁船", "top_k": 1}, OWNER)
    assert chinese["results"][0]["title"] == "潮汐"
    shown = readable(chinese)
    assert f"1. document {chinese['results'][0]['document_id']} " in shown
    assert "sea/zh/潮汐.md > 潮汐 > 月亮" in shown


@pytest.mark.parametrize(
    ("scope", "titles"),
    [
        ({}, {"Tides", "潮汐", "Pool"}),
        ({"path_prefix": "sea/"}, {"Tides", "潮汐"}),
        ({"path_prefix": "sea/zh"}, {"潮汐"}),
        ({"types": ["note"]}, {"Tides", "Pool"}),
        ({"types": ["note"], "path_prefix": "sea"}, {"Tides"}),
        ({"path_prefix": "nowhere"}, set()),
    ],
)
@pytest.mark.one_database
async def test_a_tool_searches_lists_and_reads_only_its_own_documents(
    app: App, scope: dict[str, Any], titles: set[str]
) -> None:
    project = await make_documents(app)
    search, read = (
        await make(app, project, "search_documents", **scope),
        await make(app, project, "read_document", **scope),
    )
    found = set()
    for query in ("moon tide", "月亮", "swimming pool"):
        found |= {
            hit["title"] for hit in (await app.tool_calls.call(search, {"query": query, "top_k": 20}, OWNER))["results"]
        }
    assert found == titles
    listed = (await app.tool_calls.call(await make(app, project, "list_documents", **scope), {}, OWNER))["documents"]
    assert {each["title"] for each in listed} == titles
    for each in (await app.tool_calls.call(await make(app, project, "list_documents"), {}, OWNER))["documents"]:
        if each["title"] in titles:
            part = await app.tool_calls.call(read, {"document_id": each["id"]}, OWNER)
            assert (part["title"], part["length"]) == (each["title"], each["length"])
        else:
            with pytest.raises(FindspotError) as refused:
                await app.tool_calls.call(read, {"document_id": each["id"]}, OWNER)
            assert refused.value.code == "NOT_FOUND"


@pytest.mark.one_database
async def test_a_document_is_read_in_parts_by_id_or_path(app: App) -> None:
    project = await make_documents(app)
    tool = await make(app, project, "read_document")
    whole = await app.tool_calls.call(tool, {"path": "sea/zh/潮汐.md"}, OWNER)
    assert "臺灣的漁船" in whole["text"]
    assert (whole["start"], whole["end"], whole["next_start"]) == (0, whole["length"], None)
    place = whole["text"].index("漁船")
    part = await app.tool_calls.call(
        tool, {"document_id": whole["document_id"], "start": place, "end": place + 2}, OWNER
    )
    assert (part["text"], part["next_start"], part["heading_path"]) == ("漁船", place + 2, ["潮汐", "月亮"])
    pool = await app.tool_calls.call(tool, {"document_id": whole["document_id"] + 1, "around": 5000}, OWNER)
    assert pool["start"] == 3000
    for wrong, said in (
        ({}, "either 'document_id' or 'path'"),
        ({"document_id": 1, "path": "x"}, "either"),
        ({"path": "no/where.md"}, "no document with the path 'no/where.md'"),
        ({"document_id": 10**9}, "no document with the id"),
        ({"document_id": whole["document_id"], "start": 10**6}, "past the end"),
    ):
        with pytest.raises(FindspotError, match=said):
            await app.tool_calls.call(tool, wrong, OWNER)


@pytest.mark.parametrize(
    ("type", "field"), [("read_document", "path"), ("list_documents", "path_prefix"), ("list_documents", "type")]
)
async def test_an_argument_with_a_nul_character_is_refused_by_its_name(app: App, type: str, field: str) -> None:
    tool = await make(app, await flows.make_project(app), type)
    with pytest.raises(FindspotError) as refused:
        await app.tool_calls.call(tool, {field: "海\0sea"}, OWNER)
    assert (refused.value.code, refused.value.fields["field"]) == ("INVALID_ARGUMENT", field)


@pytest.mark.one_database
async def test_a_long_list_comes_in_pages_that_fit_the_budget(app: App) -> None:
    project = await flows.make_project(app)
    for number in range(60):
        body = {"title": f"{'标题很长' * 40} {number}", "content": "x", "format": "text"}
        await app.documents.create(project, json.dumps(body).encode())
    tool, seen, arguments = await make(app, project, "list_documents"), [], dict[str, Any]()
    while True:
        raw = await app.tool_calls.call_text(tool, json.dumps(arguments).encode(), OWNER)
        assert 2 * tokens.count(raw.decode()) <= 21_000
        page = json.loads(raw)
        seen += [each["title"].rpartition(" ")[2] for each in page["documents"]]
        if page["cursor"] is None:
            break
        arguments = {"cursor": page["cursor"]}
    assert seen == [str(number) for number in range(60)]
    with pytest.raises(FindspotError, match="cursor"):
        await app.tool_calls.call(tool, {"cursor": "???"}, OWNER)


@pytest.mark.one_database
async def test_a_tool_on_documents_has_no_table_and_a_reading_tool_beside_it(app: App) -> None:
    project = await make_documents(app)
    with pytest.raises(ValueError, match="works on documents and has no table"):
        new_tool(project_id=project, name="t", type="search_documents", table_id=1)
    with pytest.raises(ValueError, match="table_id is missing; the tools on documents are search_documents, "):
        new_tool(project_id=project, name="t", type="search")
    with pytest.raises(ValueError, match="only a tool on documents"):
        new_tool(project_id=project, name="t", type="search", table_id=1, documents={"types": ["x"]})
    search = await make(app, project, "search_documents", "find", path_prefix="sea/")
    endpoint, _ = await app.endpoints.create(project, "e", [search.id])
    shown = await app.endpoints.tools_of(endpoint.id)
    assert [mcp_name(tool) for tool in shown] == ["find", "read_find"]
    assert (await app.tool_calls.call(shown[1], {"path": "sea/tides.md"}, endpoint.caller))["title"] == "Tides"
    with pytest.raises(FindspotError):
        await app.tool_calls.call(shown[1], {"document_id": 3}, endpoint.caller)
