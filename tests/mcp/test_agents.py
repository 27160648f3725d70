"""What an agent sees, by the SDK's own clients: over HTTP and over standard input, in both revisions."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, ResourceLink, TextContent, TextResourceContents
from mcp_types.version import LATEST_MODERN_VERSION

from tests.databases import SqliteTemplate
from tests.mcp.conftest import DATA, Connect, World, http_to, open_world, stdio_to
from tests.mcp.stand_in import ODD, SECRET

WAYS = {
    "HTTP, newest": (http_to, LATEST_MODERN_VERSION),
    "HTTP, the one before": (http_to, "legacy"),
    "stdio, newest": (stdio_to, LATEST_MODERN_VERSION),
    "stdio, the one before": (stdio_to, "legacy"),
}
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def standing(tmp_path_factory: pytest.TempPathFactory, sqlite_template: SqliteTemplate) -> AsyncIterator[World]:
    """One server for all tests here, since starting one takes longer than asking it."""
    async with open_world(tmp_path_factory.mktemp("agents") / "data", sqlite_template) as world:
        yield world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(standing: World) -> AsyncIterator[Callable[[str], "asyncio.Future[Client]"]]:
    """A client for each way, which stays connected. The task that opens one has to be the one that closes it."""
    opened: dict[str, asyncio.Future[Client]] = {}
    end, tasks = asyncio.Event(), []

    async def keep(way: str) -> None:
        open_to, mode = WAYS[way]
        async with open_to(standing)(mode) as client:
            opened[way].set_result(client)
            await end.wait()

    def client(way: str) -> asyncio.Future[Client]:
        if way not in opened:
            opened[way] = asyncio.get_running_loop().create_future()
            tasks.append(asyncio.create_task(keep(way)))
        return opened[way]

    yield client
    end.set()
    await asyncio.gather(*tasks)


@pytest_asyncio.fixture(loop_scope="module")
async def world(standing: World) -> World:
    """The server as new: no tool at its endpoint, and the table as it was."""
    for binding in await standing.app.endpoints.bindings(standing.endpoint_id):
        await standing.app.endpoints.unbind(standing.endpoint_id, binding.tool.id)
    await standing.app.tables.put(standing.table_id, "", DATA, None)
    standing.made.clear()
    standing.tools.calls.clear()
    standing.tools.go.clear()
    return standing


@pytest.fixture(params=WAYS)
def connect(request: pytest.FixtureRequest, clients: Callable[[str], "asyncio.Future[Client]"]) -> Connect:
    """Each way to the endpoint in turn."""

    @contextlib.asynccontextmanager
    async def connected() -> AsyncIterator[Client]:
        yield await clients(request.param)

    return connected


def text_of(result: CallToolResult) -> str:
    (first, *_) = result.content
    assert isinstance(first, TextContent)
    return first.text


async def test_the_list_holds_the_enabled_tools_in_the_order_they_were_made(world: World, connect: Connect) -> None:
    for name in ("zebra", "ant", "查询"):
        await world.bind(name)
    await world.bind("cow", "create")
    ant = world.made[1]
    await world.app.endpoints.enable(world.endpoint_id, ant.id, False)
    async with connect() as client:
        listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == ["zebra", f"tool-{world.made[2].id}", "cow"]
    assert listed[1].title == "查询"
    assert listed[0].input_schema == world.tools.describe(world.made[0]).input_schema
    assert listed[0].output_schema == {"type": "object"}
    assert [tool.annotations.read_only_hint for tool in listed if tool.annotations] == [True, True, False]
    assert [tool.annotations.open_world_hint for tool in listed if tool.annotations] == [False] * 3


async def test_an_answer_is_structure_and_the_same_as_text_and_null_is_a_value(world: World, connect: Connect) -> None:
    await world.bind("all")
    async with connect() as client:
        result = await client.call_tool("all", {"query": "e\u0301 👩‍👧 查"})
    assert not result.is_error
    assert result.structured_content == ODD
    assert json.loads(text_of(result)) == ODD
    ((name, arguments, caller),) = world.tools.calls
    assert (name, arguments) == ("all", {"query": "e\u0301 👩‍👧 查"})
    assert caller.project_id == world.project_id


async def test_a_call_may_come_without_arguments(world: World, connect: Connect) -> None:
    await world.bind("all")
    async with connect() as client:
        assert not (await client.call_tool("all")).is_error


@pytest.mark.parametrize(
    ("query", "code", "said"),
    [
        ("busy", "SEARCH_BACKPRESSURE", "64 searches are running. Wait 200 ms, then try again."),
        ("late", "SEARCH_TIMEOUT", "The search took too long. Ask again, or narrow the search."),
        (7, "INVALID_ARGUMENT", "query: must be text. Correct the field that the message names"),
    ],
)
async def test_an_error_that_an_agent_can_act_on_is_a_tool_error_with_a_sentence(
    world: World, connect: Connect, query: Any, code: str, said: str
) -> None:
    await world.bind("find")
    async with connect() as client:
        result = await client.call_tool("find", {"query": query})
    assert result.is_error
    assert text_of(result).startswith(said)
    assert result.structured_content is None
    assert result.meta is not None
    assert result.meta["findspot/error"]["code"] == code


async def test_an_unknown_disabled_or_unbound_tool_is_an_error_of_the_protocol(world: World, connect: Connect) -> None:
    tool, other = await world.bind("find"), await world.bind("other")
    async with connect() as client:
        assert not (await client.call_tool("find")).is_error
        await world.app.endpoints.enable(world.endpoint_id, tool.id, False)
        await world.app.endpoints.unbind(world.endpoint_id, other.id)
        for name in ("find", "other", "nothing", "查" * 5000):
            with pytest.raises(MCPError) as refused:
                await client.call_tool(name)
            assert refused.value.code == INVALID_PARAMS
            assert "Unknown tool" in refused.value.message
            assert len(refused.value.message) < 300
    assert len(world.tools.calls) == 1


async def test_an_internal_error_reveals_nothing(
    world: World, connect: Connect, capfd: pytest.CaptureFixture[str]
) -> None:
    await world.bind("find")
    async with connect() as client:
        with pytest.raises(MCPError) as failed:
            await client.call_tool("find", {"query": "broken"})
    assert failed.value.code == INTERNAL_ERROR
    assert SECRET not in str(failed.value.error)
    assert "Traceback" not in str(failed.value.error)
    assert "Something went wrong (request " in failed.value.message


async def test_a_long_call_reports_its_progress(world: World, connect: Connect) -> None:
    await world.bind("slow")
    reports: list[tuple[float, str | None]] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, message))
        if len(reports) == 2:
            world.tools.go.set()  # only then does the call end

    async with connect() as client:
        result = await client.call_tool("slow", {"query": "wait"}, progress_callback=report)
    assert not result.is_error
    times = [progress for progress, _ in reports]
    assert times == sorted(set(times))
    assert all(message and message.startswith("slow: running for ") for _, message in reports)


@pytest.mark.scenario("001.migration.bridge-carries-search")
async def test_the_text_of_a_search_is_a_short_list_to_read(world: World, connect: Connect) -> None:
    await world.bind("find", "search")
    async with connect() as client:
        result = await client.call_tool("find", {"query": "x"})
    assert text_of(result) == (
        "2 of 2 results.\n\n1. /a/书~1 1 4-5 (0.51) 红楼梦 · 7\nx\n\n2. /b 0-1 (0.51) 红楼梦 · 7\nx"
    )


async def test_a_hit_links_to_its_place_in_the_node_behind_it(world: World, connect: Connect) -> None:
    await world.bind("find", "search")
    async with connect() as client:
        result = await client.call_tool("find", {"query": "x"})
        links = [block for block in result.content if isinstance(block, ResourceLink)]
        assert [link.name for link in links] == ["hit 1", "hit 2"]
        (text,) = (await client.read_resource(links[0].uri)).contents
        (value,) = (await client.read_resource(links[1].uri)).contents
    assert isinstance(text, TextResourceContents)
    assert isinstance(value, TextResourceContents)
    assert (text.text, text.mime_type) == ("📕", "text/plain")
    assert (value.text, value.mime_type) == ("[1.10, null]", "application/json")


async def test_resources_show_what_the_reading_tools_show_and_nothing_else(world: World, connect: Connect) -> None:
    await world.bind("find", "search", "/a")
    await world.bind("schema", "get_data_schema", "/c")
    await world.bind("create", "create", "/c")
    table = f"findspot://tables/{world.table_id}"
    async with connect() as client:
        assert [each.uri for each in (await client.list_resources()).resources] == [f"{table}/a"]
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template.startswith("findspot://tables/{table_id}")
        assert (await client.read_resource(f"{table}/a")).contents
        for uri in (
            table, f"{table}/", f"{table}/c", f"{table}/ab", f"{table}/a/missing", "findspot://tables/999999/a",
            f"{table}/a/%ff", f"{table}/a?start=x", "file:///etc/passwd", "findspot://tables/٣", f"{table}/a/../c",
        ):  # fmt: skip
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.code == INVALID_PARAMS, uri
            assert refused.value.data == {"uri": uri}


async def test_a_node_too_long_for_one_answer_is_read_in_pieces(world: World, connect: Connect) -> None:
    whole = "".join(f"{n} 汉字 e\u0301 👩‍👧 " for n in range(8_000))
    await world.app.tables.put(world.table_id, "/b", [json.dumps(whole).encode()], None)
    await world.bind("find", "search")
    uri: str | None = f"findspot://tables/{world.table_id}/b"
    pieces = []
    async with connect() as client:
        while uri is not None:
            (content,) = (await client.read_resource(uri)).contents
            assert isinstance(content, TextResourceContents)
            assert content.meta is not None
            pieces.append(content.text)
            uri = content.meta.get("findspot/next")
    assert len(pieces) > 2
    assert "".join(pieces) == whole
