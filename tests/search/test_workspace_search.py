"""Workspace search: what a page shows, how it is ranked, how one reads on, and how it degrades."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App
from findspot.engines.protocol import Damaged
from findspot.errors import FindspotError
from findspot.indexing.status import Problem
from findspot.runtime.limits import SEARCHES
from findspot.search import Degradation, Page, SearchRequest, Strategy, Total, candidates, recall
from findspot.search.candidates import MAX_CANDIDATES
from findspot.search.paging import PAGE_SIZE
from findspot.search.recall import CANDIDATES
from findspot.store.schema import chunks, documents, index_states
from tests import flows
from tests.flows import PARAGRAPHS, Telling, find, make_document, make_project, save, settle, text_of

pytestmark = pytest.mark.telling


@pytest.fixture
async def document(app: App, project: int) -> Any:
    made = await make_document(app, project, *PARAGRAPHS)
    await settle(app)
    return made


def texts(page: Page) -> list[str]:
    return [each.found.chunk.text for each in page.results]


async def age(app: App, document_id: int, days: float) -> None:
    """Have a document changed last so many days ago."""
    moment = datetime.now(UTC) - timedelta(days=days)
    async with app.store.write() as connection:
        query = sa.update(documents).where(documents.c.id == document_id)
        await connection.execute(query.values(updated_at=moment))


# ── what is found, and what is shown of it ──


@pytest.mark.scenario("004.fts")
async def test_a_result_says_where_it_stands_and_what_matched(app: App, project: int, document: Any) -> None:
    text = await text_of(app, document.id)
    for strategy in Strategy:
        for query, marked in (("swimming pools", ["swimming", "pool"]), ("图书馆", ["圖書館"]), ("停車場", ["停车场"])):
            best = (await find(app, project, query, strategy, low_scores=True)).results[0]
            if strategy is not Strategy.VECTOR:
                assert [best.snippet[start:end] for start, end in best.highlights] == marked
            assert text[best.start : best.end] == best.snippet
            assert (best.found.title, best.found.type, best.found.chunk.document_id) == ("t", "document", document.id)


async def test_a_long_paragraph_is_capped_around_the_place_where_most_words_stand(app: App, project: int) -> None:
    filler = "Nothing of note happened on the coast that day. " * 6
    await make_document(app, project, f"A lantern. {filler}The keeper lit the old lantern in the tower. {filler}")
    await make_document(app, project, "港口很安静。" * 40 + "守夜人点亮了旧灯塔的灯笼。" + "海面没有风。" * 40)
    await settle(app)
    (result,) = (await find(app, project, "lantern keeper")).results
    assert "The keeper lit the old lantern in the tower." in result.snippet
    assert result.snippet[0].isupper()
    assert result.snippet.endswith(".")
    assert [result.snippet[start:end] for start, end in result.highlights] == ["keeper", "lantern"]
    (result,) = (await find(app, project, "旧灯塔")).results
    assert "守夜人点亮了旧灯塔的灯笼。" in result.snippet
    assert result.snippet.endswith("。")
    assert len(result.snippet) <= 240


@pytest.mark.scenario("004.fts")
@pytest.mark.parametrize("strategy", ["fts", "hybrid"])
async def test_queries_are_read_as_people_type_them(app: App, project: int, document: Any, strategy: str) -> None:
    assert texts(await find(app, project, '"swimming pool"', strategy)) == [PARAGRAPHS[3]]
    assert texts(await find(app, project, '"pool swimming"', strategy)) == []
    assert texts(await find(app, project, "「免費辦理」", strategy)) == [PARAGRAPHS[2]]
    assert PARAGRAPHS[4] not in texts(await find(app, project, "library -pool", strategy))
    for typed in ("swi", "swimm", "swimmin"):
        assert texts(await find(app, project, typed, strategy, typing=True))[0] == PARAGRAPHS[3]
    assert texts(await find(app, project, "swi", "fts")) == []


@pytest.mark.parametrize("strategy", list(Strategy))
async def test_any_text_is_a_query(app: App, project: int, document: Any, strategy: Strategy) -> None:
    for query in (
        "the",
        "的",
        "-",
        '"',
        "-pool",
        "!?…",
        "🚗",
        "e\u0301",
        "\0",
        "AND OR NOT *:?",
        "「」",
        "",
        " \u3000",
    ):
        page = await find(app, project, query, strategy)
        assert page.degraded is None, query
        assert page.total.count >= len(page.results)
    assert (await find(app, project, "  ", strategy)).results == ()


async def test_a_search_can_be_kept_to_some_documents(app: App, project: int, document: Any) -> None:
    other = await make_document(app, project, "Another library")
    await settle(app)
    for strategy in Strategy:
        found = await find(app, project, "library", strategy, document_ids=frozenset({other.id}))
        assert (texts(found), found.total.count) == (["Another library"], 1)
        assert texts(await find(app, project, "library", strategy, document_ids=frozenset())) == []


async def test_a_project_sees_only_its_own_documents(app: App, project: int, document: Any) -> None:
    stranger = await make_project(app, "other")
    for strategy in Strategy:
        assert (await find(app, stranger, "library", strategy)).results == ()
        named = await find(app, stranger, "library", strategy, document_ids=frozenset({document.id}))
        assert named.results == ()
    page = await find(app, project, "library")
    with pytest.raises(FindspotError, match="cursor"):
        await find(app, stranger, "library", cursor=page.cursor)


@pytest.mark.scenario("D28")
async def test_a_name_in_every_chapter_is_shown_for_every_chapter(app: App, project: int) -> None:
    for number in range(60):
        await make_document(app, project, f"第{number}章，林远走进了第{number}号房间。")
    await make_document(app, project, "森林很遠。")
    await settle(app)
    for strategy in ("fts", "hybrid"):
        first = await find(app, project, "林远", strategy)
        second = await find(app, project, "林远", strategy, cursor=first.cursor)
        found = [*texts(first), *texts(second)]
        assert (len(first.results), first.total.count, first.has_more, second.has_more) == (50, 60, True, False)
        assert len(set(found)) == 60
        assert all("林远" in each for each in found)


# ── ranking ──


@pytest.mark.scenario("004.fts.by-relevance", "004.embedding.similarity")
async def test_parts_add_up_and_each_strategy_has_its_own(app: App, project: int, document: Any) -> None:
    for strategy in Strategy:
        page = await find(app, project, "library pool", strategy, low_scores=True)
        scores = [each.score for each in page.results]
        assert len(scores) > 2
        assert [score.total for score in scores] == sorted((score.total for score in scores), reverse=True)
        for score in scores:
            assert f"{score.keyword + score.vector + score.recency:.6f}" == f"{score.total:.6f}"
        parts = [any(score[place] > 0 for score in scores) for place in range(3)]
        assert parts == {"fts": [1, 0, 0], "semantic": [0, 1, 0], "hybrid": [1, 1, 1]}[strategy]


@pytest.mark.scenario("004.ranking.dedupe", "D28")
async def test_a_hit_of_one_leg_still_gets_the_score_of_the_other(app: App, project: int, document: Any) -> None:
    page = await find(app, project, "closed library", "hybrid", low_scores=True)
    whole = {each.found.chunk.text: each.score for each in page.results}
    assert whole[PARAGRAPHS[2]].keyword == 0  # found by its vector alone, and that is zero for these words
    by_words = await find(app, project, "closed library", "fts")
    assert {text for text, score in whole.items() if score.keyword > 0} == set(texts(by_words))
    assert all(whole[text].vector > 0 for text in texts(by_words))


@pytest.mark.scenario("004.ranking.ties")
async def test_the_newer_of_two_equal_hits_comes_first_then_the_smaller_id(app: App, project: int) -> None:
    made = [await make_document(app, project, "A heron stands in the reeds") for _ in range(4)]
    await settle(app)
    await age(app, made[0].id, 2)
    await age(app, made[2].id, 1)
    async with app.store.write() as connection:  # the last two at one moment
        moment = datetime.now(UTC)
        some = sa.update(documents).where(documents.c.id.in_([made[1].id, made[3].id]))
        await connection.execute(some.values(updated_at=moment))
    page = await find(app, project, "heron", "fts")
    assert [each.found.chunk.document_id for each in page.results] == [made[place].id for place in (1, 3, 2, 0)]


@pytest.mark.scenario("004.ranking.low-scores-hidden")
async def test_low_scores_are_hidden_in_hybrid_unless_they_are_asked_for(app: App, project: int, document: Any) -> None:
    asked = "library nonsense gibberish twaddle balderdash"
    shown = await find(app, project, asked, "hybrid")
    everything = await find(app, project, asked, "hybrid", low_scores=True)
    assert len(shown.results) < len(everything.results)
    assert all(each.score.total >= 0.25 for each in shown.results)
    assert min(each.score.total for each in everything.results) < 0.25
    assert shown.total.count == len(shown.results)
    assert min(each.score.total for each in (await find(app, project, asked, "fts")).results) < 0.25


async def test_what_was_changed_lately_ranks_before_what_is_old(app: App, project: int) -> None:
    old, new = [await make_document(app, project, "The ferry crosses the bay") for _ in range(2)]
    await settle(app)
    await age(app, old.id, 300)
    page = await find(app, project, "ferry bay", "hybrid")
    assert [each.found.chunk.document_id for each in page.results] == [new.id, old.id]
    assert page.results[0].score.recency == pytest.approx(0.1, abs=1e-4)
    assert page.results[1].score.recency == pytest.approx(0.1 * 0.5**10, abs=1e-4)


# ── reading on ──


async def many(app: App, project: int, count: int, of: int = 250) -> list[int]:
    """Documents with so many paragraphs in all that speak of herons."""
    made = []
    for first in range(0, count, of):
        paragraphs = [f"Heron number {number} of many" for number in range(first, min(first + of, count))]
        made.append((await make_document(app, project, *paragraphs)).id)
    await settle(app)
    return made


async def read_on(app: App, project: int, query: str, strategy: str, between: Any = None) -> list[Page]:
    pages = [await find(app, project, query, strategy)]
    while pages[-1].has_more:
        if between is not None:
            await between(len(pages))
        pages.append(await find(app, project, query, strategy, cursor=pages[-1].cursor))
        assert len(pages) < 500
    return pages


@pytest.mark.scenario("004.ranking.fifty-a-page", "D29")
@pytest.mark.parametrize("strategy", list(Strategy))
async def test_pages_hold_every_hit_once_in_one_order(app: App, project: int, strategy: Strategy) -> None:
    await many(app, project, 730)
    pages = await read_on(app, project, "heron", strategy)
    ids = [each.found.chunk.id for page in pages for each in page.results]
    assert len(ids) == len(set(ids)) == 730
    assert [len(page.results) for page in pages] == [50] * 14 + [30]
    assert [page.page for page in pages] == list(range(1, 16))
    assert {page.total.count for page in pages} == {730}
    again = await find(app, project, "heron", strategy, page=3, cursor=pages[0].cursor)
    assert [each.found.chunk.id for each in again.results] == [each.found.chunk.id for each in pages[2].results]
    direct = await find(app, project, "heron", strategy, page=15)
    assert (len(direct.results), direct.has_more) == (30, False)
    assert (await find(app, project, "heron", strategy, page=99)).results == ()


@pytest.mark.scenario("004.ranking.keyword-recall", "004.ranking.semantic-recall")
async def test_a_first_page_ranks_two_hundred_of_each_leg_and_the_next_goes_on_from_there(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert CANDIDATES == 200
    await many(app, project, 130)
    monkeypatch.setattr(recall, "CANDIDATES", 20)
    recalled: list[int] = []

    def noted(*arguments: Any, limit: int, **more: Any) -> Any:
        recalled.append(limit)
        return flows.watched(app).engine.recall(*arguments, limit=limit, **more)

    flows.watched(app).instead["recall"] = noted
    first = await find(app, project, "heron", "fts")
    assert (len(first.results), first.has_more, first.total.count, recalled) == (20, True, 130, [20])
    pages = await read_on(app, project, "heron", "fts")
    assert [len(page.results) for page in pages] == [20, 50, 50, 10]
    assert len({each.found.chunk.id for page in pages for each in page.results}) == 130
    assert set(recalled) == {20, 80, 320}


@pytest.mark.scenario("D29")
@pytest.mark.one_database
async def test_no_hit_comes_twice_and_none_is_missing_while_documents_change(app: App, project: int) -> None:
    """Five thousand hits, read to the end, while paragraphs are added, moved, changed and deleted."""
    made = await many(app, project, 5000, of=500)
    async with app.store.read() as connection:
        before = {row.id for row in await connection.execute(sa.select(chunks.c.id))}

    async def meddle(page: int) -> None:
        if page % 3:
            return
        document_id = made[page % 8]
        kept = (await text_of(app, document_id)).split("\n")
        paragraphs = [each for each in kept if each]
        paragraphs[page % len(paragraphs)] = f"Heron, changed on page {page}"
        await save(app, document_id, f"Heron, added on page {page}", *paragraphs)
        if page == 60:
            await app.documents.delete(made[9])
        if page % 9 == 0:
            await settle(app)

    pages = await read_on(app, project, "heron", "hybrid", meddle)
    ids = [each.found.chunk.id for page in pages for each in page.results]
    assert len(ids) == len(set(ids))
    async with app.store.read() as connection:
        after = {row.id for row in await connection.execute(sa.select(chunks.c.id))}
    assert (before & after) - set(ids) == set()
    assert pages[0].total.count == 5000


@pytest.mark.scenario("004.matrix.too-many-candidates", "004.capacity.candidates", "D15")
async def test_more_than_ten_thousand_candidates_are_cut_and_the_answer_says_so(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MAX_CANDIDATES", 300)
    await many(app, project, 400)
    for strategy in Strategy:
        first = await find(app, project, "heron", strategy)
        assert first.total == Total(300, exact=False)
        pages = await read_on(app, project, "heron", strategy)
        assert sum(len(page.results) for page in pages) == 300
        assert (pages[-1].total, pages[-1].has_more) == (Total(300, exact=False), False)
    assert MAX_CANDIDATES == 10_000


async def test_a_cursor_is_good_for_its_own_search_and_five_minutes(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await many(app, project, 60)
    page = await find(app, project, "heron")
    for wrong in ("", "nonsense", "x.2", page.cursor.replace(".2", ".x"), page.cursor.replace(".2", ".0")):
        if wrong:
            with pytest.raises(FindspotError, match="cursor"):
                await find(app, project, "heron", cursor=wrong)
    with pytest.raises(FindspotError, match="another search"):
        await find(app, project, "crane", cursor=page.cursor)
    with pytest.raises(FindspotError, match="another search"):
        await find(app, project, "heron", "hybrid", cursor=page.cursor)
    assert len((await find(app, project, "heron", cursor=page.cursor)).results) == 10


async def test_two_who_read_on_at_once_get_the_same(app: App, project: int) -> None:
    await many(app, project, 600)
    first = await find(app, project, "heron", "hybrid")
    pages = await asyncio.gather(
        *(find(app, project, "heron", "hybrid", page=number, cursor=first.cursor) for number in (9, 5, 9, 12))
    )
    shown = [[each.found.chunk.id for each in page.results] for page in pages]
    assert shown[0] == shown[2]
    assert not set(shown[0]) & set(shown[1])
    assert [len(each) for each in shown] == [50, 50, 50, 50]


# ── what is there now ──


async def hold(app: App) -> None:
    """Let the index follow nothing from here on."""
    await settle(app)
    await app.index_worker.close()


async def test_a_save_that_the_index_has_not_followed_still_shows_exact_places(
    app: App, project: int, document: Any
) -> None:
    await hold(app)
    kept = [*PARAGRAPHS[:3], *PARAGRAPHS[4:]]
    await save(app, document.id, "A new beginning 新的开头", *kept)
    await save(app, document.id, "Another beginning", "and a second one", *kept)
    text = await text_of(app, document.id)
    page = await find(app, project, "library pool")
    assert PARAGRAPHS[3] not in texts(page)  # it is gone, though the index does not know
    assert set(texts(page)) == {PARAGRAPHS[0], PARAGRAPHS[1], PARAGRAPHS[4]}
    for each in page.results:
        assert text[each.start : each.end] == each.snippet


async def test_a_deleted_document_is_not_shown(app: App, project: int, document: Any) -> None:
    page = await find(app, project, "library")
    await hold(app)
    await app.documents.delete(document.id)
    assert (await find(app, project, "library")).results == ()
    assert (await find(app, project, "library", page=1, cursor=page.cursor)).results == ()


@pytest.mark.scenario("004.matrix.illegal-offsets")
async def test_a_chunk_with_illegal_offsets_is_not_shown_and_made_anew(app: App, project: int, document: Any) -> None:
    await hold(app)
    async with app.store.write() as connection:
        broken = sa.update(chunks).where(chunks.c.chunk_index == 3).values(char_end=chunks.c.char_end + 1000)
        await connection.execute(broken)
    assert PARAGRAPHS[3] not in texts(await find(app, project, "swimming pool"))
    await app.index_worker.start()

    async def is_repaired() -> bool:
        return PARAGRAPHS[3] in texts(await find(app, project, "swimming pool"))

    await flows.until(app, is_repaired)


# ── degrading ──


@pytest.mark.scenario("004.embedding.unavailable")
@pytest.mark.parametrize("code", ["EMBEDDING_UNAVAILABLE", "EMBEDDING_DIMENSION_MISMATCH"])
@pytest.mark.parametrize("strategy", ["semantic", "hybrid"])
async def test_without_an_embedder_words_answer_and_the_answer_says_so(
    app: App, project: int, document: Any, embedder: Telling, code: str, strategy: str
) -> None:
    embedder.query_error = FindspotError(code, "not now")
    page = await find(app, project, "swimming pool", strategy, low_scores=True)
    assert texts(page) == [PARAGRAPHS[3], PARAGRAPHS[4]]
    assert page.degraded == Degradation(code)
    best = page.results[0].score
    assert best.vector == 0
    assert best.total >= 0.25
    if strategy == "hybrid":
        assert best.recency == pytest.approx(0.1 / 0.65, abs=1e-4)
    plain = await find(app, project, "swimming pool", "fts")
    assert plain.degraded is None


async def test_an_embedder_of_another_length_is_left_out(
    app: App, project: int, document: Any, embedder: Telling
) -> None:
    embedder.dimension = 32
    for strategy in ("semantic", "hybrid"):
        page = await find(app, project, "pool", strategy)
        assert (page.degraded, len(page.results)) == (Degradation("EMBEDDING_DIMENSION_MISMATCH"), 2)


@pytest.mark.scenario("004.acceptance.timeout-visible", "004.matrix.embedder-timeout")
@pytest.mark.parametrize("strategy", ["semantic", "hybrid"])
async def test_a_slow_embedder_costs_the_meaning_and_not_the_answer(
    app: App, project: int, document: Any, embedder: Telling, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    released = threading.Event()

    def slow(text: str) -> Any:
        released.wait(flows.PATIENCE_S)
        return embedder._vector(text)

    monkeypatch.setattr(embedder, "query", slow)
    page = await find(app, project, "pool", strategy, timeout_s=0.05)
    released.set()
    assert page.degraded == Degradation("SEARCH_TIMEOUT")
    assert set(texts(page)) == {PARAGRAPHS[3], PARAGRAPHS[4]}
    assert SearchRequest(1, "x").timeout_s == 5.0


async def test_words_are_found_while_50_searches_wait_for_the_embedder(
    app: App, project: int, document: Any, embedder: Telling, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = threading.Event()

    def slow(text: str) -> Any:
        assert opened.wait(flows.PATIENCE_S)
        return embedder._vector(text)

    monkeypatch.setattr(embedder, "query", slow)
    waiting = [
        asyncio.create_task(find(app, project, f"pool {number}", "hybrid", timeout_s=flows.PATIENCE_S))
        for number in range(50)
    ]
    try:
        async with asyncio.timeout(flows.PATIENCE_S / 2):
            for query in ("pool", "图书馆", '"swimming pool" -library'):
                assert (await find(app, project, query)).results
        assert not any(each.done() for each in waiting)
    finally:
        opened.set()
        pages = await asyncio.gather(*waiting)
    assert {page.degraded for page in pages} == {None}


async def test_an_embedder_that_goes_and_comes_back_in_the_middle_of_500_searches(
    app: App, project: int, document: Any, embedder: Telling
) -> None:
    """When it is back, it is noticed in a moment; until then, the answers go on saying why they are by words."""
    for number in range(500):
        away = 150 <= number < 350
        embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "away") if away else None
        page = await find(app, project, "pool" + "?" * number, "hybrid")  # each is embedded anew
        if number == 350:
            async with asyncio.timeout(flows.PATIENCE_S):
                while page.degraded is not None:
                    assert page.degraded == Degradation("EMBEDDING_UNAVAILABLE")
                    assert page.results
                    page = await find(app, project, "pool" + "?" * number, "hybrid")
        assert page.results
        assert page.degraded == (Degradation("EMBEDDING_UNAVAILABLE") if away else None), number


@pytest.mark.scenario("004.fts.damaged-index")
async def test_a_damaged_index_is_said_to_be_rebuilt_and_is(app: App, project: int, document: Any) -> None:
    def damaged(*_: Any, **__: Any) -> Any:
        raise Damaged("a file is gone")

    for call in ("recall", "status"):
        flows.watched(app).instead[call] = damaged
        with pytest.raises(FindspotError) as caught:
            await find(app, project, "pool", "hybrid")
        assert caught.value.code == "INDEX_REBUILDING"
        assert caught.value.fields["retryAfterMs"] > 0
        flows.watched(app).instead.clear()
        await settle(app)
    assert (await find(app, project, "pool", "hybrid")).results


@pytest.mark.scenario("004.matrix.reindex-during-query")
async def test_the_old_index_answers_while_another_is_built(app: App, project: int, embedder: Telling) -> None:
    await many(app, project, 300)
    app.index_status.report(SearchRequest(project, "x").namespace, Problem.WRONG_FINGERPRINT)
    seen = 0
    while not await app.index_status.is_at_rest():
        page = await find(app, project, "heron")
        assert len(page.results) == PAGE_SIZE
        seen += page.rebuilding
    assert seen
    assert not (await find(app, project, "heron")).rebuilding


@pytest.mark.scenario("004.concurrency.sixty-four", "004.concurrency.back-pressure")
async def test_one_search_too_many_is_refused_at_once(app: App, project: int, document: Any) -> None:
    answers = await asyncio.gather(
        *(find(app, project, f"pool {number}", "hybrid") for number in range(120)), return_exceptions=True
    )
    refused = [each for each in answers if isinstance(each, FindspotError)]
    assert {each.code for each in refused} == {"SEARCH_BACKPRESSURE"}
    assert {each.fields["retryAfterMs"] for each in refused} == {200}
    assert len(answers) - len(refused) == SEARCHES
    assert all(each.results for each in answers if isinstance(each, Page))


async def test_a_search_that_is_over_leaves_its_place_free(app: App, project: int, document: Any) -> None:
    for _ in range(SEARCHES + 1):
        with pytest.raises(FindspotError, match="cursor"):
            await find(app, project, "pool", cursor="nothing.2")
    assert (await find(app, project, "pool")).results
    async with app.store.read() as connection:
        assert (await connection.execute(sa.select(index_states.c.status).distinct())).scalars().all() == ["ready"]
