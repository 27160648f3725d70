"""A project that is full: what passes the limit is not indexed, is saved all the same, and the status says why."""

from collections.abc import AsyncIterator

import pytest
import sqlalchemy as sa

from findspot import following
from findspot.app import App, open_app
from findspot.finding import Question, Strategy
from findspot.settings import Settings
from findspot.store import indexing as states
from findspot.store.schema import chunks
from tests import flows
from tests.flows import Telling, add_tool, make_document, make_project, make_table, save, settle, state, text_of

MOST_CHUNKS = following.MOST_CHUNKS


@pytest.fixture
async def app(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    flows.use(monkeypatch, Telling())
    monkeypatch.setattr(following, "MOST_CHUNKS", 10)
    async with open_app(settings) as opened:
        yield opened


def herons(count: int) -> list[str]:
    return [f"Heron number {number}" for number in range(count)]


async def found(app: App, project: int) -> int:
    return len((await app.finding.find(Question(project, "heron", Strategy.FTS))).results)


async def count(app: App) -> int:
    async with app.store.read() as connection:
        return int((await connection.execute(sa.select(sa.func.count()).select_from(chunks))).scalar_one())


@pytest.mark.scenario("004.capacity.chunks", "004.matrix.index-over-limit")
async def test_documents_past_the_limit_are_saved_and_named_and_all_others_are_found(app: App) -> None:
    assert MOST_CHUNKS == 5_000_000
    project = await make_project(app)
    first = await make_document(app, project, *herons(6))
    await settle(app)
    second = await make_document(app, project, *herons(6))
    third = await make_document(app, project, *herons(3))
    await settle(app, errors=True)
    assert "Heron number 5" in await text_of(app, second.id)
    assert (await state(app, second)).last_error.startswith("SEARCH_CAPACITY_EXCEEDED: A project may have 10 chunks")
    assert ((await state(app, third)).status, await found(app, project), await count(app)) == ("ready", 9, 9)
    (report,) = await app.indexing.report(project)
    assert any("SEARCH_CAPACITY_EXCEEDED" in error for error in report.errors)
    await save(app, first.id, "A single heron")
    await settle(app, errors=True)
    async with app.store.write() as connection:
        await states.request_documents(connection, [second.id])
    await settle(app)
    assert (await found(app, project), await count(app)) == (10, 10)


async def test_a_table_past_the_limit_is_named_and_another_project_has_its_own_room(app: App) -> None:
    project, other = await make_project(app), await make_project(app, "other")
    table = await make_table(app, project, herons(11))
    await add_tool(app, table)
    await settle(app, errors=True)
    assert "SEARCH_CAPACITY_EXCEEDED" in (await state(app, table)).last_error
    assert await count(app) == 0
    await make_document(app, other, *herons(10))
    await settle(app, errors=True)
    assert await found(app, other) == 10
