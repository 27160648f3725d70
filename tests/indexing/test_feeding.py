"""Chunks on their way to the engine, while the embedder fails or refuses some, and while documents change."""

import contextlib
import json

import pytest

from findspot.app import App, open_app
from findspot.indexing.batches import Batches
from findspot.indexing.chunk_rows import ChunkRows
from findspot.indexing.feeding import Feeding
from findspot.indexing.leases import Leases
from findspot.indexing.states import NamespaceStates
from findspot.models import OWNER, Document, NamespaceKey, documents_namespace
from findspot.runtime.helpers import Helpers
from findspot.runtime.threads import Threads
from findspot.search import Strategy
from findspot.settings import Settings
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


# ── a chunk that changes while it is written ──


async def rename(app: App, document: Document, title: str) -> None:
    await app.documents.save(document.id, json.dumps({"title": title}).encode(), OWNER)


@pytest.mark.parametrize(("old", "new"), [("lighthouse", "windmill"), ("灯塔", "磨坊")], ids=["English", "Chinese"])
async def test_a_chunk_whose_title_changes_while_it_is_written_is_written_again(
    settings: Settings, threads: Threads, old: str, new: str
) -> None:
    async with open_app(settings, worker=False) as app, contextlib.AsyncExitStack() as closing:
        helpers, leases = Helpers(), Leases(app.store)
        closing.push_async_callback(helpers.close)
        chunk_rows = ChunkRows(app.store, leases, helpers, settings)
        batches, states = Batches(app.store, app.embeddings, helpers), NamespaceStates(app.store)
        feeding = Feeding(app.store, leases, app.engine, app.embeddings, batches, states, threads.index)
        project = await flows.make_project(app)
        document = await make_document(app, project, "first passage", "第二段", title=old)
        key = NamespaceKey(project, None)
        assert await chunk_rows.update(key)

        async def rename_between_read_and_write(key: NamespaceKey) -> bool:
            await rename(app, document, new)
            assert await chunk_rows.update(key)
            return True

        async def go_on(key: NamespaceKey) -> bool:
            return True

        assert await feeding.feed(key, rename_between_read_and_write)
        assert [row.indexed for row in await flows.rows(app)] == [False, False]
        assert await feeding.feed(key, go_on)
        assert [row.indexed for row in await flows.rows(app)] == [True, True]
        assert not await feeding.feed(key, go_on)
        assert await texts(app, document, old) == []
        assert await texts(app, document, new) == ["first passage"]  # which the title names


@pytest.mark.one_database
@pytest.mark.parametrize("title", ["lighthouse", "灯塔"], ids=["English", "Chinese"])
async def test_the_title_finds_the_passage_that_is_the_first_one_now(app: App, project: int, title: str) -> None:
    document = await make_document(app, project, "one 一", "two 二", title=title)
    await settle(app)
    assert await texts(app, document, title) == ["one 一"]
    await flows.save(app, document.id, "two 二")
    await settle(app)
    assert await texts(app, document, title) == ["two 二"]
    await flows.save(app, document.id, "three 三", "two 二")
    await settle(app)
    assert await texts(app, document, title) == ["three 三"]
