"""The results of a page: snippets, highlights, and positions in the current document."""

from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App
from findspot.search import Page, Strategy
from findspot.store.schema import chunks
from tests import flows
from tests.flows import PARAGRAPHS, find, hold, make_document, save, settle, text_of

pytestmark = pytest.mark.fake_embedder


def texts(page: Page) -> list[str]:
    return [each.found.chunk.text for each in page.results]


@pytest.mark.scenario("004.fts")
async def test_a_result_has_its_position_and_its_highlights(app: App, project: int, document: Any) -> None:
    text = await text_of(app, document.id)
    for strategy in Strategy:
        for query, marked in (("swimming pools", ["swimming", "pool"]), ("图书馆", ["圖書館"]), ("停車場", ["停车场"])):
            if strategy is Strategy.VECTOR and query != "swimming pools":
                continue  # the embedder of this test knows words between spaces only
            best = (await find(app, project, query, strategy, low_scores=True)).results[0]
            if strategy is not Strategy.VECTOR:
                assert [best.snippet[start:end] for start, end in best.highlights] == marked
            assert text[best.start : best.end] == best.snippet
            assert (best.found.title, best.found.type, best.found.chunk.document_id) == ("t", "document", document.id)


@pytest.mark.one_database
async def test_a_long_paragraph_is_cut_around_the_best_match(app: App, project: int) -> None:
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


async def test_positions_are_those_of_the_current_document_when_the_index_is_behind(
    app: App, project: int, document: Any
) -> None:
    page = await find(app, project, "library")
    await hold(app)
    kept = [*PARAGRAPHS[:3], *PARAGRAPHS[4:]]
    await save(app, document.id, "A new beginning 新的开头", *kept)
    await save(app, document.id, "Another beginning", "and a second one", *kept)
    text = await text_of(app, document.id)
    found = await find(app, project, "library pool")
    assert PARAGRAPHS[3] not in texts(found)  # deleted, which the index does not know
    assert set(texts(found)) == {PARAGRAPHS[0], PARAGRAPHS[1], PARAGRAPHS[4]}
    for each in found.results:
        assert text[each.start : each.end] == each.snippet
    await app.documents.delete(document.id)
    assert (await find(app, project, "library")).results == ()
    assert (await find(app, project, "library", page=1, cursor=page.cursor)).results == ()


@pytest.mark.scenario("004.matrix.illegal-offsets")
async def test_a_chunk_with_a_wrong_range_is_not_returned_and_is_repaired(
    app: App, project: int, document: Any
) -> None:
    await hold(app)
    async with app.store.write() as connection:
        broken = sa.update(chunks).where(chunks.c.chunk_index == 3).values(char_end=chunks.c.char_end + 1000)
        await connection.execute(broken)
    assert PARAGRAPHS[3] not in texts(await find(app, project, "swimming pool"))
    await app.index_worker.start()

    async def is_repaired() -> bool:
        return PARAGRAPHS[3] in texts(await find(app, project, "swimming pool"))

    await flows.until(app, is_repaired)
