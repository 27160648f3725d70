"""Hits that are like a better one are folded into it, and a document may have a limit. Pages stay exact."""

from collections.abc import Sequence
from typing import Any

import pytest

from findspot.app import App
from findspot.search import Page, Strategy
from findspot.search.folding import Listing, listed
from tests.flows import find, make_document, make_project, save, settle

pytestmark = pytest.mark.fake_embedder

LONG = {
    "en": "The harbour office keeps the tide tables of the last century in a dry cellar below the old customs house",
    "zh": "港务局把上个世纪的潮汐表保存在旧海关大楼下面干燥的地窖里，每逢新年都会有人来查阅这些泛黄的表格，"
    "并且抄写其中的数字和说明，然后在登记簿上签下自己的名字和日期",
}
EDITED = {"en": LONG["en"].replace("dry", "dim"), "zh": LONG["zh"].replace("干燥", "陰涼")}
QUERY = {"en": "harbour tide tables", "zh": "潮汐表"}


@pytest.fixture
def database_url() -> None:
    """Nothing here depends on the database."""


@pytest.fixture
async def project(app: App) -> int:
    return await make_project(app)


def texts(*pages: Page) -> list[str]:
    return [each.found.chunk.text for page in pages for each in page.results]


async def all_pages(app: App, project: int, query: str, strategy: str = "fts", **more: Any) -> list[Page]:
    pages = [await find(app, project, query, strategy, **more)]
    while pages[-1].has_more:
        pages.append(await find(app, project, query, strategy, cursor=pages[-1].cursor, **more))
        assert len(pages) < 100
    return pages


# ── which hits are results ──


def examine(given: Sequence[str], per_document: int | None = None, documents: Sequence[int] | None = None) -> Listing:
    documents = documents or range(len(given))
    return listed(Listing(), documents, dict(enumerate(given)), per_document)


def test_a_hit_is_folded_into_the_first_one_like_it() -> None:
    listing = examine(["灯塔", "lamp", "燈塔", "LAMP", "灯塔", "oil"])
    assert list(listing.places) == [0, 1, 5]
    assert listing.duplicates(listing.places) == [2, 1, 0]


def test_later_hits_are_folded_into_earlier_results() -> None:
    first = examine(["灯塔", "lamp"])
    texts = {2: "oil", 3: "燈塔", 4: "lamp", 5: "oil"}
    listing = listed(first, range(6), texts, None)
    assert list(listing.places) == [0, 1, 2]
    assert listing.duplicates(listing.places) == [1, 1, 1]
    assert list(first.places) == [0, 1]


def test_without_texts_nothing_is_folded_and_a_text_that_is_gone_is_a_result() -> None:
    assert list(listed(Listing(), range(3), None, None).places) == [0, 1, 2]
    assert list(listed(Listing(), range(4), {0: "灯", 3: "灯"}, None).places) == [0, 1, 2]


def test_a_document_has_no_more_results_than_its_limit() -> None:
    given = ["a", "b", "c", "d", "A", "C"]
    listing = examine(given, 2, [7, 7, 7, 8, 8, 9])
    assert list(listing.places) == [0, 1, 3, 5]  # "c" of document 7 is left out, so document 9 stands for it
    assert listing.duplicates(listing.places) == [1, 0, 0, 0]
    listing = listed(listing, [7, 7, 7, 8, 8, 9, 7, 8], {6: "e", 7: "f"}, 2)
    assert list(listing.places) == [0, 1, 3, 5, 7]


def test_the_first_results_keep_what_is_folded_into_them() -> None:
    listing = examine(["灯塔", "lamp", "燈塔", "oil", "OIL", "灯塔"])
    kept, places = listing.first(1)
    assert (places, list(kept.places), kept.duplicates(kept.places)) == ([0, 2, 5], [0], [2])
    again = listed(kept, range(5), {3: "灯塔", 4: "oil"}, None)
    assert (list(again.places), again.duplicates(again.places)) == ([0, 4], [3, 0])


# ── searches ──


@pytest.mark.parametrize(
    ("language", "strategy"),
    [  # the vectors of the fake embedder know no Chinese words without spaces
        *(("en", strategy) for strategy in Strategy),
        *(("zh", strategy) for strategy in (Strategy.KEYWORD, Strategy.HYBRID)),
    ],
)
async def test_identical_and_nearly_identical_passages_are_one_result(
    app: App, project: int, language: str, strategy: Strategy
) -> None:
    for text in (LONG[language], f" {LONG[language].upper()}", EDITED[language]):
        await make_document(app, project, text, "Something else 别的")
    await make_document(app, project, f"{LONG[language]} 1901", f"{LONG[language]} 1902")
    await settle(app)
    page = await find(app, project, QUERY[language], strategy)
    about = [each for each in page.results if "else" not in each.found.chunk.text]
    assert sorted(each.duplicates for each in about) == [0, 0, 2]
    everything = await find(app, project, QUERY[language], strategy, duplicates=True)
    found = [each for each in everything.results if "else" not in each.found.chunk.text]
    assert (len(found), {each.duplicates for each in found}) == (5, {0})
    assert everything.total == page.total  # a total counts passages, folded or not


async def test_a_first_page_is_full_although_most_hits_are_alike(app: App, project: int) -> None:
    await make_document(app, project, *["潮汐表 tide"] * 400)
    await make_document(app, project, *(f"tide 潮汐 and {word * 3} too" for word in map(chr, range(0x4E00, 0x4E3C))))
    await settle(app)
    page = await find(app, project, "tide 潮汐")
    assert len(page.results) == 50
    assert page.results[0].duplicates >= 199
    assert len(set(texts(page))) == 50


@pytest.mark.parametrize("strategy", ["fts", "hybrid"])
async def test_pages_neither_repeat_nor_miss_a_text_while_documents_change(
    app: App, project: int, strategy: str
) -> None:
    different = [f"tide number {number} 潮汐" for number in range(230)]
    made = await make_document(app, project, *different)
    for _ in range(3):
        await make_document(app, project, *different[:100])
    await settle(app)
    first = await find(app, project, "tide 潮汐", strategy, page_size=20)
    pages, cursor = [first], first.cursor
    while pages[-1].has_more:
        if len(pages) == 2:
            await save(app, made.id, *reversed(different), "a tide that is new")
            await make_document(app, project, *different[50:80])
            await settle(app)
        pages.append(await find(app, project, "tide 潮汐", strategy, page_size=20, cursor=cursor))
        cursor = pages[-1].cursor
    found = texts(*pages)
    assert len(found) == len(set(found))
    assert set(different) <= set(found)
    assert all(len(page.results) == 20 for page in pages[:-1])
    again = await find(app, project, "tide 潮汐", strategy, 1, page_size=20, cursor=cursor)
    assert texts(again) == texts(first)


async def test_results_are_limited_per_document_on_all_pages_together(app: App, project: int) -> None:
    made = [
        await make_document(app, project, *(f"tide 潮汐 {number} of {name}" for number in range(30)))
        for name in ("one", "two", "three", "four")
    ]
    await settle(app)
    pages = await all_pages(app, project, "tide 潮汐", per_document=3, page_size=5)
    found = [each.found.chunk.document_id or 0 for page in pages for each in page.results]
    assert sorted(found) == sorted(document.id for document in made for _ in range(3))
    assert [len(page.results) for page in pages] == [5, 5, 2]
    assert pages[0].total.count == 120


async def test_a_deep_page_that_is_asked_for_at_once_is_the_same_as_page_by_page(app: App, project: int) -> None:
    await make_document(app, project, *(f"tide number {number % 300} 潮汐" for number in range(600)))
    await settle(app)
    pages = await all_pages(app, project, "潮汐", page_size=30)
    assert [len(page.results) for page in pages] == [30] * 10
    at_once = await find(app, project, "潮汐", "fts", 4, page_size=30)
    assert len(set(texts(at_once)) & set(texts(*pages[:3]))) == 0
    assert (at_once.offset, at_once.page) == (90, 4)
