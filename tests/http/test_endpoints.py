"""MCP endpoints over HTTP: bindings, names and keys."""

from pathlib import Path

import httpx2
import pytest

from findspot.app import App
from findspot.settings import Settings
from tests import flows
from tests.http.world import open_api


@pytest.fixture
async def where(owner: httpx2.AsyncClient) -> dict[str, int]:
    project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
    table = await owner.post(f"/api/v1/projects/{project}/tables", json={"name": "t", "data": {}})
    return {"project_id": project, "table_id": table.json()["id"]}


async def make_tool(owner: httpx2.AsyncClient, where: dict[str, int], name: str) -> int:
    made = await owner.post("/api/v1/tools", json={**where, "name": name, "type": "get"})
    return int(made.json()["tool_id"])


async def make(owner: httpx2.AsyncClient, where: dict[str, int], *tool_ids: int) -> httpx2.Response:
    body = {"project_id": where["project_id"], "name": "助手", "tool_ids": list(tool_ids)}
    return await owner.post("/api/v1/mcp", json=body)


async def bound(owner: httpx2.AsyncClient, endpoint: int) -> dict[str, bool]:
    answer = (await owner.get(f"/api/v1/mcp/{endpoint}")).json()
    return {each["name"]: each["enabled"] for each in answer["tools"]}


async def test_an_endpoint_is_made_with_its_tools_and_its_key_is_shown_once(
    owner: httpx2.AsyncClient, where: dict[str, int]
) -> None:
    tools = [await make_tool(owner, where, name) for name in ("b", "a", "查")]
    made = (await make(owner, where, *reversed(tools))).json()
    assert made["url"].endswith(f"/mcp/{made['id']}")
    assert len(made["api_key"]) > 40
    shown = await owner.get(f"/api/v1/mcp/{made['id']}")
    assert [each["tool_id"] for each in shown.json()["tools"]] == tools
    listed = await owner.get(f"/api/v1/projects/{where['project_id']}/mcp")
    assert [each["id"] for each in listed.json()["endpoints"]] == [made["id"]]
    assert made["api_key"] not in shown.text + listed.text


@pytest.mark.parametrize("public", [None, "https://search.example:8443"])
async def test_links_have_the_configured_address_and_not_that_of_the_host_header(
    tmp_path: Path, public: str | None
) -> None:
    async with open_api(Settings(data=tmp_path, host="127.0.0.9", port=4711, public_url=public)) as owner:
        owner.headers["Host"] = "evil.example"
        project = (await owner.post("/api/v1/projects", json={"name": "p"})).json()["id"]
        made = (await make(owner, {"project_id": project})).json()
        listed = (await owner.get(f"/api/v1/projects/{project}/mcp")).json()["endpoints"]
        shown = (await owner.get(f"/api/v1/mcp/{made['id']}")).json()
        links = {made["url"], listed[0]["url"], shown["url"]}
        assert links == {f"{public or 'http://127.0.0.9:4711'}/mcp/{made['id']}"}
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for headers, status in (
            ({"Host": "search.example:8443", "Origin": "https://search.example:8443"}, 200 if public else 421),
            ({"Host": "127.0.0.9:4711", "Origin": "https://search.example:8443"}, 200 if public else 403),
            ({"Host": "127.0.0.9:4711", "Origin": "https://search.example"}, 403),
        ):
            assert (await owner.post(f"/mcp/{made['id']}", json=ping, headers=headers)).status_code == status


async def test_an_endpoint_with_a_tool_that_cannot_be_bound_is_not_made(
    owner: httpx2.AsyncClient, where: dict[str, int]
) -> None:
    good, twin = await make_tool(owner, where, "同名"), await make_tool(owner, where, "同名")
    other = {"project_id": (await owner.post("/api/v1/projects", json={"name": "o"})).json()["id"]}
    for tools, status, code in (
        ((good, 999), 404, "NOT_FOUND"),
        ((good, twin), 409, "TOOL_NAME_CONFLICT"),
    ):
        answer = await make(owner, where, *tools)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert (await make(owner, other, good)).status_code == 404
    for project in (where, other):
        assert (await owner.get(f"/api/v1/projects/{project['project_id']}/mcp")).json() == {"endpoints": []}
    assert (await make(owner, where, good, good)).status_code == 201


async def test_binding_disabling_and_unbinding_a_tool_take_effect_at_once(
    owner: httpx2.AsyncClient, where: dict[str, int]
) -> None:
    first, second = await make_tool(owner, where, "一"), await make_tool(owner, where, "two")
    endpoint = (await make(owner, where, first)).json()["id"]
    path = f"/api/v1/mcp/{endpoint}/tools/{second}"
    for _ in range(2):
        assert (await owner.put(path)).status_code == 200
    assert await bound(owner, endpoint) == {"一": True, "two": True}
    assert (await owner.patch(path, json={"enabled": False})).json() == {
        "id": second,
        "tool_id": second,
        "enabled": False,
    }
    assert await bound(owner, endpoint) == {"一": True, "two": False}
    assert (await owner.delete(path)).status_code == 204
    for answer in (await owner.delete(path), await owner.patch(path, json={"enabled": True})):
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    await owner.delete(f"/api/v1/tools/{first}")
    assert await bound(owner, endpoint) == {}
    assert (await owner.delete(f"/api/v1/mcp/{endpoint}")).status_code == 204
    assert (await owner.get(f"/api/v1/mcp/{endpoint}")).status_code == 404


async def test_a_name_is_unique_in_an_endpoint_also_when_a_tool_is_renamed(
    owner: httpx2.AsyncClient, where: dict[str, int]
) -> None:
    one, two, twin = [await make_tool(owner, where, name) for name in ("一", "二", "一")]
    endpoint = (await make(owner, where, one, two)).json()["id"]
    refused = await owner.put(f"/api/v1/mcp/{endpoint}/tools/{twin}")
    assert (refused.status_code, refused.json()["code"]) == (409, "TOOL_NAME_CONFLICT")
    refused = await owner.patch(f"/api/v1/tools/{two}", json={"name": "一", "description": "new"})
    assert (refused.status_code, refused.json()["code"]) == (409, "TOOL_NAME_CONFLICT")
    assert (await owner.get(f"/api/v1/tools/{two}")).json()["name"] == "二"
    await owner.patch(f"/api/v1/tools/{one}", json={"name": "three"})
    assert await bound(owner, endpoint) == {"three": True, "二": True}
    assert (await owner.put(f"/api/v1/mcp/{endpoint}/tools/{twin}")).status_code == 200


async def test_a_tool_of_another_project_cannot_be_bound(owner: httpx2.AsyncClient, where: dict[str, int]) -> None:
    endpoint = (await make(owner, where)).json()["id"]
    project = (await owner.post("/api/v1/projects", json={"name": "o"})).json()["id"]
    table = await owner.post(f"/api/v1/projects/{project}/tables", json={"name": "t", "data": {}})
    foreign = await make_tool(owner, {"project_id": project, "table_id": table.json()["id"]}, "x")
    assert (await owner.put(f"/api/v1/mcp/{endpoint}/tools/{foreign}")).status_code == 404
    assert await bound(owner, endpoint) == {}


async def test_a_key_opens_its_endpoint_until_it_is_rotated(app: App) -> None:
    project_id = await flows.make_project(app)
    endpoint, key = await app.endpoints.create(project_id, "e")
    other, other_key = await app.endpoints.create(project_id, "f")
    assert (await app.endpoints.opened_by(key), await app.endpoints.opened_by(other_key)) == (
        (endpoint, []),
        (other, []),
    )
    new = await app.endpoints.rotate(endpoint.id)
    found = [await app.endpoints.opened_by(each) for each in (key, new, "fse_nobody", "")]
    assert found == [None, (endpoint, []), None, None]
    await app.endpoints.delete(endpoint.id)
    assert await app.endpoints.opened_by(new) is None
