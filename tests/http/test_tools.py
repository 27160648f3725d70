"""Tools over HTTP: the shapes of the contract."""

import json
from typing import Any

import httpx2
import pytest

TEXT = {"en": "The tide follows the moon across the bay. " * 300, "zh": "潮汐随着月亮涨落，渔船都知道。" * 800}


async def make_table(owner: httpx2.AsyncClient, data: Any) -> dict[str, int]:
    project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
    table = await owner.post(f"/api/v1/projects/{project}/tables", json={"name": "资料", "data": data})
    return {"project_id": project, "table_id": table.json()["id"]}


async def make_tool(owner: httpx2.AsyncClient, where: dict[str, int], **spec: Any) -> int:
    answer = await owner.post("/api/v1/tools", json={**where, "name": "n", **spec})
    assert answer.status_code == 201, answer.text
    return int(answer.json()["tool_id"])


async def call(owner: httpx2.AsyncClient, tool_id: int, **arguments: Any) -> httpx2.Response:
    return await owner.post(f"/api/v1/tools/{tool_id}/call", json={"arguments": arguments})


@pytest.mark.scenario(
    "002.impact.creation-flow",
    "001.creation.request",
    "001.creation.finds-large-strings",
    "003.api.create-answer.large-nodes",
    "003.api.create-answer.namespace",
    "003.api.create-answer.chunks-created",
    "003.creation.names-namespace",
    "003.aim.auto-chunking",
    "000.indexing",
)
async def test_creating_a_search_tool_reports_the_indexed_nodes(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, {"articles": [{"content": TEXT["en"]}, {"content": "short"}, {"正文": TEXT["zh"]}]})
    body = {**where, "name": "search_knowledge_base", "json_path": "/articles"}
    answer = await owner.post("/api/v1/tools/search", json=body)
    assert answer.status_code == 201
    made = answer.json()
    nodes = {each["json_pointer"]: each["char_count"] for each in made["large_nodes_detected"]}
    assert nodes == {"/articles/0/content": len(TEXT["en"]), "/articles/2/正文": len(TEXT["zh"])}
    assert made["chunks_created"] == sum(each["chunks_count"] for each in made["large_nodes_detected"]) > 20
    assert made["namespace"] == f"project_{where['project_id']}_table_{where['table_id']}"
    assert (made["name"], made["status"], "notice" in made) == ("search_knowledge_base", "ready", False)
    again = (await owner.post("/api/v1/tools", json={**body, "type": "search"})).json()
    assert (again["chunks_created"], again["large_nodes_detected"]) == (0, made["large_nodes_detected"])


@pytest.mark.scenario(
    "000.search-index",
    "000.search-index.written-on-creation",
    "001.creation.summary",
    "001.open-question.status",
    "001.risk.slow-creation",
    "D23",
)
async def test_the_metadata_of_a_search_tool_has_the_state_of_its_index(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, {"a": TEXT["zh"], "long" * 300: TEXT["en"]})
    made = (await owner.post("/api/v1/tools/search?wait=false", json={**where, "name": "s"})).json()
    assert made["status"] == "pending"
    await owner.post("/api/v1/tools/search", json={**where, "name": "another, which waits"})
    index = (await owner.get(f"/api/v1/tools/{made['tool_id']}/search-index")).json()
    tool = (await owner.get(f"/api/v1/tools/{made['tool_id']}")).json()
    assert tool["metadata"]["search_index"] == index
    assert (index["status"], index["last_error"], index["nodes_count"]) == ("ready", None, 1)
    assert index["chunks_count"] == index["indexed_chunks_count"] > 5
    assert [each["reason"] for each in index["skipped_nodes"]] == ["pointer_too_long"]
    assert tool["search_config"] == {
        "top_k": 5,
        "enable_hybrid": True,
        "chunk_threshold": 10_000,
        "chunk_size": 1000,
        "chunk_overlap": 100,
        "include_metadata": True,
    }
    assert not {"namespace", "turbopuffer_namespace", "status"} & set(tool)
    other = await make_tool(owner, where, type="get")
    assert (await owner.get(f"/api/v1/tools/{other}/search-index")).status_code == 404


@pytest.mark.scenario("D21")
async def test_a_tool_with_nothing_to_index_has_a_notice_in_the_callers_language(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, {"a": "短"})
    for language, word in (("en-GB,en;q=0.9", "characters"), ("zh-CN,zh;q=0.9,en;q=0.8", "字符"), ("fr", "characters")):
        headers = {"Accept-Language": language}
        made = (await owner.post("/api/v1/tools/search", json={**where, "name": "s"}, headers=headers)).json()
        assert (made["status"], made["chunks_created"]) == ("ready", 0)
        assert word in made["notice"]
        answer = (await call(owner, made["tool_id"], query="短")).json()
        assert (answer["results"], answer["total_results"]) == ([], 0)
    low = await make_tool(owner, where, type="search", search_config={"chunk_threshold": 1})
    assert [each["json_path"] for each in (await call(owner, low, query="短")).json()["results"]] == ["/a"]


@pytest.mark.scenario("D22", "002.mcp-tools", "002.mcp-tools.type-search")
async def test_every_type_is_made_listed_changed_and_deleted_by_the_same_routes(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, [])
    types = ["get_data_schema", "get", "query", "create", "update", "delete", "preview", "select", "search"]
    made = [await make_tool(owner, where, type=each, name=f"工具 {each}") for each in types]
    listed = (await owner.get(f"/api/v1/projects/{where['project_id']}/tools")).json()["tools"]
    long = {"get": "get_all_data", "query": "query_data"}
    assert [(each["id"], each["type"]) for each in listed] == [
        (id, long.get(each, each)) for id, each in zip(made, types, strict=True)
    ]
    assert all("'资料'" in each["description"] for each in listed)
    changed = await owner.patch(f"/api/v1/tools/{made[0]}", json={"name": "结构", "description": "d"})
    assert (changed.json()["name"], changed.json()["description"]) == ("结构", "d")
    for id in made:
        assert (await owner.delete(f"/api/v1/tools/{id}")).status_code == 204
        assert (await owner.get(f"/api/v1/tools/{id}")).status_code == 404
    unknown = await owner.post("/api/v1/tools", json={**where, "name": "n", "type": "drop"})
    assert (unknown.status_code, unknown.json()["field"]) == (422, "type")


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"name": ""}, "name"),
    ({"json_pointer": "a"}, "json_pointer"),
    ({"json_path": "/~2"}, "json_path"),
    ({"table_id": "1"}, "table_id"),
    ({"more": 1}, "more"),
    ({"search_config": {"top_k": 0}}, "search_config.top_k"),
    ({"search_config": {"top_k": 21}}, "search_config.top_k"),
    ({"search_config": {"chunk_size": 99}}, "search_config.chunk_size"),
    ({"search_config": {"chunk_size": 200, "chunk_overlap": 100}}, "search_config.chunk_overlap"),
    ({"search_config": {"vector_weight": 1.5}}, "search_config.vector_weight"),
    ({"search_config": {"vector_weight": 0, "bm25_weight": 0}}, "search_config.vector_weight"),
    ({"search_config": {"fusion": "sum"}}, "search_config.fusion"),
    ({"search_config": {"unknown": 1}}, "search_config.unknown"),
    ({"metadata": {"search_index": {}}}, "body"),
    ({"metadata": {"preview_keys": "title"}}, "metadata"),
    ({"metadata": {"preview_keys": [1]}}, "metadata"),
)


async def test_a_tool_that_is_not_well_described_is_refused_with_the_field(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, {})
    for spec, field in WRONG:
        answer = await owner.post("/api/v1/tools/search", json={**where, "name": "s", **spec})
        assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT"), answer.text
        assert answer.json()["field"].startswith(field), answer.text
    assert (await owner.get(f"/api/v1/projects/{where['project_id']}/tools")).json() == {"tools": []}


async def test_a_description_has_a_limit_in_characters(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, {})
    tool = await make_tool(owner, where, type="search", description="界" * 4_000)
    new = {**where, "name": "another", "type": "search", "description": "界" * 4_001}
    for answer in (
        await owner.post("/api/v1/tools", json=new),
        await owner.post("/api/v1/tools/search", json={key: value for key, value in new.items() if key != "type"}),
        await owner.patch(f"/api/v1/tools/{tool}", json={"description": "é" * 4_001}),
    ):
        refused = answer.json()
        assert (answer.status_code, refused["code"], refused["field"]) == (422, "INVALID_ARGUMENT", "description")
        assert "4000 characters" in refused["message"]
    assert (await owner.get(f"/api/v1/tools/{tool}")).json()["description"] == "界" * 4_000


async def test_an_unknown_field_of_the_search_config_is_named_with_the_known_ones(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, {})
    answer = await owner.post("/api/v1/tools/search", json={**where, "name": "s", "search_config": {"topk": 3}})
    assert answer.json()["field"] == "search_config.topk"
    assert "is unknown; the known fields are top_k, enable_hybrid" in answer.json()["message"]


@pytest.mark.scenario("D36")
async def test_half_a_character_describes_no_tool(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, {})
    tool = await make_tool(owner, where, type="search")
    for change in (b'{"description": "\\ud800"}', b'{"json_pointer": "/\\udc00"}', b'{"metadata": {"a": ["\\ud800"]}}'):
        answer = await owner.patch(f"/api/v1/tools/{tool}", content=change)
        assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT"), answer.text
        assert answer.json()["field"] in change.decode()


async def test_a_table_of_another_project_has_no_tools_here(owner: httpx2.AsyncClient) -> None:
    mine, other = await make_table(owner, {}), await make_table(owner, {})
    body = {"project_id": mine["project_id"], "table_id": other["table_id"], "name": "s"}
    answer = await owner.post("/api/v1/tools/search", json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.scenario(
    "000.search-tool",
    "000.arguments",
    "000.arguments.query-and-top-k",
    "000.hits",
    "000.hits.full-chunk",
    "000.json-path",
    "000.json-path.relative-to-scope",
    "001.goal.full-chunk",
    "001.goal.exact-place",
    "001.goal.json-path",
    "001.output.echoes-query",
    "001.output.score",
    "001.output.chunk",
    "001.output.json-path",
    "001.input.query-required",
    "001.input.top-k-bounds",
    "001.input.nothing-advanced",
    "D39",
)
async def test_a_call_of_a_search_tool_returns_whole_chunks_and_their_positions(owner: httpx2.AsyncClient) -> None:
    value = {"articles": [{"content": TEXT["en"]}, {"content": TEXT["zh"]}], "aside": TEXT["en"]}
    where = await make_table(owner, value)
    tool = await make_tool(owner, where, type="search", json_pointer="/articles")
    for query, at in (("moon tide bay", 0), ("潮汐 渔船", 1)):
        answer = (await call(owner, tool, query=query)).json()
        assert answer["query"] == query
        assert 1 <= len(answer["results"]) <= min(5, answer["total_results"])
        assert {"search_time_ms", "vector_results_count", "bm25_results_count"} <= set(answer)
        best = answer["results"][0]
        assert (best["json_path"], best["chunk"]["json_pointer"]) == (f"/{at}/content", f"/articles/{at}/content")
        for result in answer["results"]:
            chunk, node = result["chunk"], value["articles"][int(result["json_path"][1])]["content"]  # type: ignore[index]
            assert node[chunk["char_start"] : chunk["char_end"]] == chunk["chunk_text"]
            assert chunk["table_id"] == where["table_id"]
            assert 0 <= chunk["chunk_index"] < chunk["total_chunks"]
            assert chunk["turbopuffer_doc_id"].startswith(f"{where['table_id']}:")
            assert 0 <= result["score"] <= 1
    for arguments in ({}, {"query": "x", "top_k": 21}, {"query": "x", "vector_weight": 1}, {"query": ["x"]}):
        refused = await call(owner, tool, **arguments)
        assert (refused.status_code, refused.json()["code"]) == (422, "INVALID_ARGUMENT")
    half = await owner.post(f"/api/v1/tools/{tool}/call", content=b'{"arguments": {"query": "a \\ud800"}}')
    assert (half.status_code, half.json()["field"]) == (422, "arguments")
    assert "lone surrogate" in half.json()["message"]


async def test_a_call_returns_the_exact_values_of_the_table(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, {})
    exact = '{"n":[1.10,123456789012345678901234567890,1e400,-0],"键":null}'
    create = await make_tool(owner, where, type="create")
    body = f'{{"arguments":{{"elements":[{{"key":"新","content":{exact}}}]}}}}'
    made = await owner.post(f"/api/v1/tools/{create}/call", content=body)
    assert made.json() == {"created_keys": ["新"], "total": 1}
    every = await make_tool(owner, where, type="get", json_pointer="/新")
    assert (await call(owner, every)).text == f'{{"data":{exact}}}'
    again = await owner.post(f"/api/v1/tools/{create}/call", content=body)
    assert (again.status_code, again.json()["code"]) == (409, "PATCH_CONFLICT")
    for wrong in ("", "[]", '{"arguments":', '{"argument":{}}', '{"arguments":[]}', '{"arguments":{"elements":1}}'):
        answer = await owner.post(f"/api/v1/tools/{create}/call", content=wrong)
        assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT"), wrong


@pytest.mark.scenario(
    "001.migration.internal-routes", "001.non-goal.rebuild-by-hand", "002.non-goal.reindex", "003.api.chunk-stats"
)
async def test_operators_see_delete_and_rebuild_chunks(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, {"a": TEXT["en"]})
    tool = await make_tool(owner, where, type="search")
    before = (await owner.get(f"/internal/tools/{tool}/chunks/stats")).json()
    assert (await owner.delete(f"/internal/tools/{tool}/chunks")).status_code == 204
    assert (await owner.get(f"/internal/tools/{tool}/chunks/stats")).json()["chunks_count"] == 0
    assert (await owner.post(f"/internal/tools/{tool}/chunks/rebuild")).status_code == 202
    await owner.post("/api/v1/tools/search", json={**where, "name": "waits for the same index"})
    after = (await owner.get(f"/internal/tools/{tool}/chunks/stats")).json()
    assert after["chunks_count"] == after["indexed_chunks_count"] == before["chunks_count"]


async def test_a_read_key_may_call_reading_tools_and_no_editing_tools(owner: httpx2.AsyncClient, as_key: Any) -> None:
    where = await make_table(owner, [1])
    project = where["project_id"]
    key = (await owner.post(f"/api/v1/projects/{project}/keys", json={"name": "r", "role": "read"})).json()["key"]
    every, delete = await make_tool(owner, where, type="get"), await make_tool(owner, where, type="delete")
    async with as_key(owner, key) as reader:
        assert (await call(reader, every)).json() == {"data": [1]}
        refused = await call(reader, delete, keys=[0])
    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    assert (await call(owner, every)).json() == {"data": [1]}


async def test_the_tools_of_a_table_go_with_it(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, {"a": TEXT["zh"]})
    tool = await make_tool(owner, where, type="search")
    assert (await owner.delete(f"/api/v1/tables/{where['table_id']}")).status_code == 204
    assert (await owner.get(f"/api/v1/tools/{tool}")).status_code == 404
    assert (await call(owner, tool, query="潮汐")).status_code == 404


async def test_an_answer_over_the_budget_is_valid_json_with_a_notice(owner: httpx2.AsyncClient) -> None:
    where = await make_table(owner, [{"标题": "潮汐", "text": TEXT["en"]}] * 50)
    tool = await make_tool(owner, where, type="get")
    headers = {"Accept-Language": "zh"}
    answer = await owner.post(f"/api/v1/tools/{tool}/call", json={"arguments": {}}, headers=headers)
    assert answer.json()["truncated"] is True
    assert "已截断" in answer.json()["notice"]
    assert len(json.dumps(answer.json()["data"])) < 100_000


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("tools/search", {}, "project_id: is missing"),
        ("tools/search", {"project_id": "1", "name": "n"}, "project_id: must be an integer, not a string"),
        ("tools/search", {"project_id": 1, "table_id": "1", "name": "n"}, "table_id: must be a valid integer"),
        ("tools/search", {"project_id": 1, "table_id": 1, "name": "n", "表": 1}, "表: is unknown"),
        ("tools/1/call", {"query": "潮汐"}, "query: is unknown; the known fields are arguments"),
        ("projects/1/documents", {"titel": "潮汐", "content": ""}, "titel: is unknown; the known fields are title, "),
        ("projects/1/search/query/strategy", {"query": "潮汐", "strategy": "x"}, "strategy: must be 'fts', "),
    ],
)
async def test_an_invalid_field_of_a_body_is_named_with_what_is_wrong(
    owner: httpx2.AsyncClient, path: str, body: dict[str, Any], message: str
) -> None:
    await make_tool(owner, await make_table(owner, {}), type="get_all_data")
    answer = await owner.post(f"/api/v1/{path}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_ARGUMENT")
    assert answer.json()["message"].startswith(message)
