"""Pages of workspace search: each hit once, in one order, with a total."""

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App
from findspot.models import documents_namespace
from findspot.search import Strategy, Total, candidates, recall
from findspot.store.schema import chunks
from tests import flows
from tests.flows import find, make_document, save, settle, text_of
from tests.search.pages import ids, make_herons, read_all

pytestmark = pytest.mark.fake_embedder


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
