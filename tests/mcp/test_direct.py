"""Calls that are answered without the SDK: the same bytes, and anything unusual is left to the SDK."""

import asyncio
import json
from collections.abc import Awaitable
from typing import Any

import httpx2
import pytest
from mcp_types.version import LATEST_MODERN_VERSION
from starlette.types import Message, Receive, Scope, Send

from findspot.surfaces.mcp.direct import Call, DirectCalls, plain_call
from tests.flows import PATIENCE_S
from tests.mcp.conftest import World
from tests.mcp.stand_in import SECRET

META = {
    "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "测试", "version": "1"},
}
HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Mcp-Protocol-Version": LATEST_MODERN_VERSION,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "find",
}
LEFT_TO_THE_SDK: dict[str, Any] = {"params": {"unknown": True}}  # which ignores it


def request(arguments: Any, *, id: Any = 7, name: str = "find", **changes: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments, "_meta": META, **changes.pop("params", {})}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params, **changes}


async def post(world: World, body: dict[str, Any] | bytes, **headers: str) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {**HEADERS, "Authorization": f"Bearer {world.key}", "X-Request-Id": "one", **headers}
    async with httpx2.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
        return await client.post(world.at, content=content, headers=sent)


def shown(answer: httpx2.Response) -> tuple[int, bytes, dict[str, str]]:
    return answer.status_code, answer.content, {k: v for k, v in answer.headers.items() if k != "date"}


@pytest.mark.parametrize("query", ["红楼梦", "busy", "late", "broken", 5], ids=str)
@pytest.mark.parametrize("type", ["search", "query_data"])
async def test_an_answer_has_the_bytes_that_the_sdk_writes(world: World, type: str, query: Any) -> None:
    await world.bind("find", type)
    id: int | str = "七" if type == "search" else 7
    direct = await post(world, request({"query": query}, id=id))
    by_sdk = await post(world, request({"query": query}, id=id, **LEFT_TO_THE_SDK))
    assert shown(direct) == shown(by_sdk)
    assert direct.json()["id"] == id
    assert SECRET not in direct.text
    assert len(world.tools.calls) == 2


async def test_a_plain_call_is_answered_here_and_others_are_not() -> None:
    def found(body: Any, name: str = "find") -> Call | None:
        return plain_call(name, body if isinstance(body, bytes) else json.dumps(body).encode())

    assert found(request({"query": "x"})) is not None
    assert found(request(None)) is not None
    others: list[Any] = [
        b"", b"[]", b"{", b'"x"', b"[" * 50_000, [request({})],
        request({}, name="other"), request([]), request("x"), request({}, id=None), request({}, id=True),
        request({}, id=1.5), request({}, jsonrpc="1.0"), request({}, method="tools/list"), request({}, unknown=1),
        request({}, **LEFT_TO_THE_SDK), {**request({}), "params": []}, request({}, params={"_meta": None}),
        request({}, params={"_meta": {**META, "progressToken": 1}}), request({}, params={"_meta": {}}),
        request({}, params={"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2025-11-25"}}),
        request({}, params={"_meta": {**META, "io.modelcontextprotocol/clientCapabilities": 1}}),
        request({}, params={"_meta": {**META, "large": "x" * 5_000}}), request({"query": "字" * 70_000}),
    ]  # fmt: skip
    assert [body for body in others if found(body) is not None] == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Mcp-Name": "other"}, 400), ({"Mcp-Method": "tools/list"}, 400), ({"Accept": "application/json"}, 406),
        ({"Mcp-Protocol-Version": "2099-01-01"}, 400), ({"Mcp-Name": "=?base64?ZmluZA==?="}, 200),
        ({"Accept": "text/*, application/*;q=0.5"}, 200),
    ],
)  # fmt: skip
async def test_unusual_headers_are_judged_by_the_sdk(world: World, headers: dict[str, str], status: int) -> None:
    await world.bind("find")
    assert (await post(world, request({"query": "x"}), **headers)).status_code == status


async def test_an_unknown_tool_is_refused_by_the_sdk(world: World) -> None:
    answer = await post(world, request({}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32602)
    assert world.tools.calls == []


async def test_a_call_that_takes_long_becomes_a_stream_with_pings() -> None:
    go, pinged, sent = asyncio.Event(), asyncio.Event(), list[Message]()

    async def answer() -> dict[str, Any]:
        await go.wait()
        return {"result": {"找到": 1}}

    def start(scope: Scope, call: Call) -> Awaitable[dict[str, Any]]:
        return answer()

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("left to the SDK")

    async def receive() -> Message:
        return {"type": "http.request", "body": json.dumps(request({})).encode()}

    async def send(message: Message) -> None:
        sent.append(message)
        if len(sent) == 3:
            pinged.set()

    scope = {"type": "http", "headers": [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]}
    serving = asyncio.create_task(DirectCalls(inner, start, ping_s=0.001)(scope, receive, send))
    async with asyncio.timeout(PATIENCE_S):
        await pinged.wait()
        go.set()
        await serving
    assert (b"content-type", b"text/event-stream") in sent[0]["headers"]
    assert {message["body"] for message in sent[1:-1]} == {b": ping\r\n\r\n"}
    event = sent[-1]["body"].decode()
    assert json.loads(event.removeprefix("event: message\r\ndata: ")) == {
        "jsonrpc": "2.0", "id": 7, "result": {"找到": 1},
    }  # fmt: skip
    assert not sent[-1]["more_body"]
