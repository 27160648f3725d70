"""Agents change a table many times while others search it. Hits are never older than one change."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from findspot.app import App, open_app
from findspot.models import OWNER, Table, Tool
from findspot.settings import Settings
from tests import flows
from tests.agents.tools import make_table, make_tool
from tests.flows import FakeEmbedder

CHANGES = 60
READERS = 2
KEYS = 10
MARK = "e\u0301"
QUERY = "heron 苍鹭"


@pytest.fixture
async def app(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    flows.use(monkeypatch, FakeEmbedder())
    async with open_app(settings) as opened:
        yield opened


@dataclass
class History:
    """The table at each revision, and what searches returned between which revisions."""

    at: dict[int, dict[str, str]]
    seen: list[tuple[int, int, str, str]] = field(default_factory=list)  # revisions before and after, key, text


async def revision(app: App, table: Table) -> int:
    return (await flows.read_table(app, table.id))[0].revision


async def write(app: App, table: Table, history: History, tools: dict[str, Tool], seed: int) -> None:
    """Create, update and delete keys of the table through tools."""
    chosen, value = random.Random(seed), dict(history.at[1])
    for number in range(CHANGES):
        key, text = f"n{chosen.randrange(KEYS)}", f"heron 苍鹭 🪶 {MARK * (number % 3)} v{number}"
        if key not in value:
            await app.tool_calls.call(tools["create"], {"elements": [{"key": key, "content": text}]}, OWNER)
            value[key] = text
        elif chosen.random() < 0.2 and len(value) > 2:
            await app.tool_calls.call(tools["delete"], {"keys": [key]}, OWNER)
            del value[key]
        else:
            await app.tool_calls.call(tools["update"], {"updates": [{"key": key, "content": text}]}, OWNER)
            value[key] = text
        history.at[number + 2] = dict(value)
    assert await revision(app, table) == CHANGES + 1


async def read(app: App, table: Table, history: History, search: Tool, ended: asyncio.Event) -> None:
    while not ended.is_set():
        before = await revision(app, table)
        answer = await app.tool_calls.call(search, {"query": QUERY, "top_k": 20}, OWNER)
        after = await revision(app, table)
        for result in answer["results"]:
            history.seen.append((before, after, result["json_path"][1:], result["chunk"]["chunk_text"]))


async def found(app: App, search: Tool) -> dict[str, str]:
    answer = await app.tool_calls.call(search, {"query": QUERY, "top_k": 20}, OWNER)
    return {result["json_path"][1:]: result["chunk"]["chunk_text"] for result in answer["results"]}


@pytest.mark.scenario("003.decision.always-fresh", "003.rechunk.old-chunks-gone")
@pytest.mark.one_database
async def test_hits_are_never_older_than_one_change(app: App) -> None:
    first = {f"n{number}": f"heron 苍鹭 first {number}" for number in range(KEYS)}
    table = await make_table(app, first)
    search = await make_tool(app, table, "search", search_config={"chunk_threshold": 1})
    tools = {type: await make_tool(app, table, type) for type in ("create", "update", "delete")}
    history, ended = History({1: first}), asyncio.Event()
    readers = [asyncio.create_task(read(app, table, history, search, ended)) for _ in range(READERS)]
    async with asyncio.timeout(300):
        await write(app, table, history, tools, seed=CHANGES)
        last = history.at[CHANGES + 1]

        async def is_final() -> bool:
            return await found(app, search) == last

        await flows.until(app, is_final)
        ended.set()
        await asyncio.gather(*readers)
    assert len(history.seen) > CHANGES
    for before, after, key, text in history.seen:
        near = range(max(1, before - 1), after + 1)
        assert any(history.at[each].get(key) == text for each in near), (before, after, key, text)
    await flows.settle(app)
    assert await found(app, search) == last == json.loads((await flows.read_table(app, table.id))[1])
