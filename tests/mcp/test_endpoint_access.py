"""Access to an endpoint: its keys, the allowed origins and sizes of requests, and the end of connections."""

import asyncio
import contextlib
import json
import re
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ToolsListChanged
from mcp_types.version import LATEST_MODERN_VERSION

from findspot.models import Role
from findspot.store import keys as key_rows
from findspot.store import projects as project_rows
from tests.flows import PATIENCE_S
from tests.mcp.conftest import Connect, World

META = {
    "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def post(
    world: World, key: str | None, endpoint: Any = None, body: Any = None, **headers: str
) -> httpx2.Response:
    """A list of tools in the newest revision, as plain HTTP."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    sent = {
        "Accept": "application/json, text/event-stream",
        "Mcp-Protocol-Version": LATEST_MODERN_VERSION,
        "Mcp-Method": "tools/list",
        **({"Authorization": f"Bearer {key}"} if key else {}),
        **headers,
    }
    at = f"{world.url}/mcp/{world.endpoint_id if endpoint is None else endpoint}"
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
        return await client.post(at, json=asked if body is None else body, headers=sent)


def without_id(answer: httpx2.Response) -> tuple[int, str, str | None]:
    return answer.status_code, answer.text, answer.headers.get("www-authenticate")


async def test_a_wrong_key_and_a_wrong_endpoint_get_the_same_answer(world: World) -> None:
    other, key = await world.app.endpoints.create(world.project_id, "other")
    gone = 999_999
    answers = {
        without_id(await post(world, used, endpoint))
        for used, endpoint in [
            (None, None), (None, gone), ("fse_wrong", None), ("fse_wrong", gone), (key, None), (key, gone),
            (world.key, other.id), (world.key, gone), (world.key, "x"), (world.key, f"0{world.endpoint_id}"),
        ]
    }  # fmt: skip
    ((status, body, challenge),) = answers
    assert (status, challenge) == (401, "Bearer")
    assert json.loads(body)["code"] == "UNAUTHORIZED"
    assert (await post(world, world.key)).status_code == 200
    assert (await post(world, key, other.id)).status_code == 200


async def test_a_key_that_was_changed_opens_nothing_any_more(world: World) -> None:
    new = await world.app.endpoints.rotate(world.endpoint_id)
    assert (await post(world, world.key)).status_code == 401
    assert (await post(world, new)).status_code == 200
    await world.app.endpoints.delete(world.endpoint_id)
    assert (await post(world, new)).status_code == 401


async def test_the_keys_of_the_project_open_its_endpoints_and_those_of_another_do_not(world: World) -> None:
    _, mine = await world.app.keys.issue(world.project_id, "k", Role.READ)
    async with world.app.store.write() as connection:
        other = await project_rows.create(connection, "other")
    _, theirs = await world.app.keys.issue(other.id, "k", Role.ADMIN)
    assert (await post(world, mine)).status_code == 200
    assert (await post(world, world.app.token)).status_code == 200
    assert (await post(world, theirs)).status_code == 404
    assert (await post(world, theirs)).text == (await post(world, theirs, 999_999)).text


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8321", "localhost.evil.example", "127.0.0.1.nip.io", ""]
)
async def test_a_name_that_is_not_this_servers_is_refused(world: World, host: str) -> None:
    answer = await post(world, world.key, Host=host)
    assert (answer.status_code, answer.json()["code"]) == (421, "MISDIRECTED")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8321", "[::1]:8321", "192.168.1.7"])
async def test_this_machines_names_and_numbers_are_its_own(world: World, host: str) -> None:
    assert (await post(world, world.key, Host=host)).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1"])
async def test_the_page_of_another_site_is_refused(world: World, origin: str) -> None:
    answer = await post(world, world.key, Origin=origin)
    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")


async def test_a_page_of_this_server_may_call(world: World) -> None:
    assert (await post(world, world.key, Origin=world.url)).status_code == 200


async def test_a_call_with_ten_megabytes_passes_and_one_over_the_limit_does_not(
    world: World, over_http: Connect
) -> None:
    await world.bind("create", "create")
    content = "汉字" * (10_000_000 // 6)
    for mode in (LATEST_MODERN_VERSION, "legacy"):
        async with over_http(mode) as client:
            result = await client.call_tool("create", {"elements": [{"key": "k", "content": content}]})
        assert not result.is_error
    assert [call[1]["elements"][0]["content"] == content for call in world.tools.calls] == [True, True]
    answer = await post(world, world.key, body={"x": "y" * (world.app.settings.max_body + 1)})
    assert (answer.status_code, answer.json()["code"]) == (413, "CONTENT_TOO_LARGE")


@pytest.mark.parametrize("arguments", ["null", "{}", None])
async def test_null_empty_and_missing_arguments_are_the_same(world: World, arguments: str | None) -> None:
    await world.bind("all")
    params: dict[str, Any] = {"name": "all", "_meta": META}
    if arguments is not None:
        params["arguments"] = json.loads(arguments)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await post(world, world.key, body=body, **{"Mcp-Method": "tools/call", "Mcp-Name": "all"})
    assert answer.json()["result"]["isError"] is False
    assert [call[1] for call in world.tools.calls] == [{}]


@pytest.mark.parametrize("body", [[], {}, {"id": 1}, "x", {"jsonrpc": "2.0", "id": 1, "method": "tools/eat"}])
async def test_malformed_requests_are_refused_without_a_traceback(world: World, body: Any) -> None:
    answer = await post(world, world.key, body=body)
    assert 400 <= answer.status_code < 500
    assert "Traceback" not in answer.text
    assert re.search(r'"code":-32\d{3}', answer.text)


async def test_other_methods_than_post_are_not_there(world: World) -> None:
    async with httpx2.AsyncClient(trust_env=False, headers={"Authorization": f"Bearer {world.key}"}) as client:
        for method in ("GET", "DELETE", "PUT"):
            assert (await client.request(method, world.at)).status_code == 405


@pytest.mark.parametrize("way", ["over_http", "over_stdio"])
async def test_a_change_of_the_tools_reaches_listeners_of_this_endpoint(
    world: World, way: str, request: pytest.FixtureRequest
) -> None:
    connect: Connect = request.getfixturevalue(way)
    tool = await world.bind("find")
    async with connect() as client, client.listen(tools_list_changed=True) as changes:
        assert changes.honored.tools_list_changed
        for change in (
            lambda: world.bind("another"),
            lambda: world.app.endpoints.enable(world.endpoint_id, tool.id, False),
            lambda: world.app.endpoints.enable(world.endpoint_id, tool.id, True),
            lambda: world.app.endpoints.unbind(world.endpoint_id, tool.id),
        ):
            await change()
            assert await asyncio.wait_for(anext(changes), 120) == ToolsListChanged()
    assert [each.name for each in await world.app.endpoints.tools_of(world.endpoint_id)] == ["another"]


async def test_an_older_desktop_client_is_notified_of_changes_through_the_bridge(
    world: World, over_stdio: Connect
) -> None:
    heard = asyncio.Event()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            heard.set()

    async with over_stdio("legacy", message_handler=hear) as client:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        await client.list_tools()
        await world.bind("find")
        await asyncio.wait_for(heard.wait(), 120)


@pytest.mark.parametrize("way", ["over_http", "over_stdio"])
async def test_the_server_declares_that_it_does_not_watch_single_resources(
    world: World, way: str, request: pytest.FixtureRequest
) -> None:
    connect: Connect = request.getfixturevalue(way)
    async with connect("auto") as client:  # asks what the server can do, and takes the newest
        promised = client.server_capabilities.resources
        assert promised is not None
        assert promised.list_changed
        assert not promised.subscribe
        async with client.listen(resource_subscriptions=["findspot://tables/1"]) as changes:
            assert not changes.honored.resource_subscriptions


async def test_listeners_of_another_endpoint_hear_nothing(world: World, over_http: Connect) -> None:
    other, _ = await world.app.endpoints.create(world.project_id, "other")
    tool = await world.bind("find")
    async with over_http() as client, client.listen(tools_list_changed=True) as changes:
        await world.app.endpoints.bind(other.id, tool.id)
        await world.app.endpoints.enable(other.id, tool.id, False)
        await world.app.endpoints.delete(other.id)
        await world.bind("mine")  # the first thing that is heard
        assert await asyncio.wait_for(anext(changes), 120) == ToolsListChanged()
        waiting = asyncio.ensure_future(anext(changes))
        done, _ = await asyncio.wait([waiting], timeout=1.5)
        assert not done
        waiting.cancel()


async def test_listening_ends_with_the_endpoint(world: World, over_http: Connect) -> None:
    async with over_http() as client, client.listen(tools_list_changed=True) as changes:
        await world.app.endpoints.delete(world.endpoint_id)
        heard = [event async for event in changes]
    assert heard == [ToolsListChanged()]


@pytest.mark.parametrize("revoked", ["rotate", "endpoint", "key", "project", "sign-out"])
async def test_revoking_a_key_ends_its_streams_and_no_others(world: World, revoked: str) -> None:
    app, endpoint = world.app, world.endpoint_id
    key, secret = await app.keys.issue(world.project_id, "k", Role.READ)
    session = await app.sessions.start()
    port = world.url.rpartition(":")[2]
    callers = {
        "endpoint key": {"Authorization": f"Bearer {world.key}"},
        "project key": {"X-API-Key": secret},
        "owner": {"Authorization": f"Bearer {app.token}"},
        "browser": {"Cookie": f"findspot-{port}={session}"},
    }

    async def revoke() -> set[str]:
        match revoked:
            case "rotate":
                await app.endpoints.rotate(endpoint)
                return {"endpoint key"}
            case "key":
                async with app.store.write() as connection:
                    await key_rows.delete(connection, world.project_id, key.id)
                return {"project key"}
            case "sign-out":
                await app.sessions.end(session)
                return {"browser"}
            case "endpoint":
                await app.endpoints.delete(endpoint)
            case "project":
                async with app.store.write() as connection:
                    await project_rows.delete(connection, world.project_id)
        return set(callers)

    async with contextlib.AsyncExitStack() as closing:
        streams = {}
        for name, headers in callers.items():
            http = await closing.enter_async_context(
                httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False)
            )
            transport = streamable_http_client(world.at, http_client=http)
            client = await closing.enter_async_context(Client(transport, mode=LATEST_MODERN_VERSION))
            streams[name] = await closing.enter_async_context(client.listen(tools_list_changed=True))
        ended = await revoke()
        async with asyncio.timeout(PATIENCE_S):
            for name in ended:
                assert {type(event) async for event in streams[name]} <= {ToolsListChanged}
            if ended == set(callers):
                return
            await world.bind("still there")  # the other streams go on
            for name in callers.keys() - ended:
                assert await anext(streams[name]) == ToolsListChanged()


async def test_a_call_that_is_given_up_is_stopped(world: World, over_http: Connect) -> None:
    await world.bind("slow")
    begun, stopped = asyncio.Event(), asyncio.Event()

    class Waiting(asyncio.Event):
        async def wait(self) -> Any:
            begun.set()
            try:
                return await super().wait()
            except asyncio.CancelledError:
                stopped.set()
                raise

    world.tools.go = Waiting()
    async with over_http() as client:
        call = asyncio.ensure_future(client.call_tool("slow", {"query": "wait"}))
        await asyncio.wait_for(begun.wait(), 120)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await asyncio.wait_for(stopped.wait(), 120)
