"""Searches of real English and Chinese tables: every hit has the right pointer and range, inside its tool scope."""

from pathlib import Path

import pytest

from findspot.app import App
from tests import flows, real_tables

FIXTURES = Path(__file__).parent.parent / "fixtures" / "tables"
QUERIES = 60


@pytest.mark.scenario("001.decision.scope", "003.chunks-table.char-range")
@pytest.mark.parametrize("name", ["python_peps", "zh_laws"])
@pytest.mark.one_database
async def test_every_hit_has_the_right_pointer_and_range_inside_its_scope(app: App, name: str) -> None:
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


@pytest.mark.one_database
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
