"""What a query says is what is looked for, and what is explained: exclusions, phrases, words still typed."""

from typing import Any

import pytest

from findspot.app import App
from findspot.search import Page, SearchRequest, Strategy, Total
from tests.flows import find, make_document, make_project, settle

pytestmark = pytest.mark.telling


@pytest.fixture
def database_url() -> None:
    """Nothing here depends on the database."""


@pytest.fixture
async def project(app: App) -> int:
    """So many old lighthouses that those without rust are not among the first two hundred."""
    project = await make_project(app)
    for first in range(0, 300, 100):
        rusty = [f"old lighthouse rusty 生锈 number {number}" for number in range(first, first + 100)]
        await make_document(app, project, *rusty)
    sound = [f"the lighthouse is old, its keeper too, and both are number {number}" for number in range(40)]
    await make_document(app, project, *sound, "灯塔很旧", "古老的灯塔", "an old house", "a tower of light")
    await settle(app)
    return project


async def explained(app: App, project: int, query: str, page: Page, **more: Any) -> list[Any]:
    places = [(each.found.chunk.document_id, each.found.chunk.id) for each in page.results]
    return [await app.explainer.explain(SearchRequest(project, query, **more), *place) for place in places]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "typing"),
    [
        ("old lighthouse -rusty", False),
        ("lighthouse old keeper -rusty -生锈", False),
        ('"old lighthouse" -keeper', False),
        ("古老的灯塔 -lighthouse", False),
        ("old lighthou", True),
        ("lighthouse ol", True),
        ("keepe", True),
    ],
)
async def test_what_is_found_has_the_score_that_is_explained(app: App, project: int, query: str, typing: bool) -> None:
    page = await find(app, project, query, "hybrid", typing=typing)
    assert page.results
    for result, why in zip(page.results, await explained(app, project, query, page, typing=typing), strict=True):
        assert result.score[:2] == pytest.approx(why.score[:2], abs=2e-6)  # between them, it has aged a little
        assert result.score.total == pytest.approx(why.score.total, abs=1e-5)
        assert not why.is_left_out


async def test_who_has_every_word_is_known_though_others_with_every_word_are_excluded(app: App, project: int) -> None:
    page = await find(app, project, "old lighthouse -rusty", "hybrid")
    assert len(page.results) >= 40
    why = await explained(app, project, "old lighthouse -rusty", page)
    assert all(each.full_match for each in why[:40])


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize("query", ['"is old" -rusty', "old lighthouse -rusty", "of the -old", "lighthouse -keeper"])
async def test_a_page_is_in_the_order_of_its_scores_also_where_texts_decide(
    app: App, project: int, query: str, strategy: Strategy
) -> None:
    scores = [each.score.total for each in (await find(app, project, query, strategy, low_scores=True)).results]
    assert scores == sorted(scores, reverse=True)


async def test_what_is_excluded_says_nothing_about_the_meaning(app: App, project: int) -> None:
    plain = await find(app, project, "a tower of light", "semantic")
    without = await find(app, project, "a tower of light -rusty -生锈", "semantic")
    assert without.results[0].found.chunk.text == "a tower of light"
    assert without.results[0].score == plain.results[0].score


async def test_a_passage_that_a_query_leaves_out_is_explained_as_left_out(app: App, project: int) -> None:
    page = await find(app, project, "old lighthouse", "hybrid")
    rusty = next(each for each in page.results if "rusty" in each.found.chunk.text)
    place = rusty.found.chunk.document_id or 0, rusty.found.chunk.id
    for query in ("old lighthouse -rusty", '"lighthouse is old"', "old lighthouse -生锈"):
        why = await app.explainer.explain(SearchRequest(project, query), *place)
        assert (why.is_left_out, why.is_hidden) == (True, True)
    assert not (await app.explainer.explain(SearchRequest(project, "old lighthouse"), *place)).is_left_out


async def test_a_total_that_will_grow_says_so(app: App, project: int) -> None:
    page = await find(app, project, "灯塔", "hybrid")
    assert page.total.exact == (page.total.count >= len([hit async for hit in _all(app, project, "灯塔")]))
    assert (await find(app, project, "keeper", "fts")).total.exact


async def _all(app: App, project: int, query: str) -> Any:
    page = await find(app, project, query, "hybrid")
    while True:
        for each in page.results:
            yield each
        if not page.has_more:
            return
        page = await app.workspace_search.search(SearchRequest(project, query, Strategy.HYBRID), None, page.cursor)


LONG = ('"a" ' * 25_000, "-b " * 300_000, "old lighthouse " + "「灯」" * 5_000, "x" * 900_000)


@pytest.mark.parametrize("query", LONG, ids=["quoted", "excluded", "Chinese", "one word"])
async def test_a_query_of_any_length_is_answered(app: App, project: int, query: str) -> None:
    for strategy in Strategy:
        page = await find(app, project, query, strategy)
        assert page.degraded is None
    if query.startswith("old"):
        assert "lighthouse" in (await find(app, project, query, "hybrid")).results[0].found.chunk.text


@pytest.mark.parametrize("query", ["。。。", "-", " \n", "?!", "…—"])
async def test_where_no_word_is_typed_nothing_is_found(app: App, project: int, query: str) -> None:
    for strategy in Strategy:
        page = await find(app, project, query, strategy, low_scores=True)
        assert (page.results, page.total, page.has_more) == ((), Total(0, exact=True), False)
