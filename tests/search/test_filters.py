"""Filters, order and counts of workspace search."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App
from findspot.search import Page, Strategy, candidates, filters
from findspot.search.request import DocumentFilter, Sort
from findspot.store.schema import documents
from tests import flows
from tests.flows import find, make_project, settle

pytestmark = pytest.mark.fake_embedder

NOW = datetime.now(UTC)


@pytest.fixture
async def project(app: App) -> int:
    return await make_project(app)


async def make(
    app: App, project: int, *paragraphs: str, type: str = "document", path: str | None = None, days: float = 0
) -> int:
    """Make a document of a type, imported from a path, that was changed some days ago."""
    body = {"title": path or "t", "type": type, "format": "tiptap", "content": flows.separate(*paragraphs)}
    made = await app.documents.create(project, json.dumps(body).encode())
    async with app.store.write() as connection:
        query = sa.update(documents).where(documents.c.id == made.id)
        await connection.execute(query.values(path=path, updated_at=NOW - timedelta(days=days)))
    return made.id


def found_in(*pages: Page) -> list[int]:
    return [each.found.chunk.document_id or 0 for page in pages for each in page.results]


async def all_pages(app: App, project: int, query: str, strategy: str = "fts", **more: Any) -> list[Page]:
    pages = [await find(app, project, query, strategy, **more)]
    while pages[-1].has_more:
        pages.append(await find(app, project, query, strategy, cursor=pages[-1].cursor, **more))
        assert len(pages) < 300
    return pages


# ── filters ──


@pytest.mark.parametrize("strategy", list(Strategy))
async def test_only_documents_that_pass_every_filter_are_found(app: App, project: int, strategy: Strategy) -> None:
    chapter = await make(app, project, "The tide comes in 潮汐", type="chapter", path="novel/一.md", days=10)
    note = await make(app, project, "A tide table 潮汐表", type="note", path="notes/Tide_%.md", days=2)
    plain = await make(app, project, "No tide today 今天没有潮汐", days=1)
    await make(app, await make_project(app, "other"), "A tide elsewhere 潮汐", type="note", path="notes/a.md")
    await settle(app)

    async def search(**given: Any) -> set[int]:
        ids = given.pop("document_ids", None)
        found = await find(
            app, project, "tide 潮汐", strategy, document_ids=ids, documents=DocumentFilter(**given), low_scores=True
        )
        assert found.total.count == len(found.results)
        return set(found_in(found))

    assert await search() == {chapter, note, plain}
    assert await search(types=frozenset({"note", "chapter"})) == {chapter, note}
    assert await search(types=frozenset({"notes"})) == set()
    assert await search(path_prefix="no") == {chapter, note}
    assert await search(path_prefix="novel/一") == {chapter}
    assert await search(path_prefix="notes/Tide_%") == {note}
    assert await search(path_prefix="NOTES/") == set()
    assert await search(path_prefix="_otes/") == set()
    assert await search(updated_after=NOW - timedelta(days=2)) == {note, plain}
    assert await search(updated_before=NOW - timedelta(days=2)) == {chapter}
    between = {"updated_after": NOW - timedelta(days=5), "updated_before": NOW - timedelta(days=1)}
    assert await search(**between) == {note}
    assert await search(**between, types=frozenset({"chapter"})) == set()
    assert await search(types=frozenset({"note"}), document_ids=frozenset({plain, note})) == {note}
    assert await search(types=frozenset({"note"}), document_ids=frozenset({plain})) == set()


@pytest.mark.one_database
@pytest.mark.parametrize("strategy", list(Strategy))
async def test_a_filter_that_admits_few_documents_still_fills_the_first_page(
    app: App, project: int, strategy: Strategy
) -> None:
    """Every other document matches better, and there are more of them than candidates."""
    for number in range(3):
        await make(app, project, *(f"tide tide tide 潮汐潮汐 {number}.{each}" for each in range(150)))
    rare = await make(app, project, *(f"a tide 潮汐 among other words, {each}" for each in range(60)), path="rare/a.md")
    await settle(app)
    more: dict[str, Any] = {"documents": DocumentFilter(path_prefix="rare/"), "low_scores": True}
    pages = await all_pages(app, project, "tide 潮汐", strategy, **more)
    assert [len(page.results) for page in pages] == [50, 10]
    assert (set(found_in(*pages)), pages[0].total.count) == ({rare}, 60)


@pytest.mark.one_database
async def test_a_cursor_keeps_the_documents_that_the_filter_admitted_at_its_start(app: App, project: int) -> None:
    old = [await make(app, project, *(f"tide {number}.{each}" for each in range(30)), days=9) for number in range(4)]
    await settle(app)
    before = DocumentFilter(updated_before=NOW - timedelta(days=5))
    first = await find(app, project, "tide", documents=before)
    async with app.store.write() as connection:
        query = sa.update(documents).where(documents.c.id == old[3])
        await connection.execute(query.values(updated_at=NOW))
    await make(app, project, "tide later", days=30)
    await settle(app)
    rest = await find(app, project, "tide", documents=before, cursor=first.cursor)
    last = await find(app, project, "tide", documents=before, cursor=rest.cursor)
    chunks = [each.found.chunk.id for page in (first, rest, last) for each in page.results]
    assert (len(chunks), len(set(chunks)), last.has_more) == (120, 120, False)
    assert set(found_in(first, rest, last)) == set(old)


# ── order ──


@pytest.mark.parametrize("strategy", list(Strategy))
async def test_by_date_the_newest_documents_come_first_and_equal_ones_by_score(
    app: App, project: int, strategy: Strategy
) -> None:
    old = await make(app, project, "tide 潮汐", "tide 潮汐 and more", days=20)
    new = await make(app, project, "a long text 很长 that names a tide 潮汐 only once, far from its start", days=1)
    middle = await make(app, project, "when will the next tide be here 潮汐", days=7)
    await settle(app)
    by_score = await find(app, project, "tide 潮汐", strategy, low_scores=True)
    assert found_in(by_score)[0] == old
    pages = await all_pages(app, project, "tide 潮汐", strategy, sort=Sort.DATE, low_scores=True, page_size=3)
    assert found_in(*pages) == [new, middle, old, old]
    assert [len(page.results) for page in pages] == [3, 1]
    scores = [each.score.total for page in pages for each in page.results]
    assert scores[2] >= scores[3]


@pytest.mark.one_database
async def test_by_date_pages_are_exact_while_documents_change(app: App, project: int) -> None:
    made = [await make(app, project, *(f"tide {day}.{each} 潮" for each in range(40)), days=day) for day in range(12)]
    await settle(app)
    pages = [await find(app, project, "tide", sort=Sort.DATE)]
    while pages[-1].has_more:
        async with app.store.write() as connection:  # the oldest becomes the newest
            query = sa.update(documents).where(documents.c.id == made[11])
            await connection.execute(query.values(updated_at=datetime.now(UTC)))
        pages.append(await find(app, project, "tide", sort=Sort.DATE, cursor=pages[-1].cursor))
    chunks = [each.found.chunk.id for page in pages for each in page.results]
    assert (len(chunks), len(set(chunks))) == (480, 480)
    assert found_in(*pages) == [id for id in made for _ in range(40)]
    assert [len(page.results) for page in pages] == [50] * 9 + [30]


@pytest.mark.one_database
@pytest.mark.parametrize("strategy", list(Strategy))
async def test_by_date_the_newest_matches_are_kept_when_there_are_too_many(
    app: App, project: int, strategy: Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (candidates, filters):
        monkeypatch.setattr(module, "MAX_CANDIDATES", 100)
    made = [await make(app, project, *(f"tide {day}.{each} 潮" for each in range(20)), days=day) for day in range(20)]
    await settle(app)
    pages = await all_pages(app, project, "tide 潮", strategy, sort=Sort.DATE, low_scores=True)
    assert found_in(*pages) == [id for id in made[:4] for _ in range(20)]
    assert (pages[0].total.count, pages[0].total.exact, pages[0].is_capped) == (100, False, True)


# ── counts ──


@pytest.mark.parametrize("strategy", list(Strategy))
async def test_matches_are_counted_by_document_and_by_type(app: App, project: int, strategy: Strategy) -> None:
    one = await make(app, project, *(f"tide 潮汐 {each}" for each in range(260)), type="chapter")
    two = await make(app, project, "tide 潮汐 二", type="note")
    three = await make(app, project, "tide 潮汐 三", "tide 潮汐 三", type="note")
    await settle(app)
    for page in (
        await find(app, project, "tide 潮汐", strategy, counts=True, page_size=5),
        await find(app, project, "tide 潮汐", strategy, 2, counts=True, page_size=5, per_document=1),
    ):
        assert page.counts is not None
        assert [(each.document_id, each.count) for each in page.counts.documents] == [(one, 260), (three, 2), (two, 1)]
        assert page.counts.types == (("chapter", 260), ("note", 3))
        assert (page.counts.all_documents, page.total.count, page.total.exact) == (3, 263, True)
    only = DocumentFilter(types=frozenset({"note"}))
    narrow = await find(app, project, "tide 潮汐", strategy, counts=True, documents=only)
    assert narrow.counts is not None
    assert (narrow.counts.types, narrow.total.count) == ((("note", 3),), 3)
    assert (await find(app, project, "tide 潮汐", strategy)).counts is None
