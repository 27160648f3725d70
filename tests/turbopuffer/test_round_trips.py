"""One search is one request to the engine and few round trips to the database, counted on the wire."""

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
from findspot.store import postgres
from findspot.store.schema import documents
from tests import flows
from tests.mcp.test_direct import HEADERS as MCP_HEADERS
from tests.mcp.test_direct import request as mcp_call
from tests.processes import open_client
from tests.round_trips import RoundTrips
from tests.turbopuffer.server import StandIn

pytestmark = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)


@pytest.fixture(autouse=True)
def trips() -> Iterator[RoundTrips]:
    """Counts round trips to the database. Every transaction would add two."""
    with RoundTrips() as opened:
        yield opened


@contextmanager
def counted(standin: StandIn, trips: RoundTrips) -> Iterator[tuple[dict[str, int], list[str]]]:
    """Count the requests to the stand-in, and list the round trips to the database, in the block."""
    requests: dict[str, int] = {}
    before, standin.service.heaviest = standin.service.requests.copy(), 0
    with trips.counted() as sent:
        yield requests, sent
    requests |= standin.service.requests - before


@pytest.fixture(autouse=True)
def nothing_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an index is, and whether a connection is alive, is asked every few seconds. Have no test run into that."""
    monkeypatch.setattr(engine_catalog, "KEPT_S", 1000.0)
    monkeypatch.setattr(postgres, "TRUSTED_S", 1000.0)


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


@pytest.mark.parametrize("strategy", Strategy)
async def test_a_search_of_a_table_takes_one_request_and_one_round_trip(
    remote: Settings, standin: StandIn, trips: RoundTrips, strategy: Strategy
) -> None:
    async with open_app(remote) as app:
        project, table = await prepared(app)
        for query in ("harbour 7", "港口"):
            search = SearchRequest(project, query, strategy, table_id=table, within=Within("/n7"))
            with counted(standin, trips) as (requests, sent):
                found = await app.table_search.search(search)
            assert found.hits
            assert found.degraded is None
            assert requests == {"query": 1}
            assert standin.service.heaviest <= 3
            assert len(sent) == 1, sent


async def test_a_call_of_a_search_tool_takes_two_round_trips_with_its_access_check(
    remote: Settings, standin: StandIn, trips: RoundTrips
) -> None:
    """Over HTTP with a key, and over MCP: who calls, which tool and the state of its index; then the hits."""
    async with open_client(remote, 1) as owner:
        app = owner._transport.app.state.app  # type: ignore[attr-defined]
        project, _ = await prepared(app)
        (tool,) = await app.tools.every(project)
        body = {"project_id": project, "name": "e", "tool_ids": [tool.id]}
        endpoint = (await owner.post("/api/v1/mcp", json=body)).json()
        key = (await owner.post(f"/api/v1/projects/{project}/keys", json={"name": "k", "role": "read"})).json()["key"]
        message = mcp_call({"query": "港口"}, name=tool.name)
        over_mcp = {**MCP_HEADERS, "Mcp-Name": tool.name, "Authorization": f"Bearer {endpoint['key']}"}
        calls: list[tuple[str, dict[str, Any], dict[str, str]]] = [
            (f"/api/v1/tools/{tool.id}/call", {"arguments": {"query": "harbour"}}, {"Authorization": f"Bearer {key}"}),
            (f"/mcp/{endpoint['id']}", message, over_mcp),
        ]
        for path, sent_body, headers in calls:
            assert (await owner.post(path, json=sent_body, headers=headers)).status_code == 200  # loads what is lazy
            with counted(standin, trips) as (requests, sent):
                answer = await owner.post(path, json=sent_body, headers=headers)
            assert "harbour" in answer.text
            assert requests == {"query": 1}
            assert len(sent) == 2, sent


@pytest.mark.parametrize("strategy", Strategy)
async def test_pages_of_documents_take_one_request_and_one_round_trip_per_step(
    remote: Settings, standin: StandIn, trips: RoundTrips, strategy: Strategy
) -> None:
    async with open_app(remote) as app:
        project, _ = await prepared(app)
        for query in ("harbour 港口", "港口"):
            request = SearchRequest(project, query, strategy, low_scores=True, page_size=8)
            with counted(standin, trips) as (requests, sent):
                page = await app.workspace_search.search(request)
            assert (len(page.results), page.index.state) == (8, "ready")
            assert requests == {"query": 1}
            assert standin.service.heaviest <= scale.SEARCH_SLOTS
            assert len(sent) == 3, sent  # the state of the index; dates, chunks and lines; the ranking is kept
            with counted(standin, trips) as (requests, sent):
                following = await app.workspace_search.search(request, cursor=page.cursor)
            assert (len(following.results), following.page) == (8, 2)
            assert requests == {}
            assert len(sent) == 4, sent  # the state; the ranking; chunks and lines; the ranking is kept


async def test_a_first_page_over_http_takes_two_round_trips_after_its_access_check(
    remote: Settings, standin: StandIn, trips: RoundTrips
) -> None:
    """The access check reads the state of the index, too; then the hits are read, and the ranking is kept."""
    async with open_client(remote, 1) as owner:
        project, _ = await prepared(owner._transport.app.state.app)  # type: ignore[attr-defined]
        key = (await owner.post(f"/api/v1/projects/{project}/keys", json={"name": "k", "role": "read"})).json()["key"]
        path, headers = f"/api/v1/projects/{project}/search/query/strategy", {"Authorization": f"Bearer {key}"}
        for strategy in Strategy:
            body = {"query": "harbour 港口", "strategy": strategy.value, "includeLowScores": True}
            with counted(standin, trips) as (requests, sent):
                answer = (await owner.post(path, json=body, headers=headers)).json()
            assert (len(answer["results"]), answer["indexState"]) == (20, "ready")
            assert requests == {"query": 1}
            assert len(sent) == 3, sent


async def test_the_database_chooses_the_best_hits_by_the_dates_of_their_documents(
    remote: Settings, standin: StandIn, trips: RoundTrips, monkeypatch: pytest.MonkeyPatch
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
        with counted(standin, trips) as (_, sent):
            page = await app.workspace_search.search(request)
        monkeypatch.setattr(origins, "READ_AT_ONCE", 1)  # the others are read when they are needed
        with counted(standin, trips) as (_, more):
            again = await app.workspace_search.search(request)
        assert len(page.results) == 50
        assert page.results == again.results
        assert len({each.score.recency for each in page.results}) > 1
        assert (len(sent), len(more) > 3) == (3, True), sent
