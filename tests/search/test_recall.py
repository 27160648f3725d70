"""Recall: the one fall-back to keywords, deadlines, and an index that is damaged, missing or unavailable."""

import contextlib
import threading
from typing import Any

import pytest

from findspot.app import App
from findspot.embedding.protocol import refused
from findspot.engines.protocol import Damaged, Recall
from findspot.errors import FindspotError
from findspot.models import documents_namespace
from findspot.search import Degradation, Strategy
from tests import flows
from tests.flows import PARAGRAPHS, FakeEmbedder, find, search, settle, texts

pytestmark = pytest.mark.fake_embedder

BOTH = [PARAGRAPHS[3], PARAGRAPHS[4]]


@pytest.fixture
def database_url() -> None:
    """Nothing here depends on the database."""


async def keywords_answer(app: App, document: Any, code: str, query: str = "swimming pool", **more: Any) -> None:
    """Check that every search with a vector leg falls back to keywords, but for a table search by vector alone."""
    found = await search(app, document, query, **more)
    assert [hit.found.chunk.text for hit in found.hits] == BOTH
    assert (found.degraded, found.vector_count) == (Degradation(code, "fts"), 0)
    for hit in found.hits:
        assert hit.ranked.score == pytest.approx(hit.ranked.part("keyword").share)
    with pytest.raises(FindspotError) as caught:
        await search(app, document, query, strategy=Strategy.VECTOR, **more)
    assert caught.value.code == code
    for strategy in (Strategy.VECTOR, Strategy.HYBRID):
        page = await find(app, document.project_id, query, strategy, low_scores=True, **more)
        assert [each.found.chunk.text for each in page.results] == BOTH
        assert page.degraded == Degradation(code, "fts")


@pytest.mark.scenario("004.embedding.unavailable")
@pytest.mark.parametrize("code", ["EMBEDDING_UNAVAILABLE", "EMBEDDING_DIMENSION_MISMATCH"])
async def test_without_an_embedder_keywords_answer(app: App, document: Any, embedder: FakeEmbedder, code: str) -> None:
    embedder.query_error = FindspotError(code, "not now")
    await keywords_answer(app, document, code)
    assert (await search(app, document, "swimming pool", strategy=Strategy.KEYWORD)).degraded is None
    assert (await find(app, document.project_id, "swimming pool")).degraded is None


async def test_the_fingerprint_of_an_embedder_that_is_away_is_not_asked_for(
    app: App, document: Any, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fingerprint(self: FakeEmbedder) -> str:
        asked.append(self)
        return "one"

    monkeypatch.setattr(FakeEmbedder, "fingerprint", property(fingerprint), raising=False)
    embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "not now")
    for _ in range(2):
        found = await search(app, document, "swimming pool")
        assert (found.degraded, len(found.hits)) == (Degradation("EMBEDDING_UNAVAILABLE"), 2)
    assert asked == []


async def test_an_index_that_is_slow_to_return_its_kind_costs_the_vectors_but_not_the_answer(
    app: App, document: Any
) -> None:
    opened, late = threading.Event(), []

    def slow(namespace: str) -> Any:
        late.append(opened.wait(flows.PATIENCE_S))
        return flows.watched(app).engine.kind(namespace)

    flows.watched(app).instead["kind"] = slow
    found = await search(app, document, "swimming pool", timeout_s=0.05)
    assert late == []
    opened.set()
    assert (found.degraded, len(found.hits)) == (Degradation("SEARCH_TIMEOUT"), 2)


async def test_an_engine_that_is_asked_before_the_deadline_says_itself_why_it_fails(app: App, document: Any) -> None:
    """A remote engine gives up a little after the deadline that it is given."""

    def recall(namespace: str, words: Any, vector: Any, **more: Any) -> Any:
        if vector is None:
            return flows.watched(app).engine.recall(namespace, words, vector, **more)
        with contextlib.suppress(FindspotError):
            while True:
                more["stop"]()
        raise FindspotError("ENGINE_UNAVAILABLE", "not in time")

    flows.watched(app).instead["recall"] = recall
    found = await search(app, document, "swimming pool", timeout_s=0.2)
    assert (found.degraded, len(found.hits)) == (Degradation("ENGINE_UNAVAILABLE"), 2)


@pytest.mark.parametrize("query", ["swimming pool", "图书馆 借书证"])
async def test_an_embedder_that_asks_no_service_embeds_in_the_thread_that_asks_the_engine(
    app: App, document: Any, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    embedding, recalling = list[int](), list[int]()

    def embed(text: str) -> Any:
        embedding.append(threading.get_ident())
        return FakeEmbedder.query(embedder, text)

    def recall(*asked: Any, **more: Any) -> Any:
        recalling.append(threading.get_ident())
        return flows.watched(app).engine.recall(*asked, **more)

    monkeypatch.setattr(embedder, "query", embed)
    flows.watched(app).instead["recall"] = recall
    assert (await search(app, document, query)).degraded is None
    assert embedding == recalling
    assert len(embedding) == 1


@pytest.mark.parametrize("is_quick", [True, False])
async def test_a_query_vector_of_another_dimension_is_not_used(
    app: App, document: Any, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch, is_quick: bool
) -> None:
    monkeypatch.setattr(embedder, "is_quick", is_quick)
    embedder.dimension = 32
    await keywords_answer(app, document, "EMBEDDING_DIMENSION_MISMATCH")
    fingerprint, _ = app.engine.kind(documents_namespace(document.project_id))
    # the index is switched after its kind was read
    flows.watched(app).instead["kind"] = lambda _: (fingerprint, 32)
    await keywords_answer(app, document, "EMBEDDING_DIMENSION_MISMATCH")


async def test_a_query_that_the_embedder_refuses_is_answered_by_keywords_and_the_next_one_by_both(
    app: App, document: Any, embedder: FakeEmbedder
) -> None:
    embedder.query_error = refused(0, "a message about 'swimming pool'")
    await keywords_answer(app, document, "EMBEDDING_UNAVAILABLE")
    with pytest.raises(FindspotError) as caught:
        await search(app, document, "swimming pool", strategy=Strategy.VECTOR)
    assert "swimming" not in str(caught.value.body())
    embedder.query_error = None
    assert (await search(app, document, "library cards")).degraded is None


async def test_a_search_past_its_deadline_is_answered_by_keywords(app: App, document: Any) -> None:
    await keywords_answer(app, document, "SEARCH_TIMEOUT", timeout_s=0)
    with pytest.raises(FindspotError) as caught:
        await search(app, document, "swimming pool", timeout_s=0, strategy=Strategy.KEYWORD)
    assert caught.value.code == "SEARCH_TIMEOUT"


async def test_a_deadline_stops_the_engine_between_two_slices(app: App, document: Any) -> None:
    slices = []

    def recall(namespace: str, words: Any, vector: Any, *, stop: Any, **more: Any) -> Any:
        while vector is not None:
            slices.append(1)
            stop()
        return flows.watched(app).engine.recall(namespace, words, vector, stop=stop, **more)

    flows.watched(app).instead["recall"] = recall
    found = await search(app, document, "swimming pool", timeout_s=0.2)
    assert slices
    assert (len(found.hits), found.degraded) == (2, Degradation("SEARCH_TIMEOUT"))


@pytest.mark.scenario("004.fts.damaged-index")
@pytest.mark.parametrize("call", ["recall", "kind"])
async def test_a_damaged_index_is_rebuilt_and_the_error_says_when_to_try_again(
    app: App, document: Any, call: str
) -> None:
    engine, failed, built = flows.watched(app), list[str](), list[str]()

    def damaged(*arguments: Any, **more: Any) -> Any:
        if not failed:
            failed.append(call)
            raise Damaged("a file is gone")
        return getattr(engine.engine, call)(*arguments, **more)

    def build(namespace: str, *more: Any) -> Any:
        built.append(namespace)
        return engine.engine.build(namespace, *more)

    for answer in (search(app, document, "swimming pool"), find(app, document.project_id, "pool", "hybrid")):
        failed.clear()
        engine.instead |= {call: damaged, "build": build}
        with pytest.raises(FindspotError) as caught:
            await answer
        assert (caught.value.code, caught.value.fields) == ("INDEX_REBUILDING", {"retryAfterMs": 1000})
        await settle(app)
    assert set(built) == {documents_namespace(document.project_id)}
    assert (await texts(app, document, "swimming pool"))[0] == PARAGRAPHS[3]


async def test_an_engine_that_is_unavailable_is_an_error_of_every_search_and_of_the_status(
    app: App, document: Any
) -> None:
    def unavailable(*_: Any, **__: Any) -> Any:
        raise FindspotError("ENGINE_UNAVAILABLE", "The index cannot be used right now: Too many open files.")

    flows.watched(app).instead |= {"recall": unavailable, "status": unavailable}
    for strategy in Strategy:
        for answer in (
            search(app, document, "swimming pool", strategy=strategy),
            find(app, document.project_id, "pool", strategy),
        ):
            with pytest.raises(FindspotError) as caught:
                await answer
            assert caught.value.code == "ENGINE_UNAVAILABLE"
    (report,) = await app.index_status.of_project(document.project_id)
    assert (report.status, report.chunks, report.vectors) == ("error", len(PARAGRAPHS), 0)
    assert report.errors == ("ENGINE_UNAVAILABLE: The index cannot be used right now: Too many open files.",)


async def test_an_index_that_appears_during_a_search_is_recalled_again(app: App, document: Any) -> None:
    engine, seen = flows.watched(app), list[bool]()

    def recall(*arguments: Any, **more: Any) -> Recall:
        found = engine.engine.recall(*arguments, **more) if seen else Recall(exists=False)
        seen.append(found.exists)
        return found

    engine.instead["recall"] = recall
    assert await texts(app, document, "图书馆") == [PARAGRAPHS[2]]
    assert seen == [False, True]
