"""The candidates of a workspace search: full matches and phrases beyond the first two hundred of a leg."""

from typing import Any

import pytest

from findspot.app import App
from findspot.errors import FindspotError
from findspot.search import Page, SearchRequest, Strategy, Total, candidates
from findspot.words import parse
from tests.flows import find, make_document, settle

pytestmark = pytest.mark.fake_embedder


@pytest.fixture
def database_url() -> None:
    """Nothing here depends on the database."""


def texts(page: Page) -> list[str]:
    return [each.found.chunk.text for each in page.results]


class Expired:
    """A deadline that is over."""

    def check(self) -> None:
        raise FindspotError("SEARCH_TIMEOUT", "late")


@pytest.mark.scenario("D28")
async def test_a_passage_with_every_word_is_found_among_hundreds_with_one_of_them(app: App, project: int) -> None:
    both = "harbour " + "in which nothing happened for a long time " * 15 + "keeper"
    两者 = "港口" + "许多年里什么也没有发生过，" * 30 + "看守"
    for one, other, expected in (("harbour ", "keeper ", both), ("港口", "看守", 两者)):
        for word in (one, other):
            await make_document(app, project, *(f"{word * 3}{number}" for number in range(220)))
        await make_document(app, project, expected)
    await settle(app)
    for query, expected in (("harbour keeper", both), ("港口 看守", 两者)):
        assert texts(await find(app, project, query, "fts"))[0] == expected
        page = await find(app, project, query, "hybrid")
        while expected not in texts(page):
            assert page.has_more
            page = await find(app, project, query, "hybrid", cursor=page.cursor)
        found = next(each for each in page.results if each.found.chunk.text == expected)
        chunk = found.found.chunk
        why = await app.explainer.explain(SearchRequest(project, query), chunk.document_id or 0, chunk.id)
        assert (why.full_match, why.is_hidden) == (True, False)
        assert found.score.total == pytest.approx(why.score.total, abs=1e-5)


async def test_a_phrase_is_found_behind_hundreds_of_better_candidates(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_document(app, project, *(f"keeper of the lamp number {number} 远林" for number in range(600)))
    await make_document(
        app, project, *(f"a long story about something else, lamp keeper {number}" for number in range(9))
    )
    await settle(app)
    checked: list[int] = []
    check = candidates.rejected

    def noted(query: Any, ids: Any, *more: Any) -> Any:
        checked.extend(ids)
        return check(query, ids, *more)

    monkeypatch.setattr(candidates, "rejected", noted)
    for strategy in Strategy:
        checked.clear()
        page = await find(app, project, '"lamp keeper"', strategy)
        assert len(texts(page)) == 9
        assert all("lamp keeper" in text for text in texts(page))
        assert (page.total, page.is_capped, page.has_more) == (Total(9, exact=True), False, False)
        assert len(checked) == len(set(checked))  # each text is read once
        for query in ('"keeper lamp"', "「林远」 lamp"):  # no passage has the phrase
            page = await find(app, project, query, strategy)
            assert (bool(page.results), page.without_phrases) == (True, True)
    monkeypatch.setattr(candidates, "MAX_CANDIDATES", 250)
    for strategy in Strategy:
        page = await find(app, project, '"keeper lamp"', strategy)
        assert (page.total, page.is_capped, page.has_more) == (Total(0, exact=False), True, False)


async def test_an_exclusion_rejects_nothing_but_what_it_names(app: App, project: int) -> None:
    kept = {
        'lamp -"running"': "The lamp runs all night",
        'lamp -"very very"': "a very old lamp",
        "lamp -「哈哈哈」": "lamp 哈哈 笑",
        "lamp -script": "lamp JavaScript",
    }
    excluded = ("a running lamp", "a very very old lamp", "lamp 哈哈哈", "lamp script")
    await make_document(app, project, *kept.values(), *excluded)
    await settle(app)
    for query, text in kept.items():
        page = await find(app, project, query, "fts")
        assert text in texts(page)
        assert len(page.results) == 7


async def test_pages_are_in_the_order_of_their_scores_if_texts_decide(app: App, project: int) -> None:
    await make_document(app, project, *(f"old lighthouse rusty 生锈 number {number}" for number in range(220)))
    sound = [f"the lighthouse is old, its keeper too, and both are number {number}" for number in range(40)]
    await make_document(app, project, *sound, "a tower of light")
    await settle(app)
    for strategy in Strategy:
        for query in ('"is old" -rusty', "old lighthouse -rusty", "of the -old", "lighthouse -keeper"):
            page = await find(app, project, query, strategy, low_scores=True)
            scores = [each.score.total for each in page.results]
            assert scores == sorted(scores, reverse=True)
    plain = await find(app, project, "a tower of light", "semantic")
    without = await find(app, project, "a tower of light -rusty -生锈", "semantic")
    assert without.results[0].found.chunk.text == "a tower of light"
    assert without.results[0].score == plain.results[0].score  # the exclusion is no part of the meaning


def test_checking_texts_stops_at_the_deadline() -> None:
    texts = dict.fromkeys(range(3), "keeper of the lamp")
    with pytest.raises(FindspotError, match="late"):
        candidates.rejected(parse('"lamp keeper"'), list(texts), texts, Expired())  # type: ignore[arg-type]
