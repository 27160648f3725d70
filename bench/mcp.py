"""What a call costs over MCP: against the same call in process, and with fifty agents at once."""

import argparse
import asyncio
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import LATEST_MODERN_VERSION
from tests.servers import Server

from findspot.app import open_app
from findspot.models import OWNER
from findspot.settings import Settings
from findspot.store import projects as project_rows
from findspot.toolspec import NewTool

_TABLE = {"items": [{"title": f"第 {n} 条 item", "n": n} for n in range(20)]}
_ARGUMENTS = {"query": "items[3].title"}


async def in_process(folder: Path, rounds: int) -> list[float]:
    """Seconds of each call of the same tool, with nothing between."""
    async with open_app(Settings(data=folder)) as app:
        async with app.store.write() as connection:
            project = await project_rows.create(connection, "bench")
        table = await app.tables.create(project.id, [httpx2.Request("POST", "http://x", json=_body()).content])
        spec = NewTool(project_id=project.id, table_id=table.id, name="ask", type="query_data")  # type: ignore[arg-type]
        tool = await app.tools.create(project.id, spec)
        return await timed(lambda: app.tools.call(tool, _ARGUMENTS, OWNER), rounds)


def _body() -> dict[str, Any]:
    return {"name": "t", "data": _TABLE}


async def timed(call: Callable[[], Awaitable[Any]], rounds: int) -> list[float]:
    taken = []
    for number in range(rounds + 20):
        started = time.perf_counter()
        await call()
        if number >= 20:  # the first ones warm up
            taken.append(time.perf_counter() - started)
    return taken


def endpoint_of(server: Server) -> tuple[str, str]:
    """Make a project with one tool at one endpoint; its address and key."""
    with server.client() as owner:
        project = owner.post("/api/v1/projects", json={"name": "bench"}).json()["id"]
        table = owner.post(f"/api/v1/projects/{project}/tables", json=_body()).json()["id"]
        made = {"project_id": project, "table_id": table, "name": "ask", "type": "query_data"}
        tool = owner.post("/api/v1/tools", json=made).json()["tool_id"]
        endpoint = owner.post("/api/v1/mcp", json={"project_id": project, "name": "e", "tool_ids": [tool]}).json()
    return endpoint["url"], endpoint["api_key"]


@contextlib.asynccontextmanager
async def agent(url: str, key: str, mode: str = LATEST_MODERN_VERSION) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


async def over_http(url: str, key: str, mode: str, rounds: int) -> list[float]:
    async with agent(url, key, mode) as client:
        return await timed(lambda: client.call_tool("ask", _ARGUMENTS), rounds)


async def plain_http(url: str, key: str, rounds: int) -> list[float]:
    """The same without the SDK's client: what of the time is the server's."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "ask", "arguments": _ARGUMENTS, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream",
        "Mcp-Protocol-Version": LATEST_MODERN_VERSION, "Mcp-Method": "tools/call", "Mcp-Name": "ask",
    }  # fmt: skip
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:

        async def call() -> None:
            answer = await http.post(url, json=body)
            assert "第 3 条 item" in answer.json()["result"]["structuredContent"]["data"], answer.text

        return await timed(call, rounds)


async def fifty(url: str, key: str, agents: int, seconds: float) -> list[float]:
    """Each agent with one call in flight; seconds of every call."""
    taken: list[float] = []
    end = time.perf_counter() + seconds

    async def work() -> None:
        async with agent(url, key) as client:
            while (started := time.perf_counter()) < end:
                assert not (await client.call_tool("ask", _ARGUMENTS)).is_error
                taken.append(time.perf_counter() - started)

    await asyncio.gather(*(work() for _ in range(agents)))
    return taken


def _line(name: str, taken: list[float], more: str = "") -> None:
    cuts = statistics.quantiles(taken, n=20)
    print(f"{name:<34} median {statistics.median(taken) * 1000:7.2f} ms   p95 {cuts[18] * 1000:7.2f} ms   {more}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(f"load before: {os.getloadavg()[0]:.1f}")
        _line("in process", asyncio.run(in_process(Path(folder) / "here", options.rounds)))
        server = Server.start(Path(folder) / "there", FINDSPOT_LOG_LEVEL="warning")
        try:
            url, key = endpoint_of(server)
            _line("HTTP, newest, plain client", asyncio.run(plain_http(url, key, options.rounds)))
            _line("HTTP, newest, SDK's client", asyncio.run(over_http(url, key, LATEST_MODERN_VERSION, options.rounds)))
            _line("HTTP, the one before, SDK's client", asyncio.run(over_http(url, key, "legacy", options.rounds)))
            taken = asyncio.run(fifty(url, key, options.agents, options.seconds))
            _line(f"{options.agents} agents at once", taken, f"{len(taken) / options.seconds:.0f} calls/s")
        finally:
            server.kill()
        print(f"load after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
