"""Agents that call one tool, in their own process: `python -m bench.agents KIND` with the order on standard input.

KIND is `plain`, which sends the requests of the newest protocol revision over HTTP, or `sdk`, the official client.
"""

import asyncio
import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx2
from mcp_types.version import LATEST_MODERN_VERSION

META = {
    "io.modelcontextprotocol/protocolVersion": LATEST_MODERN_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}

Call = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Order:
    """What to call. Every agent has one call in flight until the time is over."""

    url: str
    key: str
    tool: str
    queries: list[str]
    agents: int
    seconds: float


@dataclass(slots=True)
class Outcome:
    """Seconds of every answered call, and the number of errors by code."""

    taken: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


@contextlib.asynccontextmanager
async def plain(url: str, key: str, tool: str) -> AsyncIterator[Call]:
    """Call over plain HTTP on one connection. A call returns the result object of the protocol."""
    headers = {
        "Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json", "Mcp-Protocol-Version": LATEST_MODERN_VERSION,
        "Mcp-Method": "tools/call", "Mcp-Name": tool,
    }  # fmt: skip
    async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:

        async def call(arguments: dict[str, Any]) -> dict[str, Any]:
            params = {"name": tool, "arguments": arguments, "_meta": META}
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
            answer: dict[str, Any] = (await http.post(url, content=body)).json()
            result: dict[str, Any] = answer["result"]
            return result

        yield call


@contextlib.asynccontextmanager
async def sdk(url: str, key: str, tool: str, mode: str = LATEST_MODERN_VERSION) -> AsyncIterator[Call]:
    """Call with the official client."""
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):

        async def call(arguments: dict[str, Any]) -> dict[str, Any]:
            found = await client.call_tool(tool, arguments)
            return {"isError": found.is_error, "structuredContent": found.structured_content, "_meta": found.meta}

        yield call


KINDS = {"plain": plain, "sdk": sdk}


async def work(order: Order, kind: str) -> Outcome:
    """Run all agents at once. They start together, each with another query."""
    outcome = Outcome()
    async with contextlib.AsyncExitStack() as open_agents:
        opening = KINDS[kind]
        calls = [
            await open_agents.enter_async_context(opening(order.url, order.key, order.tool))
            for _ in range(order.agents)
        ]
        await asyncio.gather(*(call({"query": order.queries[0]}) for call in calls))  # connect and warm up
        end = time.perf_counter() + order.seconds
        await asyncio.gather(*(_agent(call, order.queries, 7 * n, end, outcome) for n, call in enumerate(calls)))
    return outcome


async def _agent(call: Call, queries: list[str], place: int, end: float, outcome: Outcome) -> None:
    while (started := time.perf_counter()) < end:
        result = await call({"query": queries[place % len(queries)]})
        outcome.taken.append(time.perf_counter() - started)
        place += 1
        if result.get("isError"):
            outcome.errors[result["_meta"]["findspot/error"]["code"]] += 1


def main() -> None:
    order = Order(**json.load(sys.stdin))
    json.dump(asdict(asyncio.run(work(order, sys.argv[1]))), sys.stdout)


if __name__ == "__main__":
    main()
