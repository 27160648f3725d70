"""Explanations give the score that a search gives, also for passages that it leaves out."""

from typing import Any

import pytest

from findspot.app import App
from findspot.errors import FindspotError
from findspot.search import Explanation, Page, SearchRequest
from tests.flows import find, make_document, make_project, settle

pytestmark = pytest.mark.fake_embedder


@pytest.fixture
def database_url() -> None:
    """Nothing here depends on the database."""


@pytest.fixture
async def project(app: App) -> int:
    """More rusty lighthouses than a leg recalls at first, and some others."""
    project = await make_project(app)
    await make_document(app, project, *(f"old lighthouse rusty 生锈 number {number}" for number in range(220)))
    sound = [f"the lighthouse is old, its keeper too, and both are number {number}" for number in range(40)]
    others = ["灯塔很旧", "古老的灯塔", "an old house", "The old keeper of both lighthouses", "old, kept"]
    await make_document(app, project, *sound, *others)
    await settle(app)
    return project


async def explain(app: App, project: int, query: str, page: Page, **more: Any) -> list[Explanation]:
    request = SearchRequest(project, query, **more)
    found = [each.found.chunk for each in page.results]
    return [await app.explainer.explain(request, chunk.document_id or 0, chunk.id) for chunk in found]


async def test_a_result_has_the_score_that_is_explained(app: App, project: int) -> None:
    queries = [
        ("old lighthouse -rusty", False),
        ("lighthouse old keeper -rusty -生锈", False),
        ('"old lighthouse" -keeper', False),
        ("古老的灯塔 -lighthouse", False),
        ("old lighthou", True),
        ("keeper lighthouses", True),
        ("lighthouse ol", True),
        ("keepe", True),
    ]
    for query, typing in queries:
        page = await find(app, project, query, "hybrid", typing=typing)
        assert page.results, query
        for result, why in zip(page.results, await explain(app, project, query, page, typing=typing), strict=True):
            assert result.score[:2] == pytest.approx(why.score[:2], abs=2e-6), query
            assert result.score.total == pytest.approx(why.score.total, abs=1e-5)  # it has aged a little since
            assert not why.is_left_out


async def test_full_matches_are_known_although_others_are_excluded(app: App, project: int) -> None:
    page = await find(app, project, "old lighthouse -rusty", "hybrid")
    assert len(page.results) >= 40
    why = await explain(app, project, "old lighthouse -rusty", page)
    assert all(each.full_match for each in why[:40])


async def test_a_passage_that_the_query_leaves_out_is_explained_too(app: App, project: int) -> None:
    page = await find(app, project, "old lighthouse", "hybrid")
    chunk = next(each.found.chunk for each in page.results if "rusty" in each.found.chunk.text)
    for query in ("old lighthouse -rusty", '"lighthouse is old"', "old lighthouse -生锈"):
        why = await app.explainer.explain(SearchRequest(project, query), chunk.document_id or 0, chunk.id)
        assert (why.is_left_out, why.is_hidden) == (True, True)
    request = SearchRequest(project, "old lighthouse")
    assert not (await app.explainer.explain(request, chunk.document_id or 0, chunk.id)).is_left_out
    for document_id, chunk_id in ((0, chunk.id), (chunk.document_id or 0, 999_999)):
        with pytest.raises(FindspotError) as caught:
            await app.explainer.explain(request, document_id, chunk_id)
        assert caught.value.code == "NOT_FOUND"


async def test_a_page_is_explained_with_one_recall(app: App, project: int, monkeypatch: pytest.MonkeyPatch) -> None:
    page = await find(app, project, "old lighthouse 生锈 zebra", "hybrid", duplicates=True)
    ids = [each.found.chunk.id for each in page.results]
    calls, recall = list[int](), app.engine.recall

    def counted(*args: Any, **given: Any) -> Any:
        calls.append(given["limit"])
        return recall(*args, **given)

    monkeypatch.setattr(app.engine, "recall", counted)
    request = SearchRequest(project, "old lighthouse 生锈 zebra")
    explained = await app.explainer.explain_all(request, [*ids, ids[0], 10**9])
    assert [each.found.chunk.id for each in explained] == ids
    assert len(ids) == 50
    assert calls == [10_000, 0, 0, 0, 0]  # and one for each word
    assert all(each.coverage.missing == ("zebra",) for each in explained)
    assert await app.explainer.explain_all(SearchRequest(project, "old"), [10**9]) == []
