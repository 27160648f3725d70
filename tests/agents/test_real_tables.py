"""Searches of real tables, in English and Chinese: every hit stands exactly where it says, inside its tool's scope."""

from pathlib import Path

import pytest

from findspot.app import App
from tests import flows, real_tables

FIXTURES = Path(__file__).parent / "fixtures" / "tables"
QUERIES = 200


@pytest.mark.scenario("001.decision.scope", "003.chunks-table.char-range")
@pytest.mark.parametrize("name", ["python_peps", "zh_laws"])
@pytest.mark.one_database
async def test_every_hit_of_two_hundred_queries_stands_where_it_says_and_within_its_scope(app: App, name: str) -> None:
    value = real_tables.load(FIXTURES / f"{name}.json")
    table = await real_tables.make_table(app, await flows.make_project(app), value)
    tools = [await real_tables.make_tool(app, table, each) for each in real_tables.scopes(value, 10_000)]
    tools.append(await real_tables.make_tool(app, table, "", chunk_threshold=1, chunk_size=300, chunk_overlap=40))
    assert len(tools) >= 6
    hits = {tool.id: 0 for tool in tools}
    for at, query in enumerate(real_tables.queries(value, QUERIES)):
        tool = tools[at % len(tools)]
        hits[tool.id] += await real_tables.check(app, tool, value, query)
    assert [tool.json_pointer for tool in tools if not hits[tool.id]] == ["/nowhere"]


async def test_tools_on_several_scopes_of_a_real_table_share_its_chunks(app: App) -> None:
    value = real_tables.load(FIXTURES / "zh_laws.json")
    table = await real_tables.make_table(app, await flows.make_project(app), value)
    await real_tables.make_tool(app, table, "")
    rows = await flows.rows(app)
    for scope in real_tables.scopes(value, 10_000):
        await real_tables.make_tool(app, table, scope)
    assert await flows.rows(app) == rows
    by_node = {row.json_pointer: row.total_chunks for row in rows}
    assert len(rows) == sum(by_node.values())
    assert set(by_node) == {place for place, text in real_tables.strings(value) if len(text) >= 10_000}
