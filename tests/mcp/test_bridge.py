"""The bridge between standard input and an endpoint: what it passes on, and what it answers itself."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

from findspot.surfaces.mcp import bridge
from findspot.surfaces.mcp.bridge import Bridge
from findspot.surfaces.mcp.stdio import Message, parse
from tests.flows import PATIENCE_S
from tests.mcp.conftest import World

MODERN = {
    "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Desktop:
    """A client that writes lines and reads what comes back."""

    def __init__(self, world: World) -> None:
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()
        headers = {"Authorization": f"Bearer {world.key}"}
        self._http = httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False)
        self._bridge = Bridge(world.at, self._http, self._answers.put)

    async def __aenter__(self) -> "Desktop":
        self._serving = asyncio.create_task(self._bridge.serve(self._messages()))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._lines.put_nowait(None)
        await asyncio.wait_for(self._serving, PATIENCE_S)
        await self._http.aclose()

    async def _messages(self) -> AsyncIterator[Message | None]:
        while (line := await self._lines.get()) is not None:
            yield parse(line)

    def send(self, message: Any) -> None:
        self._lines.put_nowait(message if isinstance(message, bytes) else json.dumps(message).encode())

    async def read(self) -> bytes:
        return await asyncio.wait_for(self._answers.get(), PATIENCE_S)

    async def ask(self, method: str, params: dict[str, Any], id: Any = 1) -> Any:
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return json.loads(await self.read())


def test_the_bridge_knows_the_revisions_of_the_sdk() -> None:
    assert bridge.HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert bridge.NEWEST_VERSION == LATEST_MODERN_VERSION


def test_the_bridge_starts_without_the_sdk_and_ends_with_its_input() -> None:
    """The SDK takes most of a second to import: a desktop client waits for it at every start."""
    code = (
        "import sys\n"
        "from findspot.surfaces.cli.main import run\n"
        "try: run(['mcp'])\n"
        "finally: print([name for name in ('mcp', 'mcp_types', 'pydantic', 'numpy') if name in sys.modules], "
        "file=sys.stderr)"
    )
    where = {"FINDSPOT_MCP_URL": "http://127.0.0.1:1/mcp/1", "FINDSPOT_KEY": "fse_k"}
    sent = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'  # no line end
    ended = subprocess.run(
        [sys.executable, "-c", code], input=sent, capture_output=True, timeout=PATIENCE_S, env={**os.environ, **where}
    )
    assert json.loads(ended.stdout)["result"]["protocolVersion"] == "2025-11-25"
    assert ended.stderr.decode().splitlines()[-1] == "[]"
    assert ended.returncode == 0


@pytest.mark.parametrize(("asked", "agreed"), [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")])
async def test_an_older_client_agrees_on_a_revision_and_gets_answers_in_it(
    world: World, asked: str, agreed: str
) -> None:
    await world.bind("find")
    async with Desktop(world) as desktop:
        answer = await desktop.ask("initialize", {"protocolVersion": asked})
        assert answer["result"]["protocolVersion"] == agreed
        assert "Search first" in answer["result"]["instructions"]
        assert (await desktop.ask("ping", {}))["result"] == {}
        listed = await desktop.ask("tools/list", {})
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["find"]
        assert "resultType" not in listed["result"]  # only the newest revision has it


async def test_a_call_reaches_the_server_as_the_bytes_that_were_sent(world: World) -> None:
    await world.bind("新", type="create")
    line = (
        b'{"jsonrpc":"2.0","id":"\xe5\x8f\xb7","method":"tools/call","params":{"_meta":%b,'
        b'"name":"tool-1","arguments":{"n":1.10,"big":12345678901234567890.5}}}'
    ) % json.dumps(MODERN).encode()
    async with Desktop(world) as desktop:
        desktop.send(line)
        answer = json.loads(await desktop.read())
    assert answer["id"] == "号"
    assert world.tools.sent == [b'{"n":1.10,"big":12345678901234567890.5}']
    assert answer["result"]["structuredContent"]["data"][5] == {"书": None}


async def test_a_name_that_no_header_can_carry_is_passed_on(world: World) -> None:
    async with Desktop(world) as desktop:
        for name in ("红楼梦", " edge ", "=?base64?eA==?=", ""):
            answer = await desktop.ask("tools/call", {"_meta": MODERN, "name": name, "arguments": {}})
            assert answer["error"]["message"].startswith("Unknown tool"), name


async def test_a_line_that_is_no_message_is_refused_and_the_next_one_answered(world: World) -> None:
    async with Desktop(world) as desktop:
        for line in (b"{", b"[]", b'"x"', b"\xff", b"[" * 100_000):
            desktop.send(line)
            assert json.loads(await desktop.read())["error"]["code"] == bridge.PARSE_ERROR
        assert "tools" in (await desktop.ask("tools/list", {"_meta": MODERN}))["result"]


async def test_a_key_that_stops_working_is_named_in_the_answer(world: World) -> None:
    async with Desktop(world) as desktop:
        assert "result" in await desktop.ask("tools/list", {"_meta": MODERN})
        await world.app.endpoints.rotate(world.endpoint_id)
        error = (await desktop.ask("tools/list", {"_meta": MODERN}))["error"]
        assert "valid key" in error["message"]
        assert error["data"]["code"] == "UNAUTHORIZED"


async def test_a_cancelled_call_is_not_answered_and_others_are(world: World) -> None:
    await world.bind("find")
    call = {"_meta": MODERN, "name": "find", "arguments": {"query": "wait"}}
    async with Desktop(world) as desktop:
        desktop.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        await asyncio.wait_for(world.tools.called.wait(), PATIENCE_S)
        desktop.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        assert (await desktop.ask("tools/list", {"_meta": MODERN}, id=2))["id"] == 2
        world.tools.go.set()
        assert (await desktop.ask("tools/list", {"_meta": MODERN}, id=3))["id"] == 3


async def test_a_subscription_gets_what_it_asked_for_until_it_is_cancelled(world: World) -> None:
    async with Desktop(world) as desktop:
        asked = {"_meta": MODERN, "notifications": {"toolsListChanged": True, "promptsListChanged": True}}
        acknowledged = await desktop.ask("subscriptions/listen", asked, id="s")
        assert acknowledged["params"]["notifications"] == {"toolsListChanged": True}
        await world.bind("find")
        changed = json.loads(await desktop.read())
        assert changed["method"] == "notifications/tools/list_changed"
        assert changed["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "s"}
        desktop.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "s"}})
        assert (await desktop.ask("tools/list", {"_meta": MODERN}, id=2))["id"] == 2


async def test_changes_are_assumed_when_a_broken_stream_is_open_again_and_not_while_it_is_down() -> None:
    """The first stream ends, the second attempt fails, the third stream opens."""
    acknowledged = b'data: {"method":"notifications/subscriptions/acknowledged"}\n\n'
    streams = [acknowledged, None, acknowledged]
    written: asyncio.Queue[bytes] = asyncio.Queue()
    attempts = []

    async def stream(request: httpx2.Request) -> httpx2.Response:
        attempts.append(written.qsize())
        body = streams[min(len(attempts), len(streams)) - 1]
        if body is None:
            return httpx2.Response(503, json={})
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    async def messages() -> AsyncIterator[Message | None]:
        yield parse(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}')
        await done.wait()

    done = asyncio.Event()
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(stream)) as http:
        serving = asyncio.create_task(Bridge("http://x/mcp/1", http, written.put, reconnect_s=0.01).serve(messages()))
        sent = [json.loads(await asyncio.wait_for(written.get(), PATIENCE_S)) for _ in range(3)]
        done.set()
        await asyncio.wait_for(serving, PATIENCE_S)
    assert sent[0]["id"] == 1
    assert [each["method"] for each in sent[1:]] == [
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
    ]
    assert len(attempts) >= 3  # nothing was sent before the third stream was open
    assert attempts[1] <= 1
    assert attempts[2] <= 1
