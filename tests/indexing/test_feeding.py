"""Chunks on their way to the engine, while the embedder fails or refuses some."""

import pytest

from findspot.app import App
from findspot.models import documents_namespace
from findspot.search import Strategy
from tests import flows
from tests.flows import (
    FakeEmbedder,
    make_document,
    settle,
    texts,
)

pytestmark = pytest.mark.fake_embedder


async def test_a_batch_that_cannot_be_embedded_is_retried_and_others_are_indexed(
    short_delays: None, app: App, project: int, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.indexing.batches.CHUNKS_AT_ONCE", 2)
    embedder.fails_on = "doomed"
    documents = [await make_document(app, project, text, text) for text in ("sound one", "doomed", "sound two")]

    async def two_are_ready() -> bool:
        found = [await flows.state(app, document) for document in documents]
        return [each.status for each in found] == ["ready", "error", "ready"] and found[1].attempts > 2

    await flows.until(app, two_are_ready)
    failed = await flows.state(app, documents[1])
    assert failed.last_error == "EMBEDDING_UNAVAILABLE: The service is unavailable."
    (report,) = await app.index_status.of_project(project)
    assert (report.status, report.errors) == ("error", (failed.last_error,))
    embedder.fails_on = "\0"
    await settle(app)
    found = await flows.state(app, documents[1])
    assert (found.status, found.last_error, found.attempts) == ("ready", None, 0)
    assert await texts(app, documents[1], "doomed") == ["doomed", "doomed"]


@pytest.mark.one_database
async def test_a_text_that_the_embedder_refuses_is_found_by_keywords(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    embedder.refuses = "secret"
    document = await make_document(app, project, "a secret word", "an open word", "another secret")
    await settle(app)
    assert app.engine.status(documents_namespace(project)).vectors == 1
    assert sorted(await texts(app, document, "secret", strategy=Strategy.KEYWORD)) == [
        "a secret word",
        "another secret",
    ]
    assert await texts(app, document, "word", strategy=Strategy.VECTOR) == ["an open word"]
