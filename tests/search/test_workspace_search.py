"""Workspace search: how queries are understood and hits are ranked."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App
from findspot.errors import FindspotError
from findspot.search import Strategy, Total
from findspot.store.schema import documents
from tests.flows import PARAGRAPHS, find, make_document, make_project, settle
from tests.search.pages import read_all, texts

pytestmark = pytest.mark.fake_embedder


async def set_age(app: App, document_id: int, days: float) -> None:
    updated_at = datetime.now(UTC) - timedelta(days=days)
    async with app.store.write() as connection:
        query = sa.update(documents).where(documents.c.id == document_id)
        await connection.execute(query.values(updated_at=updated_at))


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
