"""Workspace search: ranking, pages, cursors, and what happens without vectors, without time and in a rebuild."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App
from findspot.errors import FindspotError
from findspot.models import documents_namespace
from findspot.runtime.limits import SEARCHES
from findspot.search import Degradation, Page, SearchRequest, Strategy, Total, candidates, recall
from findspot.search.request import PAGE_SIZE
from findspot.store.schema import chunks, documents
from tests import flows
from tests.flows import PARAGRAPHS, FakeEmbedder, find, make_document, make_project, save, settle, text_of

pytestmark = pytest.mark.fake_embedder

UNAVAILABLE = Degradation("EMBEDDING_UNAVAILABLE")


@pytest.fixture
async def document(app: App, project: int) -> Any:
    made = await make_document(app, project, *PARAGRAPHS)
    await settle(app)
    return made


def texts(*pages: Page) -> list[str]:
    return [each.found.chunk.text for page in pages for each in page.results]


def ids(*pages: Page) -> list[int]:
    return [each.found.chunk.id for page in pages for each in page.results]


async def set_age(app: App, document_id: int, days: float) -> None:
    updated_at = datetime.now(UTC) - timedelta(days=days)
    async with app.store.write() as connection:
        query = sa.update(documents).where(documents.c.id == document_id)
        await connection.execute(query.values(updated_at=updated_at))


async def make_herons(app: App, project: int, count: int, per_document: int = 250) -> list[int]:
    """Make documents with this many paragraphs about herons."""
    made = []
    for first in range(0, count, per_document):
        paragraphs = [f"Heron number {number} of many" for number in range(first, min(first + per_document, count))]
        made.append((await make_document(app, project, *paragraphs)).id)
    await settle(app)
    return made


async def read_all(
    app: App, project: int, query: str, strategy: str, *, first: Page | None = None, between: Any = None, **more: Any
) -> list[Page]:
    """Read every page, or every page after `first`."""
    pages = [first or await find(app, project, query, strategy, **more)]
    while pages[-1].has_more:
        if between is not None:
            await between(len(pages))
        pages.append(await find(app, project, query, strategy, cursor=pages[-1].cursor, **more))
        assert len(pages) < 500
    return pages


# ── queries ──


@pytest.mark.one_database
@pytest.mark.scenario("004.fts")
async def test_phrases_exclusions_and_incomplete_words_are_understood(app: App, project: int, document: Any) -> None:
    for strategy in ("fts", "hybrid"):
        assert texts(await find(app, project, '"swimming pool"', strategy)) == [PARAGRAPHS[3]]
        assert texts(await find(app, project, "「免費辦理」", strategy)) == [PARAGRAPHS[2]]
        assert PARAGRAPHS[4] not in texts(await find(app, project, "library -pool", strategy))
        for typed in ("swi", "swimm", "swimmin"):
            assert texts(await find(app, project, typed, strategy, typing=True))[0] == PARAGRAPHS[3]
    assert texts(await find(app, project, "swi", "fts")) == []


@pytest.mark.scenario("D42")
@pytest.mark.one_database
async def test_a_phrase_that_no_passage_has_is_searched_for_without_quotes(
    app: App, project: int, document: Any
) -> None:
    for strategy in ("fts", "hybrid"):
        page = await find(app, project, '"pool swimming"', strategy)
        assert texts(page)[0] == PARAGRAPHS[3]
        assert page.without_phrases
        again = await find(app, project, '"pool swimming"', strategy, page=1, cursor=page.cursor)
        assert (texts(again), again.without_phrases) == (texts(page), True)
        page = await find(app, project, "「辦理免費」 -pool", strategy)
        assert (texts(page), page.without_phrases) == ([PARAGRAPHS[2]], True)
        page = await find(app, project, '"swimming pool"', strategy)
        assert (texts(page), page.without_phrases) == ([PARAGRAPHS[3]], False)
        page = await find(app, project, '"zebra xylophone"', "fts")
        assert (texts(page), page.without_phrases) == ([], False)


@pytest.mark.one_database
async def test_chinese_without_spaces_ranks_like_chinese_with_spaces(app: App, project: int) -> None:
    await make_document(app, project, "林黛玉在园中葬花。", "紫玉葬于城外。", "林黛玉看花。", "寶玉見林黛玉葬花 🌸")
    await settle(app)
    for strategy in ("fts", "hybrid"):
        apart = texts(await find(app, project, "林黛玉 葬花", strategy))
        assert set(apart[:2]) == {"林黛玉在园中葬花。", "寶玉見林黛玉葬花 🌸"}
        for query in ("林黛玉葬花", "林黛玉葬花了吗", "怎么林黛玉葬花"):
            page = await find(app, project, query, strategy)
            assert set(texts(page)[:2]) == set(apart[:2]), query
            first = next(each for each in page.results if each.snippet.startswith("林黛玉在"))
            assert [first.snippet[start:end] for start, end in first.highlights] == ["林黛玉", "葬花"]


@pytest.mark.one_database
async def test_any_text_is_a_valid_query(app: App, project: int, document: Any) -> None:
    odd = ("the", "的", "-", '"', "-pool", "🚗", "e\u0301", "\0", "AND OR NOT *:?", "「」")
    long = ('"a" ' * 25_000, "-b " * 300_000, "old lighthouse " + "「灯」" * 5_000, "x" * 900_000)
    for strategy in Strategy:
        for query in (*odd, *long):
            page = await find(app, project, query, strategy)
            assert page.degraded is None, query[:20]
            assert page.total.count >= len(page.results)
        for query in ("", " \u3000", "。。。", " \n", "?!", "…—"):
            page = await find(app, project, query, strategy, low_scores=True)
            assert (page.results, page.total, page.has_more) == ((), Total(0, exact=True), False)


@pytest.mark.one_database
async def test_a_search_finds_only_documents_of_its_project_and_of_its_filter(
    app: App, project: int, document: Any
) -> None:
    other = await make_document(app, project, "Another library")
    await settle(app)
    stranger = await make_project(app, "other")
    for strategy in Strategy:
        found = await find(app, project, "library", strategy, document_ids=frozenset({other.id}))
        assert (texts(found), found.total.count) == (["Another library"], 1)
        assert texts(await find(app, project, "library", strategy, document_ids=frozenset())) == []
        assert texts(await find(app, stranger, "library", strategy)) == []
        named = await find(app, stranger, "library", strategy, document_ids=frozenset({document.id}))
        assert named.results == ()
    page = await find(app, project, "library")
    with pytest.raises(FindspotError, match="cursor"):
        await find(app, stranger, "library", cursor=page.cursor)


@pytest.mark.one_database
@pytest.mark.scenario("D28")
async def test_a_name_in_every_chapter_is_found_in_every_chapter(app: App, project: int) -> None:
    for number in range(60):
        await make_document(app, project, f"第{number}章，林远走进了第{number}号房间。")
    await make_document(app, project, "森林很遠。")
    await settle(app)
    for strategy in ("fts", "hybrid"):
        pages = await read_all(app, project, "林远", strategy)
        assert [len(page.results) for page in pages] == [50, 10]
        assert pages[0].total.count == 60
        assert len(set(texts(*pages))) == 60
        assert all("林远" in each for each in texts(*pages))


# ── ranking ──


@pytest.mark.one_database
@pytest.mark.scenario("004.fts.by-relevance", "004.embedding.similarity")
async def test_the_shares_of_a_score_add_up_and_depend_on_the_strategy(app: App, project: int, document: Any) -> None:
    for strategy in Strategy:
        page = await find(app, project, "library pool", strategy, low_scores=True)
        scores = [each.score for each in page.results]
        assert len(scores) > 2
        assert [score.total for score in scores] == sorted((score.total for score in scores), reverse=True)
        for score in scores:
            assert f"{score.keyword + score.vector + score.recency:.6f}" == f"{score.total:.6f}"
        parts = [any(score[place] > 0 for score in scores) for place in range(3)]
        assert parts == {"fts": [1, 0, 0], "semantic": [0, 1, 0], "hybrid": [1, 1, 1]}[strategy]


@pytest.mark.one_database
@pytest.mark.scenario("004.ranking.dedupe", "D28")
async def test_a_hit_of_one_leg_also_gets_the_score_of_the_other(app: App, project: int, document: Any) -> None:
    page = await find(app, project, "closed library", "hybrid", low_scores=True)
    scores = {each.found.chunk.text: each.score for each in page.results}
    assert scores[PARAGRAPHS[2]].keyword == 0  # found by its vector alone, whose cosine is zero for these words
    by_keyword = await find(app, project, "closed library", "fts")
    assert {text for text, score in scores.items() if score.keyword > 0} == set(texts(by_keyword))
    assert all(scores[text].vector > 0 for text in texts(by_keyword))


@pytest.mark.scenario("004.ranking.ties")
async def test_of_equal_hits_the_newer_comes_first_then_the_smaller_id(app: App, project: int) -> None:
    made = [await make_document(app, project, "A heron stands in the reeds") for _ in range(4)]
    await settle(app)
    await set_age(app, made[0].id, 2)
    await set_age(app, made[2].id, 1)
    async with app.store.write() as connection:  # the other two at the same time
        some = sa.update(documents).where(documents.c.id.in_([made[1].id, made[3].id]))
        await connection.execute(some.values(updated_at=datetime.now(UTC)))
    page = await find(app, project, "heron", "fts", duplicates=True)
    assert [each.found.chunk.document_id for each in page.results] == [made[place].id for place in (1, 3, 2, 0)]


@pytest.mark.one_database
@pytest.mark.scenario("004.ranking.low-scores-hidden")
async def test_hybrid_search_hides_low_scores_unless_asked_for(app: App, project: int, document: Any) -> None:
    query = "library nonsense gibberish twaddle balderdash"
    shown = await find(app, project, query, "hybrid")
    everything = await find(app, project, query, "hybrid", low_scores=True)
    assert len(shown.results) < len(everything.results)
    assert all(each.score.total >= 0.25 for each in shown.results)
    assert min(each.score.total for each in everything.results) < 0.25
    assert shown.total.count == len(shown.results)
    assert min(each.score.total for each in (await find(app, project, query, "fts")).results) < 0.25


@pytest.mark.one_database
async def test_a_recent_change_ranks_before_an_old_one(app: App, project: int) -> None:
    old, new = [await make_document(app, project, "The ferry crosses the bay") for _ in range(2)]
    await settle(app)
    await set_age(app, old.id, 300)
    page = await find(app, project, "ferry bay", "hybrid", duplicates=True)
    assert [each.found.chunk.document_id for each in page.results] == [new.id, old.id]
    assert page.results[0].score.recency == pytest.approx(0.1, abs=1e-4)
    assert page.results[1].score.recency == pytest.approx(0.1 * 0.5**10, abs=1e-4)
    await set_age(app, new.id, 600)  # the next search sees every change of a date
    page = await find(app, project, "ferry bay", "hybrid", duplicates=True)
    assert [each.found.chunk.document_id for each in page.results] == [old.id, new.id]


# ── pages ──


@pytest.mark.one_database
@pytest.mark.scenario("004.ranking.fifty-a-page", "D29")
async def test_pages_contain_every_hit_once_in_one_order(app: App, project: int) -> None:
    await make_herons(app, project, 730)
    for strategy in Strategy:
        pages = await read_all(app, project, "heron", strategy)
        assert len(ids(*pages)) == len(set(ids(*pages))) == 730
        assert [len(page.results) for page in pages] == [50] * 14 + [30]
        assert [page.page for page in pages] == list(range(1, 16))
        assert {page.total.count for page in pages} == {730}
        again = await find(app, project, "heron", strategy, page=3, cursor=pages[0].cursor)
        assert ids(again) == ids(pages[2])
        direct = await find(app, project, "heron", strategy, page=15)
        assert (len(direct.results), direct.has_more) == (30, False)
        assert (await find(app, project, "heron", strategy, page=99)).results == ()


@pytest.mark.one_database
@pytest.mark.scenario("004.ranking.keyword-recall", "004.ranking.semantic-recall")
async def test_a_first_page_ranks_200_candidates_per_leg_and_later_pages_more(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recall.CANDIDATES == 200
    await make_herons(app, project, 130)
    monkeypatch.setattr(recall, "CANDIDATES", 20)
    recalled: list[int] = []

    def noted(*arguments: Any, limit: int, **more: Any) -> Any:
        recalled.append(limit)
        return flows.watched(app).engine.recall(*arguments, limit=limit, **more)

    flows.watched(app).instead["recall"] = noted
    first = await find(app, project, "heron", "fts")
    assert (len(first.results), first.has_more, first.total.count, recalled) == (20, True, 130, [20])
    pages = await read_all(app, project, "heron", "fts")
    assert [len(page.results) for page in pages] == [20, 50, 50, 10]
    assert len(set(ids(*pages))) == 130
    assert set(recalled) == {20, 80, 320}


@pytest.mark.one_database
@pytest.mark.scenario("D29")
async def test_paging_repeats_and_misses_no_hit_while_documents_change(app: App, project: int) -> None:
    """While all pages are read, paragraphs are added, moved, changed and deleted."""
    made = await make_herons(app, project, 1500, per_document=150)
    async with app.store.read() as connection:
        before = {row.id for row in await connection.execute(sa.select(chunks.c.id))}

    async def edit(page: int) -> None:
        if page % 3:
            return
        document_id = made[page % 8]
        paragraphs = [each for each in (await text_of(app, document_id)).split("\n") if each]
        paragraphs[page % len(paragraphs)] = f"Heron, changed on page {page}"
        await save(app, document_id, f"Heron, added on page {page}", *paragraphs)
        if page == 18:
            await app.documents.delete(made[9])
        if page % 9 == 0:
            await settle(app)

    pages = await read_all(app, project, "heron", "hybrid", between=edit)
    assert len(ids(*pages)) == len(set(ids(*pages)))
    async with app.store.read() as connection:
        after = {row.id for row in await connection.execute(sa.select(chunks.c.id))}
    assert (before & after) - set(ids(*pages)) == set()
    assert pages[0].total.count == 1500


@pytest.mark.one_database
@pytest.mark.scenario("004.matrix.too-many-candidates", "004.capacity.candidates", "D15")
async def test_candidates_over_the_limit_are_cut_and_the_answer_says_so(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert candidates.MAX_CANDIDATES == 10_000
    monkeypatch.setattr(candidates, "MAX_CANDIDATES", 300)
    await make_herons(app, project, 400)
    for strategy in Strategy:
        pages = await read_all(app, project, "heron", strategy)
        assert pages[0].total == pages[-1].total == Total(300, exact=False)
        assert sum(len(page.results) for page in pages) == 300
        assert (pages[-1].is_capped, pages[-1].has_more) == (True, False)


@pytest.mark.one_database
async def test_a_total_is_exact_or_a_lower_bound(app: App, project: int) -> None:
    await make_herons(app, project, 300)
    await make_document(app, project, *(f"A bird in a tree, number {number}" for number in range(20)))
    await settle(app)
    for query in ("heron", "bird heron", "many tree"):
        pages = await read_all(app, project, query, "hybrid", low_scores=True)
        hits = len(ids(*pages))
        total = pages[0].total
        assert total.count == hits if total.exact else total.count <= hits, query
        assert pages[-1].total == Total(hits, exact=True)
    assert (await find(app, project, "bird", "fts")).total == Total(20, exact=True)


@pytest.mark.one_database
@pytest.mark.local_files
async def test_a_semantic_total_counts_chunks_with_a_vector(app: App, project: int) -> None:
    one = await make_document(app, project, *(f"heron number {number}" for number in range(60)))
    await make_document(app, project, "another heron")
    await settle(app)
    namespace = documents_namespace(project)
    flows.files(app).evict(namespace, [int(id) for id in app.engine.ids(namespace)[:8]])
    page = await find(app, project, "heron", "semantic", document_ids=frozenset({one.id}))
    assert page.total.count == 52
    assert (await find(app, project, "heron", "semantic")).total.count == 53


@pytest.mark.one_database
async def test_pages_that_are_read_at_the_same_time_come_from_one_ranking(app: App, project: int) -> None:
    await make_herons(app, project, 600)
    first = await find(app, project, "heron", "hybrid")
    pages = await asyncio.gather(
        *(find(app, project, "heron", "hybrid", page=number, cursor=first.cursor) for number in (9, 5, 9, 12))
    )
    assert ids(pages[0]) == ids(pages[2])
    assert not set(ids(pages[0])) & set(ids(pages[1]))
    assert [len(page.results) for page in pages] == [50, 50, 50, 50]


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
