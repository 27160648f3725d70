"""Without an embedder, keywords are indexed and found, deletions take effect, and vectors follow later."""

from typing import Any

import pytest

from findspot.app import App, open_app
from findspot.errors import FindspotError
from findspot.indexing.status import Problem
from findspot.models import Backoff, documents_namespace
from findspot.search import Strategy
from findspot.settings import Settings
from findspot.store import index_states as states
from tests import flows
from tests.flows import FakeEmbedder, make_document, make_project, rows, settle, texts

pytestmark = [pytest.mark.fake_embedder, pytest.mark.one_database]


@pytest.fixture
def settings(settings: Settings, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with the test embedder and short pauses between retries."""
    monkeypatch.setattr(states, "SOURCE_BACKOFF", Backoff(0.05, 60))
    monkeypatch.setattr("findspot.indexing.worker.NAMESPACE_BACKOFF", Backoff(0.05, 30))
    return settings


def make_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the embedder unavailable before it has answered for the first time."""

    def unavailable(_: FakeEmbedder) -> Any:
        raise FindspotError("EMBEDDING_UNAVAILABLE", "The service is unavailable.")

    for name in ("dimension", "fingerprint"):
        monkeypatch.setattr(FakeEmbedder, name, property(unavailable, lambda *_: None), raising=False)


async def test_deleted_documents_leave_the_index_without_an_embedder(
    app: App, embedder: FakeEmbedder, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, gone = await make_document(app, project, "kept 留"), await make_document(app, project, "gone 走")
    await settle(app)

    make_unavailable(monkeypatch)
    await app.documents.delete(gone.id)
    await settle(app)
    held = app.engine.ids(documents_namespace(project)).tolist()
    assert held == [row.id for row in await rows(app, document_id=kept.id)]


async def test_documents_saved_without_an_embedder_are_found_by_keyword_immediately(
    app: App, embedder: FakeEmbedder, project: int
) -> None:
    before = await make_document(app, project, "before 之前")
    await settle(app)
    engine, writes = flows.watched(app), 0

    def write(*given: Any) -> None:
        nonlocal writes
        writes += 1
        engine.engine.write(*given)

    engine.instead["write"] = write
    embedder.fails_on = "heron"
    document = await make_document(app, project, "a heron 苍鹭 🐦", "another heron")

    async def tried_again() -> bool:
        return bool((await flows.state(app, document)).attempts > 2)

    await flows.until(app, tried_again)
    assert writes == 1  # by words; that it is tried again changes nothing in the index
    assert sorted(await texts(app, document, "heron")) == ["a heron 苍鹭 🐦", "another heron"]
    assert await texts(app, document, "苍鹭") == ["a heron 苍鹭 🐦"]
    assert await texts(app, before, "before") == ["before 之前"]
    embedder.fails_on = "\0"
    await settle(app)
    assert app.engine.status(documents_namespace(project)).vectors == 3
    assert await texts(app, document, "another heron", strategy=Strategy.VECTOR) == [
        "another heron",
        "a heron 苍鹭 🐦",
    ]


async def test_a_server_started_without_an_embedder_indexes_keywords_and_adds_vectors_later(
    settings: Settings, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as down:
        make_unavailable(down)
        async with open_app(settings) as app:
            project = await make_project(app)
            document = await make_document(app, project, "a heron 苍鹭", "a kite")

            async def behind() -> bool:
                return bool((await flows.state(app, document)).status == "error")

            await flows.until(app, behind)
            assert await texts(app, document, "heron") == ["a heron 苍鹭"]
            assert await texts(app, document, "苍鹭") == ["a heron 苍鹭"]
    async with open_app(settings) as app:
        await settle(app)
        assert app.engine.status(documents_namespace(project)).vectors == 2
        assert await texts(app, document, "a kite", strategy=Strategy.VECTOR) == ["a kite", "a heron 苍鹭"]


async def test_a_damaged_index_is_rebuilt_with_keywords_only_without_an_embedder(
    app: App, embedder: FakeEmbedder, project: int
) -> None:
    document = await make_document(app, project, "a heron 苍鹭", "a kite")
    await settle(app)
    async with app.store.write() as connection:
        await connection.exec_driver_sql("DELETE FROM embedding_cache")
    embedder.fails_on = "kite"
    namespace = documents_namespace(project)
    app.index_status.report(namespace, Problem.DAMAGED)

    async def rebuilt() -> bool:
        is_due = await app.index_status.is_rebuild_due(namespace)
        return not is_due and (await flows.state(app, document)).status == "error"

    await flows.until(app, rebuilt)
    assert await texts(app, document, "heron") == ["a heron 苍鹭"]
    assert app.engine.status(documents_namespace(project)).vectors == 0
    embedder.fails_on = "\0"
    await settle(app)
    assert app.engine.status(documents_namespace(project)).vectors == 2
