"""One hybrid search is one request to the engine and few statements to the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.engines.protocol import Within
from findspot.search.request import SearchRequest
from findspot.settings import Settings
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

    before = standin.service.requests.copy()
    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield requests, statements
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
        requests |= standin.service.requests - before


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
        assert len(statements) <= 2, statements


async def test_a_search_of_documents_takes_one_request_with_its_count(remote: Settings, standin: StandIn) -> None:
    async with open_app(remote) as app:
        project, _ = await prepared(app)
        with counted(standin) as (requests, statements):
            page = await app.workspace_search.search(SearchRequest(project, "harbour 港口", low_scores=True))
        assert (len(page.results), page.total.exact) == (20, True)
        assert requests == {"query": 1}
        reads = [each for each in statements if each.startswith("SELECT")]  # the cursor is written for other processes
        assert len(reads) <= 4, statements  # state of the index (2), dates of the documents, chunks
