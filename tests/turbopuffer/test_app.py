"""The product on the stand-in: content becomes searchable, changes, and disappears."""

from __future__ import annotations

import asyncio

import pytest

from findspot.app import open_app
from findspot.models import documents_namespace
from findspot.search.request import SearchRequest
from findspot.settings import Settings
from findspot.store import chunks as chunk_rows
from tests import flows
from tests.turbopuffer.faults import Faults
from tests.turbopuffer.server import StandIn


async def test_a_project_that_is_opened_is_warmed_once(remote: Settings, standin: StandIn) -> None:
    async with open_app(remote) as app:
        project = await flows.make_project(app)
        await flows.make_document(app, project, "The harbour at night. 夜晚的港口。")
        await flows.settle(app)
        for _ in range(3):
            app.index_status.warm(project)
        await app.index_status.close()
        assert standin.service.requests["warm"] == 1


async def test_documents_are_found_changed_and_deleted(remote: Settings, standin: StandIn) -> None:
    async with open_app(remote) as app:
        project = await flows.make_project(app)
        document = await flows.make_document(app, project, "The harbour at night.", "夜晚的港口很安静。")
        await flows.settle(app)
        for query in ("harbour", "港口"):
            page = await app.workspace_search.search(SearchRequest(project, query))
            assert [each.found.chunk.document_id for each in page.results][:1] == [document.id]
        await flows.save(app, document.id, "The lighthouse at noon.")
        await flows.settle(app)
        page = await app.workspace_search.search(SearchRequest(project, "lighthouse"))
        assert len(page.results) == 1
        namespace = documents_namespace(project)
        assert len(await asyncio.to_thread(app.engine.ids, namespace)) == 1
        await app.documents.delete(document.id)
        await flows.settle(app)
        assert standin.service.namespaces == {}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_content_is_indexed_once_and_searches_answer_while_the_service_fails(
    remote: Settings, standin: StandIn
) -> None:
    async with open_app(remote) as app:
        project = await flows.make_project(app)
        await flows.make_document(app, project, "The first harbour 港口.")
        await flows.settle(app)
        standin.service.faults.set(Faults(status=0.1, dropped=0.05, lost=0.05))
        made = [await flows.make_document(app, project, *texts(number)) for number in range(12)]
        for number in (3, 5):
            await flows.save(app, made[number].id, "Changed harbour 新的港口", *texts(number)[1:])
        for _ in range(10):
            page = await app.workspace_search.search(SearchRequest(project, "harbour 港口", low_scores=True))
            assert page.results  # a degradation is a value of the page, never an exception
        await app.documents.delete(made[0].id)
        await flows.settle(app)
        standin.service.faults.set(Faults())
        async with app.store.read() as connection:
            known = await chunk_rows.ids(connection, documents_namespace(project))
        (held,) = standin.service.namespaces.values()
        assert sorted(row["chunk_id"] for row in held.rows.values()) == sorted(known)


def texts(number: int) -> list[str]:
    return [f"harbour {number} {part} 港口" for part in range(3)]
