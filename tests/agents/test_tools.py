"""Creating, changing and deleting tools."""

from typing import Any

import pytest

from findspot.agents.schemas import SearchConfig, ToolChange
from findspot.app import App
from findspot.errors import FindspotError
from findspot.models import OWNER
from findspot.runtime import messages
from tests import flows
from tests.agents.tools import (
    CHINESE,
    ENGLISH,
    make_table,
    make_tool,
    new_search,
    new_tool,
    search_spec,
)

pytestmark = pytest.mark.one_database  # test_tool_index.py runs the queries of tools on both databases


@pytest.mark.scenario("002.impact.default-input-schema", "001.migration.default-description")
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


@pytest.mark.scenario("003.tool-create.types")
def test_short_type_names_are_accepted_and_unknown_ones_refused() -> None:
    spec = {"project_id": 1, "table_id": 1, "name": "n"}
    assert (new_tool(**spec, type="get").type, new_tool(**spec, type="query").type) == ("get_all_data", "query_data")
    with pytest.raises(ValueError, match="must be one of"):
        new_tool(**spec, type="drop")
    with pytest.raises(ValueError, match="only a search tool"):
        new_tool(**spec, type="get", search_config={"top_k": 3})


@pytest.mark.parametrize(
    "field", [{"description": "月\0亮"}, {"documents": {"path_prefix": "a\0/"}}, {"documents": {"types": ["\0"]}}]
)
def test_a_field_with_a_nul_character_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must not contain U\+0000"):
        new_tool(project_id=1, name="n", type="search_documents", **field)


@pytest.mark.scenario("003.creation.nothing-to-chunk")
async def test_a_tool_without_long_strings_is_ready_with_a_notice(app: App) -> None:
    table = await make_table(app, {"short": "月亮"})
    spec = {"project_id": table.project_id, "table_id": table.id, "name": "s"}
    for pointer in ("", "/nowhere"):
        new = new_search(**spec, json_pointer=pointer, allow_missing=True)
        made = await app.tools.create(table.project_id, new, language="zh")
        assert (made.status, made.chunks_created, made.nodes) == ("ready", 0, [])
        assert made.notice == messages.nothing_to_index(10_000, "zh")
        answer = await app.tool_calls.call(made.tool, {"query": "月亮"}, OWNER)
        assert (answer["total_results"], answer["results"]) == (0, [])
    low = await app.tools.create(table.project_id, search_spec(table))
    assert [r["json_path"] for r in (await app.tool_calls.call(low.tool, {"query": "月亮"}, OWNER))["results"]] == [
        "/short"
    ]


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


@pytest.mark.scenario("003.queue.pending")
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


@pytest.mark.one_process  # the worker of the other app has an embedder that works
async def test_the_index_status_shows_an_unavailable_embedder(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = flows.FakeEmbedder()
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


@pytest.mark.scenario("003.api.chunk-delete")
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
