"""Workspace search without vectors, without time, in a rebuild and over its limits."""

import asyncio
import threading
from typing import Any

import pytest

from findspot.app import App
from findspot.errors import FindspotError
from findspot.models import documents_namespace
from findspot.runtime.limits import SEARCHES
from findspot.search import Degradation, Page, SearchRequest, Total, recall
from findspot.search.request import PAGE_SIZE
from tests import flows
from tests.flows import PARAGRAPHS, FakeEmbedder, find, make_document, settle
from tests.search.pages import ids, make_herons, read_all, texts

pytestmark = pytest.mark.fake_embedder


UNAVAILABLE = Degradation("EMBEDDING_UNAVAILABLE")


# ── without vectors ──


@pytest.mark.one_database
async def test_without_vectors_the_other_weights_are_scaled_up(
    app: App, project: int, document: Any, embedder: FakeEmbedder
) -> None:
    embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "unavailable")
    best = (await find(app, project, "swimming pool", "hybrid")).results[0].score
    assert best.vector == 0
    assert best.recency == pytest.approx(0.1 / 0.65, abs=1e-4)
    assert best.total >= 0.25


@pytest.mark.one_database
async def test_without_vectors_the_hits_of_keywords_are_the_exact_total(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    await make_document(app, project, "a heron in the reeds", "another heron 苍鹭", "nothing of that kind")
    await settle(app)
    embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "unavailable")
    for strategy in ("semantic", "hybrid"):
        for query, hits in (("heron", 2), ('"heron"', 2), ("heron -reeds", 1)):
            page = await find(app, project, query, strategy)
            assert (len(page.results), page.total) == (hits, Total(hits, exact=True))
            assert (page.has_more, page.degraded) == (False, UNAVAILABLE)


@pytest.mark.one_database
@pytest.mark.scenario("004.acceptance.timeout-visible", "004.matrix.embedder-timeout")
async def test_a_slow_embedder_costs_the_vectors_but_not_the_answer(
    app: App, project: int, document: Any, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SearchRequest(1, "x").timeout_s == 5.0
    released = threading.Event()

    def slow(text: str) -> Any:
        released.wait(flows.PATIENCE_S)
        return flows.FakeEmbedder.query(embedder, text)

    monkeypatch.setattr(embedder, "query", slow)
    monkeypatch.setattr(embedder, "is_quick", False)  # as a service: searches give up their turn while it is asked
    try:
        for strategy in ("semantic", "hybrid"):
            page = await find(app, project, "pool", strategy, timeout_s=0.05)
            assert page.degraded == Degradation("SEARCH_TIMEOUT")
            assert set(texts(page)) == {PARAGRAPHS[3], PARAGRAPHS[4]}
        waiting = [
            asyncio.create_task(find(app, project, f"pool {number}", "hybrid", timeout_s=flows.PATIENCE_S))
            for number in range(50)
        ]
        async with asyncio.timeout(flows.PATIENCE_S / 2):  # keyword searches wait for none of them
            for query in ("pool", "图书馆", '"swimming pool" -library'):
                assert (await find(app, project, query)).results
        assert not any(each.done() for each in waiting)
    finally:
        released.set()
    assert {page.degraded for page in await asyncio.gather(*waiting)} == {None}


@pytest.mark.one_database
@pytest.mark.one_process  # each process has a circuit breaker of its own
async def test_vectors_are_used_again_soon_after_the_embedder_is_back(
    app: App, project: int, document: Any, embedder: FakeEmbedder
) -> None:
    for number in range(60):
        is_unavailable = 20 <= number < 40
        embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "unavailable") if is_unavailable else None
        page = await find(app, project, "pool" + "?" * number, "hybrid")  # a new text, so no cached vector
        if number == 40:
            async with asyncio.timeout(flows.PATIENCE_S):
                while page.degraded is not None:  # the circuit breaker is still open
                    assert page.degraded == UNAVAILABLE
                    assert page.results
                    page = await find(app, project, "pool" + "?" * number, "hybrid")
        assert page.results
        assert page.degraded == (UNAVAILABLE if is_unavailable else None), number


@pytest.mark.one_database
async def test_paging_goes_on_with_keywords_when_the_embedder_fails_and_with_vectors_when_it_is_back(
    app: App, project: int, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_document(app, project, *(f"heron reeds {'x' * (number % 7)} {number}" for number in range(203)))
    await make_document(app, project, *(f"reed number {number}" for number in range(100)))
    await settle(app)
    pages = [await find(app, project, "heron", "hybrid", low_scores=True)]
    while len(pages) < 4:
        pages.append(await find(app, project, "heron", "hybrid", low_scores=True, cursor=pages[-1].cursor))
    assert {page.degraded for page in pages} == {None}

    def query_here(text: str) -> Any:
        raise FindspotError("EMBEDDING_UNAVAILABLE", "unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(app.embeddings, "query_here", query_here)
        more = await find(app, project, "heron", "hybrid", low_scores=True, cursor=pages[-1].cursor)
        pages += await read_all(app, project, "heron", "hybrid", first=more, low_scores=True)
    assert pages[-1].degraded == UNAVAILABLE
    assert (pages[-1].has_more, pages[-1].total.exact) == (False, False)
    assert len(ids(*pages)) >= 203
    more = await find(app, project, "heron", "hybrid", low_scores=True, cursor=pages[-1].cursor)
    pages += await read_all(app, project, "heron", "hybrid", first=more, low_scores=True)
    assert len(ids(*pages)) == len(set(ids(*pages))) == 303
    last = pages[-1]
    assert (last.degraded, last.total) == (None, Total(303, exact=True))
    first = await find(app, project, "heron", "hybrid", page=1, low_scores=True, cursor=pages[0].cursor)
    assert (first.degraded, ids(first)) == (None, ids(pages[0]))


# ── deadlines, rebuilds and limits ──


@pytest.mark.one_database
async def test_hits_ranked_before_the_deadline_are_returned_and_the_next_page_goes_on(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_herons(app, project, 130)
    monkeypatch.setattr(recall, "CANDIDATES", 20)
    first = await find(app, project, "heron")
    engine = flows.watched(app)

    def late(*arguments: Any, limit: int, **more: Any) -> Any:
        if limit > 80:
            raise FindspotError("SEARCH_TIMEOUT", "late")
        return engine.engine.recall(*arguments, limit=limit, **more)

    engine.instead["recall"] = late
    second = await find(app, project, "heron", cursor=first.cursor)
    third = await find(app, project, "heron", cursor=second.cursor)
    assert [(page.offset, len(page.results)) for page in (first, second, third)] == [(0, 20), (20, 50), (70, 10)]
    assert third.has_more
    with pytest.raises(FindspotError, match="late"):
        await find(app, project, "heron", cursor=third.cursor)
    engine.instead.clear()
    fourth = await find(app, project, "heron", cursor=third.cursor)
    pages = [first, second, third, *await read_all(app, project, "heron", "fts", first=fourth)]
    assert len(ids(*pages)) == len(set(ids(*pages))) == 130
    again = await find(app, project, "heron", page=3, cursor=first.cursor)
    assert ids(again) == ids(third)


@pytest.mark.scenario("004.matrix.reindex-during-query")
async def test_the_old_index_answers_during_a_rebuild(app: App, project: int) -> None:
    await make_herons(app, project, 200)
    async with flows.held_rebuild(app, documents_namespace(project)):
        page = await find(app, project, "heron")
        assert (len(page.results), page.index.state) == (PAGE_SIZE, "rebuilding")
    page = await find(app, project, "heron")
    assert (len(page.results), page.index.state) == (PAGE_SIZE, "ready")


@pytest.mark.one_database
@pytest.mark.scenario("004.concurrency.sixty-four", "004.concurrency.back-pressure")
@pytest.mark.one_process  # apps of one test do not count together
async def test_searches_over_the_limit_are_refused_immediately(app: App, project: int, document: Any) -> None:
    answers = await asyncio.gather(
        *(find(app, project, f"pool {number}", "hybrid", low_scores=True) for number in range(120)),
        return_exceptions=True,
    )
    refused = [each for each in answers if isinstance(each, FindspotError)]
    assert {each.code for each in refused} == {"SEARCH_BACKPRESSURE"}
    assert {each.fields["retryAfterMs"] for each in refused} == {200}
    assert len(answers) - len(refused) == SEARCHES
    assert all(each.results for each in answers if isinstance(each, Page))
    for _ in range(SEARCHES + 1):  # a search that failed frees its slot
        with pytest.raises(FindspotError, match="cursor"):
            await find(app, project, "pool", cursor="nothing.2")
    assert (await find(app, project, "pool")).results
