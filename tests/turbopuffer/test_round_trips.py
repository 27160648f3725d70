"""One hybrid search is one request to the engine and few statements to the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from bench import scale

from findspot.app import App, open_app
from findspot.engines.protocol import Within
from findspot.runtime import engine_catalog
from findspot.search import origins
from findspot.search.request import SearchRequest, Strategy
from findspot.settings import Settings
from findspot.store.schema import documents
from tests import flows
from tests.turbopuffer.server import StandIn

pytestmark = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)


@contextmanager
def counted(standin: StandIn) -> Iterator[tuple[dict[str, int], list[str]]]:
    """Count the requests to the stand-in, and list the statements that SQLAlchemy sends, in the block."""
    requests: dict[str, int] = {}
    statements: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    before, standin.service.heaviest = standin.service.requests.copy(), 0
    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield requests, statements
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
        requests |= standin.service.requests - before


@pytest.fixture(autouse=True)
def placements_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an index is, is read every few seconds. Have no test run into that."""
    monkeypatch.setattr(engine_catalog, "KEPT_S", 1000.0)


async def prepared(app: App) -> tuple[int, int]:
    """A project with a table that is searched and with documents. Searches have run before, and the worker rests."""
    project = await flows.make_project(app)
    table = await flows.make_table(app, project, {f"n{number}": f"harbour {number} 港口" for number in range(20)})
    await flows.add_tool(app, table)
    for number in range(4):
        await flows.make_document(app, project, *(f"harbour {number} {part} 港口" for part in range(5)))
    await flows.settle(app)
    await app.table_search.search(SearchRequest(project, "lighthouse", table_id=table.id))
    await app.workspace_search.search(SearchRequest(project, "lighthouse"))
    await app.index_worker.close()  # it would be counted too
    return project, table.id


@pytest.mark.parametrize("query", ["harbour 7", "港口"])
async def test_a_search_of_a_table_takes_one_request_and_at_most_two_statements(
    remote: Settings, standin: StandIn, query: str
) -> None:
    async with open_app(remote) as app:
        project, table = await prepared(app)
        with counted(standin) as (requests, statements):
            found = await app.table_search.search(SearchRequest(project, query, table_id=table, within=Within("/n7")))
        assert found.hits
        assert found.degraded is None
        assert requests == {"query": 1}
        assert standin.service.heaviest <= 3
        assert len(statements) <= 2, statements


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("query", ["harbour 港口", "港口"])
async def test_a_first_page_of_documents_takes_one_request_and_two_reads(
    remote: Settings, standin: StandIn, strategy: Strategy, query: str
) -> None:
    async with open_app(remote) as app:
        project, _ = await prepared(app)
        with counted(standin) as (requests, statements):
            page = await app.workspace_search.search(SearchRequest(project, query, strategy, low_scores=True))
        assert len(page.results) == 20
        assert page.index.state == "ready"
        assert requests == {"query": 1}
        assert standin.service.heaviest <= scale.SEARCH_SLOTS
        reads = [each for each in statements if each.startswith(("SELECT", "WITH"))]
        assert len(reads) <= 2, reads  # the state of the index; dates, chunks and lines
        writes = [each for each in statements if each not in reads]
        assert [each.split("(")[0].strip() for each in writes] == ["INSERT INTO search_cursors"]  # for other processes


async def test_the_database_chooses_the_best_hits_by_the_dates_of_their_documents(
    remote: Settings, standin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(remote) as app:
        project = await flows.make_project(app)
        for number in range(5):
            await flows.make_document(app, project, *(f"harbour {number} {part} 港口" for part in range(20)))
        await flows.settle(app)
        ages = sa.case({number: timedelta(days=10 * number) for number in range(6)}, value=documents.c.id % 6)
        async with app.store.write() as connection:
            await connection.execute(sa.update(documents).values(updated_at=documents.c.updated_at - ages))
        await flows.settle(app)
        await app.index_worker.close()
        request = SearchRequest(project, "harbour 港口", low_scores=True, page_size=50, duplicates=True)
        await app.workspace_search.search(request)
        with counted(standin) as (_, statements):
            page = await app.workspace_search.search(request)
        monkeypatch.setattr(origins, "READ_AT_ONCE", 1)  # the others are read when they are needed
        with counted(standin) as (_, more_statements):
            again = await app.workspace_search.search(request)
        assert len(page.results) == 50
        assert page.results == again.results
        assert len({each.score.recency for each in page.results}) > 1
        assert (len(statements), len(more_statements) > 3) == (3, True), statements
