"""The product on the stand-in: content becomes searchable, changes, and disappears."""

from __future__ import annotations

import asyncio

from findspot.app import open_app
from findspot.models import documents_namespace
from findspot.search.request import SearchRequest
from findspot.settings import Settings
from tests import flows
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
