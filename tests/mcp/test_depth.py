"""Data that is nested too deep for MCP: the agent gets an error it can act on, never an internal one."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_types.version import LATEST_MODERN_VERSION

from findspot.errors import FindspotError
from findspot.settings import Settings
from findspot.surfaces.mcp.depth import MAX_ANSWER, MAX_OLDER_REQUEST, require_shallow
from tests.http.world import open_api, with_key

META = {
    "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
MODERN = {"Mcp-Protocol-Version": LATEST_MODERN_VERSION, "Mcp-Method": "tools/call"}


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


async def call(agent: httpx2.AsyncClient, path: str, name: str, arguments: str, *, modern: bool) -> dict[str, Any]:
    params = f'{{"name":"{name}","arguments":{arguments},"_meta":{json.dumps(META)}}}'
    body = f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}'
    headers = {"Accept": "application/json, text/event-stream", **({**MODERN, "Mcp-Name": name} if modern else {})}
    answer = await agent.post(path, content=body.encode(), headers=headers)
    assert answer.status_code == 200
    text = answer.text if answer.text.startswith("{") else answer.text.split("data: ")[1]
    message: dict[str, Any] = json.loads(text)
    assert message["id"] == 7
    result: dict[str, Any] = message["result"]
    return result


def test_an_answer_may_be_nested_up_to_the_limit() -> None:
    require_shallow(b'{"data":%b}' % nested(MAX_ANSWER - 1).encode())
    require_shallow(json.dumps({"data": ["[" * 1000, [[]] * 1000]}).encode())
    with pytest.raises(FindspotError, match="nested more than"):
        require_shallow(b'{"data":%b}' % nested(MAX_ANSWER).encode())


async def test_deep_data_is_a_tool_error_in_both_directions_and_protocol_revisions(tmp_path: Path) -> None:
    async with open_api(Settings(data=tmp_path)) as owner:
        project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
        deep = f'{{"name":"t","data":{nested(MAX_ANSWER + 1)}}}'.encode()
        table = (await owner.post(f"/api/v1/projects/{project}/tables", content=deep)).json()["id"]
        tools = [
            (await owner.post("/api/v1/tools", json={"project_id": project, "table_id": table, **tool})).json()[
                "tool_id"
            ]
            for tool in (
                {"type": "get_all_data", "name": "all"},
                {"type": "get_all_data", "name": "deeper", "json_pointer": "/0/0"},
                {"type": "create", "name": "add"},
            )
        ]
        body = {"project_id": project, "name": "agents", "tool_ids": tools}
        endpoint = (await owner.post("/api/v1/mcp", json=body)).json()
        path, content = f"/mcp/{endpoint['id']}", nested(MAX_OLDER_REQUEST)
        async with with_key(owner, endpoint["api_key"]) as agent:
            for modern in (True, False):
                refused = await call(agent, path, "all", "{}", modern=modern)
                assert refused["isError"] is True
                assert "Read a deeper part of it" in refused["content"][0]["text"]
                assert refused["_meta"]["findspot/error"]["code"] == "CONTENT_TOO_LARGE"
                shown = await call(agent, path, "deeper", "{}", modern=modern)
                assert not shown["isError"]
            elements = f'{{"elements":[{{"content":{content}}}]}}'
            older = await call(agent, path, "add", elements, modern=False)
            assert older["isError"] is True
            assert "Nothing was changed" in older["content"][0]["text"]
            assert (await owner.get(f"/api/v1/tables/{table}")).json()["revision"] == 1
            assert (await call(agent, path, "add", elements, modern=True))["structuredContent"]["total"] == 1
