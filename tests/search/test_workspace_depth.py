"""How deep a search looks: passages behind the first two hundred, phrases wherever they stand, and what happens when
time runs out or the embedder goes while someone reads on."""

import time
from typing import Any

import pytest

from findspot.app import App
from findspot.engines.protocol import Recall
from findspot.errors import FindspotError
from findspot.search import Degradation, Page, SearchRequest, Strategy, Total, candidates, recall
from findspot.search.request import MAX_QUERY_LENGTH
from findspot.words.query import LONGEST
from tests import flows
from tests.flows import Telling, find, make_document, settle

pytestmark = pytest.mark.telling


@pytest.fixture
def database_url() -> None:
    """Nothing here depends on the database."""


AWAY = Degradation("EMBEDDING_UNAVAILABLE")


async def read_on(app: App, page: Page, question: SearchRequest) -> list[Page]:
    pages = [page]
    while pages[-1].has_more:
        pages.append(await app.workspace_search.search(question, cursor=pages[-1].cursor))
        assert len(pages) < 100
    return pages


def texts(*pages: Page) -> list[str]:
    return [each.found.chunk.text for page in pages for each in page.results]


# ── every word, wherever ──


@pytest.mark.scenario("D28")
@pytest.mark.parametrize("strategy", ["fts", "hybrid"])
async def test_a_passage_with_every_word_is_shown_though_hundreds_say_one_of_them_more_often(
    app: App, project: int, strategy: str
) -> None:
    both = "harbour " + "in which nothing happened for a long time " * 15 + "keeper"
    两者 = "港口" + "许多年里什么也没有发生过，" * 30 + "看守"
    await make_document(app, project, *(f"harbour harbour harbour {number}" for number in range(250)))
    await make_document(app, project, *(f"keeper keeper keeper {number}" for number in range(250)), both)
    await make_document(app, project, *(f"港口港口港口{number}" for number in range(250)))
    await make_document(app, project, *(f"看守看守看守{number}" for number in range(250)), 两者)
    await settle(app)
    for query, expected in (("harbour keeper", both), ("港口 看守", 两者)):
        question = SearchRequest(project, query, Strategy(strategy))
        pages = await read_on(app, await app.workspace_search.search(question), question)
        place = texts(*pages).index(expected)
        assert strategy == "hybrid" or place == 0
        best = [each for page in pages for each in page.results][place]
        why = await app.explainer.explain(question, best.found.chunk.document_id or 0, best.found.chunk.id)
        assert (why.full_match, why.is_hidden) == (True, False)
        if strategy == "hybrid":
            assert best.score.total == pytest.approx(why.score.total, abs=1e-5)


@pytest.mark.parametrize("typed", ["keeper lighthouses", "keeper lighthou", "lighthouse keepers", "old keep"])
async def test_a_word_that_is_typed_counts_alike_in_search_and_explanation(app: App, project: int, typed: str) -> None:
    await make_document(app, project, "The old keeper of both lighthouses", "A lighthouse has a keeper", "old, kept")
    await settle(app)
    page = await find(app, project, typed, "hybrid", typing=True, low_scores=True)
    assert page.results
    for each in page.results:
        chunk = each.found.chunk
        why = await app.explainer.explain(SearchRequest(project, typed, typing=True), chunk.document_id or 0, chunk.id)
        assert each.score.total == pytest.approx(why.score.total, abs=1e-5)


# ── phrases ──


@pytest.mark.parametrize("strategy", list(Strategy))
async def test_a_phrase_is_found_wherever_it_stands_and_read_once(
    app: App, project: int, strategy: Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a thousand passages with its words are nearer."""
    await make_document(app, project, *(f"keeper of the lamp number {number}" for number in range(900)))
    await make_document(
        app, project, *(f"a long story about something else, lamp keeper {number}" for number in range(9))
    )
    await settle(app)
    judged: list[int] = []
    judge = candidates.rejected

    def noted(query: Any, ids: Any, *more: Any) -> Any:
        judged.extend(ids)
        return judge(query, ids, *more)

    monkeypatch.setattr(candidates, "rejected", noted)
    page = await find(app, project, '"lamp keeper"', strategy)
    assert len(texts(page)) == 9
    assert all("lamp keeper" in text for text in texts(page))
    assert (page.total, page.is_capped, page.has_more) == (Total(9, exact=True), False, False)
    assert len(judged) == len(set(judged))


async def test_a_phrase_that_is_nowhere_is_told_at_once(app: App, project: int) -> None:
    await make_document(app, project, *(f"keeper of the lamp number {number} 远林" for number in range(300)))
    await settle(app)
    for strategy in Strategy:
        for query in ('"lamp keeper"', "「林远」", "「林远」 lamp"):
            page = await find(app, project, query, strategy)
            assert (page.results, page.total, page.has_more) == ((), Total(0, exact=True), False)


async def test_without_the_embedder_what_words_find_is_all_there_is(app: App, project: int, embedder: Telling) -> None:
    await make_document(app, project, "a heron in the reeds", "another heron 苍鹭", "nothing of that kind")
    await settle(app)
    embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "away")
    for strategy in ("semantic", "hybrid"):
        for query in ("heron", '"heron"', "heron -reeds"):
            page = await find(app, project, query, strategy)
            found = 1 if "reeds" in query else 2
            assert (len(page.results), page.total) == (found, Total(found, exact=True))
            assert (page.has_more, page.degraded) == (False, AWAY)


async def test_too_many_candidates_for_a_phrase_are_said_to_be_cut(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MAX_CANDIDATES", 250)
    await make_document(app, project, *(f"keeper of the lamp number {number}" for number in range(300)))
    await settle(app)
    for strategy in Strategy:
        page = await find(app, project, '"lamp keeper"', strategy)
        assert (page.total, page.is_capped, page.has_more) == (Total(0, exact=False), True, False)


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ('lamp -"running"', "The lamp runs all night"),
        ('lamp -"very very"', "a very old lamp"),
        ("lamp -「哈哈哈」", "lamp 哈哈 笑"),
        ("lamp -script", "lamp JavaScript"),
    ],
)
async def test_what_is_excluded_costs_nothing_else(app: App, project: int, query: str, kept: str) -> None:
    await make_document(app, project, kept, "a running lamp", "a very very old lamp", "lamp 哈哈哈", "lamp script")
    await settle(app)
    page = await find(app, project, query, "fts")
    assert kept in texts(page)
    assert len(page.results) == 4


# ── time ──


async def test_time_that_runs_out_while_texts_are_read_ends_the_search(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_document(app, project, *(f"keeper of the lamp number {number}" for number in range(300)))
    await settle(app)
    monkeypatch.setattr(candidates, "TEXTS_PER_CHECK", 1)
    monkeypatch.setattr(recall, "GRACE_S", 0.0)
    judge = candidates.rejected

    def slow(*arguments: Any) -> Any:
        time.sleep(0.3)
        return judge(*arguments)

    monkeypatch.setattr(candidates, "rejected", slow)
    with pytest.raises(FindspotError) as caught:
        await find(app, project, '"lamp keeper"', "fts", timeout_s=0.2)
    assert caught.value.code == "SEARCH_TIMEOUT"


async def test_what_was_ranked_before_the_time_ran_out_is_shown_and_the_next_page_goes_on(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_document(app, project, *(f"heron number {number}" for number in range(130)))
    await settle(app)
    monkeypatch.setattr(recall, "CANDIDATES", 20)
    question = SearchRequest(project, "heron", Strategy.KEYWORD)
    first = await app.workspace_search.search(question)
    engine = flows.watched(app)

    def late(*arguments: Any, limit: int, **more: Any) -> Any:
        if limit > 80:
            raise FindspotError("SEARCH_TIMEOUT", "late")
        return engine.engine.recall(*arguments, limit=limit, **more)

    engine.instead["recall"] = late
    second = await app.workspace_search.search(question, cursor=first.cursor)
    third = await app.workspace_search.search(question, cursor=second.cursor)
    assert [(page.offset, len(page.results)) for page in (first, second, third)] == [(0, 20), (20, 50), (70, 10)]
    assert third.has_more
    with pytest.raises(FindspotError, match="late"):
        await app.workspace_search.search(question, cursor=third.cursor)
    engine.instead.clear()
    rest = await read_on(app, await app.workspace_search.search(question, cursor=third.cursor), question)
    every = texts(first, second, third, *rest)
    assert len(every) == len(set(every)) == 130
    again = await app.workspace_search.search(question, page=3, cursor=first.cursor)
    assert texts(again) == texts(third)


# ── an embedder that goes while someone reads on ──


async def test_who_reads_on_without_the_embedder_gets_words_and_with_it_the_rest(
    app: App, project: int, embedder: Telling
) -> None:
    near = [f"heron reeds {'x' * (number % 7)}" for number in range(203)]
    await make_document(app, project, *(f"{each} {number}" for number, each in enumerate(near)))
    await make_document(app, project, *(f"reed number {number}" for number in range(100)))
    await settle(app)
    question = SearchRequest(project, "heron", Strategy.HYBRID, low_scores=True)
    pages = [await app.workspace_search.search(question)]
    while len(pages) < 4:
        pages.append(await app.workspace_search.search(question, cursor=pages[-1].cursor))
    assert {page.degraded for page in pages} == {None}
    embedder.query_error = FindspotError("EMBEDDING_UNAVAILABLE", "away")
    app.embeddings._queries.clear()
    pages += await read_on(app, await app.workspace_search.search(question, cursor=pages[-1].cursor), question)
    assert pages[-1].degraded == AWAY
    assert (pages[-1].has_more, pages[-1].total.exact) == (False, False)
    assert len(texts(*pages)) >= 203
    embedder.query_error = None
    app.embeddings._breaker.succeeded()
    pages += await read_on(app, await app.workspace_search.search(question, cursor=pages[-1].cursor), question)
    assert len(texts(*pages)) == len(set(texts(*pages))) == 303
    last = pages[-1]
    assert (last.degraded, last.total) == (None, Total(303, exact=True))
    first = await app.workspace_search.search(question, page=1, cursor=pages[0].cursor)
    assert (first.degraded, texts(first)) == (None, texts(pages[0]))


# ── what is counted ──


async def test_meaning_in_some_documents_counts_what_has_a_vector_there(app: App, project: int) -> None:
    one = await make_document(app, project, *(f"heron number {number}" for number in range(60)))
    await make_document(app, project, "another heron")
    await settle(app)
    namespace = SearchRequest(project, "x").namespace
    flows.files(app).evict(namespace, [int(id) for id in app.engine.ids(namespace)[:8]])
    page = await find(app, project, "heron", "semantic", document_ids=frozenset({one.id}))
    assert page.total.count == 52
    assert (await find(app, project, "heron", "semantic")).total.count == 53


def test_no_more_of_a_query_is_kept_than_is_read() -> None:
    assert MAX_QUERY_LENGTH == LONGEST + 1
    assert len(SearchRequest(1, "灯" * 1_000_000).query) == MAX_QUERY_LENGTH


async def test_an_index_that_comes_while_someone_looks_is_looked_at_again(app: App, project: int) -> None:
    await make_document(app, project, "a heron in the reeds")
    await settle(app)
    engine, seen = flows.watched(app), list[bool]()

    def recall(*arguments: Any, **more: Any) -> Recall:
        found = engine.engine.recall(*arguments, **more) if seen else Recall(exists=False)
        seen.append(found.exists)
        return found

    engine.instead["recall"] = recall
    assert texts(await find(app, project, "heron", "fts")) == ["a heron in the reeds"]
    assert seen == [False, True]
