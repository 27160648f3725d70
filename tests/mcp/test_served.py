"""The real tools behind a real server: what agents get is what the API gives."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent
from mcp_types.version import LATEST_MODERN_VERSION

from tests.flows import PATIENCE_S
from tests.servers import Server

LONG = "The lighthouse keeper 灯塔看守人 counted the ships. " * 300


@asynccontextmanager
async def agent(url: str, key: str, mode: str = LATEST_MODERN_VERSION) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE_S, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.scenario(
    "002.why.whole-loop",
    "003.api.search-call",
    "001.call.dispatched-by-type",
    "001.goal.called-over-mcp",
    "001.aim.type-search",
    "000.search-tool.bound-to-mcp",
)
async def test_an_agent_searches_reads_and_edits_and_its_key_is_in_no_log(start_server: Callable[..., Server]) -> None:
    server = start_server(FINDSPOT_LOG_LEVEL="debug")
    async with server.async_client() as owner:
        project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
        body = {"name": "t", "data": {"long": LONG, "n": [1]}}
        table = (await owner.post(f"/api/v1/projects/{project}/tables", json=body)).json()["id"]
        ids = {}
        for type in ("search", "query_data", "create"):
            made = {"project_id": project, "table_id": table, "name": type, "type": type}
            ids[type] = (await owner.post("/api/v1/tools", json=made)).json()["tool_id"]
        made = {"project_id": project, "name": "e", "tool_ids": list(ids.values())}
        endpoint = (await owner.post("/api/v1/mcp", json=made)).json()
        async with agent(endpoint["url"], endpoint["api_key"]) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["search", "read_search", "query_data", "create"]
            found = await client.call_tool("search", {"query": "灯塔 keeper"})
            asked = {"arguments": {"query": "灯塔 keeper"}}
            same = (await owner.post(f"/api/v1/tools/{ids['search']}/call", json=asked)).json()
            assert found.structured_content["results"] == same["results"] != []
            link = found.content[1]
            (node,) = (await client.read_resource(link.uri)).contents  # type: ignore[union-attr]
            first = found.structured_content["results"][0]["chunk"]
            assert node.text == LONG[first["char_start"] :]  # type: ignore[union-attr]
            wrong = await client.call_tool("search", {"query": 7, "nonsense": True})
            assert wrong.is_error
            assert isinstance(wrong.content[0], TextContent)
            assert "query" in wrong.content[0].text
            async with client.listen(tools_list_changed=True) as changes:
                created = await client.call_tool("create", {"elements": [{"key": "新", "content": 1.5}]})
                assert not created.is_error
                assert (await owner.get(f"/api/v1/tables/{table}?json_pointer=/新")).json()["data"] == 1.5
                assert server.stop() == 0  # although someone listens
                assert [event async for event in changes] == []  # and is told the end
    log = "".join(server.output)
    assert endpoint["api_key"] not in log
    assert "Traceback" not in log
    assert '"route": "/mcp/{endpoint_id}"' in log


async def test_large_and_exact_arguments_of_an_agent_reach_the_table(start_server: Callable[..., Server]) -> None:
    server = start_server()
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "p"}).json()["id"]
        table = owner.post(f"/api/v1/projects/{project}/tables", json={"name": "t", "data": {}}).json()["id"]
        made = {"project_id": project, "table_id": table, "name": "add", "type": "create"}
        tool = owner.post("/api/v1/tools", json=made).json()["tool_id"]
        endpoint = owner.post("/api/v1/mcp", json={"project_id": project, "name": "e", "tool_ids": [tool]}).json()
        meta = {
            "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": "add", "arguments": {"elements": [{"key": "k", "content": "NUMBER"}]}, "_meta": meta}
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        headers = {
            "Authorization": f"Bearer {endpoint['api_key']}", "Accept": "application/json, text/event-stream",
            "Mcp-Protocol-Version": LATEST_MODERN_VERSION, "Mcp-Method": "tools/call", "Mcp-Name": "add",
        }  # fmt: skip
        exact = text.replace('"NUMBER"', "[1.10, 12345678901234567890.5, 1e2]")
        assert owner.post(endpoint["url"], content=exact, headers=headers).json()["result"]["isError"] is False
        assert b"[1.10, 12345678901234567890.5, 1e2]" in owner.get(f"/api/v1/tables/{table}").content
        refused = owner.post(endpoint["url"], content=text.replace('"NUMBER"', "NaN"), headers=headers).json()
        assert refused["result"]["isError"] is True
        half = owner.post(endpoint["url"], content=text.replace('"NUMBER"', '"\\ud800"'), headers=headers)
        assert half.json()["result"]["isError"] is True
        assert "arguments: contains a lone surrogate" in half.text
        large = "汉字 large " * 800_000  # over 10 MB
        for mode in (LATEST_MODERN_VERSION, "legacy"):
            async with agent(endpoint["url"], endpoint["api_key"], mode) as client:
                added = await client.call_tool("add", {"elements": [{"key": mode, "content": large}]})
            assert added.structured_content == {"created_keys": [mode], "total": 1}
            assert owner.get(f"/api/v1/tables/{table}?json_pointer=/{mode}").json()["data"] == large
