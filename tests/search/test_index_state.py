"""The state of the index in an answer: `ready` only if everything that was saved before can be found."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from findspot.app import App, open_app
from findspot.content import backup as backups
from findspot.models import documents_namespace
from findspot.settings import Settings
from findspot.surfaces.http.api import create_api
from tests import flows
from tests.content.backups import save as save_backup
from tests.flows import FakeEmbedder, find, hold, make_document, make_project, save, settle

pytestmark = pytest.mark.fake_embedder


async def state(app: App, project: int) -> tuple[str, int, int]:
    found = (await find(app, project, "alpha")).index
    return found.state, found.indexed, found.total


@pytest.mark.scenario("D44")
async def test_the_state_is_ready_only_when_every_save_is_searchable(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    other = await make_project(app)
    assert await state(app, project) == ("ready", 0, 0)
    await make_document(app, project, "alpha 灯塔")
    await settle(app)
    assert await state(app, project) == ("ready", 0, 0)
    embedder.open.clear()
    try:
        await make_document(app, project, "alpha again 又是灯塔")
        assert await state(app, project) == ("indexing", 1, 2)
        assert await state(app, other) == ("ready", 0, 0)
    finally:
        embedder.open.set()
    await settle(app)
    assert await state(app, project) == ("ready", 0, 0)


@pytest.mark.one_database
async def test_a_document_that_cannot_be_indexed_is_counted(app: App, project: int, embedder: FakeEmbedder) -> None:
    embedder.fails_on = "港口"
    await make_document(app, project, "alpha 灯塔")
    await settle(app)
    await make_document(app, project, "alpha 港口")
    await settle(app, errors=True)
    assert await state(app, project) == ("indexing", 1, 2)


async def test_the_state_is_that_before_the_recall(app: App, project: int) -> None:
    document = await make_document(app, project, "alpha 灯塔")
    await hold(app)
    await save(app, document.id, "beta 港口")
    engine = flows.watched(app)
    states: list[str] = []

    def recall(*arguments: Any, **named: Any) -> Any:
        states.append("recalled")
        return engine.engine.recall(*arguments, **named)

    engine.instead["recall"] = recall
    assert (await state(app, project), states) == (("indexing", 0, 1), ["recalled"])


@pytest.mark.one_database
async def test_an_index_that_is_yet_to_be_compared_with_the_store_is_not_ready(
    settings: Settings, embedder: FakeEmbedder
) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        await make_document(app, project, "alpha 灯塔")
        await hold(app)
        engine, namespace = flows.watched(app), documents_namespace(project)
        engine.instead["ids"] = lambda namespace: (_ for _ in ()).throw(OSError("held"))
        await app.index_worker.start()
        assert await state(app, project) == ("indexing", 1, 1)
        del engine.instead["ids"]
        await settle(app)
        assert (await state(app, project), len(flows.held(app, namespace))) == (("ready", 0, 0), 1)


@pytest.mark.scenario("D44")
async def test_after_a_restore_the_answer_counts_what_is_indexed(
    settings: Settings, tmp_path: Path, embedder: FakeEmbedder
) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        for number in range(5):
            await make_document(app, project, f"alpha {number} 灯塔")
        await settle(app)
        file = await save_backup(app.store, tmp_path / "a.backup", embeddings=False)
    target = Settings(data=tmp_path / "restored", port=0)
    await backups.restore(backups.verify(file), target)
    embedder.open.clear()
    api = create_api(target)
    try:
        async with api.router.lifespan_context(api):
            transport = httpx2.ASGITransport(app=api, raise_app_exceptions=True)
            headers = {"Authorization": f"Bearer {api.state.app.token}"}
            async with httpx2.AsyncClient(base_url="http://localhost", transport=transport, headers=headers) as owner:
                await _check_restored(owner, project)
                embedder.open.set()
                await settle(api.state.app)
                answer = await _search(owner, project, "en")
                assert (answer["indexState"], len(answer["results"])) == ("ready", 5)
                assert answer.keys().isdisjoint({"notice", "indexedDocuments", "totalDocuments"})
                status = (await owner.get(f"/api/v1/projects/{project}/status")).json()
                assert (status["index_state"], status["indexed_documents"]) == ("ready", 5)
                assert status["namespaces"][0]["progress"]["percent"] == 100
    finally:
        embedder.open.set()


async def _check_restored(owner: httpx2.AsyncClient, project: int) -> None:
    for language, notice in (("en", "0 of 5 documents are indexed"), ("zh-CN", "共 5 篇文档，已索引 0 篇")):
        answer = await _search(owner, project, language)
        assert (answer["indexState"], answer["indexedDocuments"], answer["totalDocuments"]) == ("indexing", 0, 5)
        assert notice in answer["notice"]
    status = (await owner.get(f"/api/v1/projects/{project}/status")).json()
    (index,) = status["namespaces"]
    assert (status["index_state"], status["documents"], status["indexed_documents"]) == ("indexing", 5, 0)
    assert index["step"] in ("checking", "cutting", "indexing")
    assert index["progress"]["percent"] < 100


async def _search(owner: httpx2.AsyncClient, project: int, language: str) -> dict[str, Any]:
    answer = await owner.post(
        f"/api/v1/projects/{project}/search/fts/query",
        json={"query": "alpha"},
        headers={"Accept-Language": language},
    )
    found: dict[str, Any] = answer.json()
    return found
