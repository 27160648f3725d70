"""A text that is saved stays findable: the old passage answers until the new one is searchable."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from findspot.app import App
from findspot.search import Page
from tests import flows
from tests.flows import FakeEmbedder, add_tool, find, hold, make_document, make_table, save, settle, text_of, texts

pytestmark = pytest.mark.fake_embedder

# query, then the text before and after a save
EDITS = {
    "en": ("alpha", "The alpha release is late", "The alpha release is early 🚀"),
    "zh": ("灯塔", "灯塔的看守人在等船", "灯塔的看守人不再等船了"),
    "traditional": ("图书馆", "圖書館九點開門", "圖書館十點才開門"),
    "mixed": ("alpha", "版本 alpha 一号", "新版本 alpha 二号 e\u0301"),
    "moved": ("alpha", "alpha is first", "first is alpha"),
}


def shown(page: Page) -> list[str]:
    return [each.snippet for each in page.results]


@asynccontextmanager
async def waiting_in(app: App, step: str) -> AsyncIterator[None]:
    """Have the index worker wait inside the block before it calls a method of the engine."""
    engine, reached, released = flows.watched(app), threading.Event(), threading.Event()
    call = getattr(engine.engine, step)

    def wait(*arguments: Any, **named: Any) -> Any:
        reached.set()
        assert released.wait(flows.PATIENCE_S)
        return call(*arguments, **named)

    engine.instead[step] = wait
    try:
        assert await asyncio.to_thread(reached.wait, flows.PATIENCE_S)
        yield
    finally:
        released.set()
        del engine.instead[step]


@pytest.mark.one_database
@pytest.mark.parametrize("language", EDITS)
async def test_a_changed_passage_is_found_before_it_is_cut(app: App, project: int, language: str) -> None:
    query, before, after = EDITS[language]
    document = await make_document(app, project, "An introduction", before, "The end 完")
    await hold(app)
    await save(app, document.id, "A longer introduction 🎈", after, "The end 完")
    text = await text_of(app, document.id)
    for strategy in ("fts", "hybrid"):
        (result,) = (await find(app, project, query, strategy)).results
        assert result.snippet == text[result.start : result.end] == after
        assert [result.snippet[start:end] for start, end in result.highlights]


@pytest.mark.parametrize("language", EDITS)
@pytest.mark.parametrize("step", ["write", "delete"])
async def test_a_changed_passage_is_found_while_the_engine_is_updated(
    app: App, project: int, language: str, step: str
) -> None:
    query, before, after = EDITS[language]
    document = await make_document(app, project, "An introduction", before, "The end 完")
    await settle(app)
    async with asyncio.timeout(flows.PATIENCE_S):
        edit = asyncio.create_task(save(app, document.id, "An introduction", after, "The end 完"))
        async with waiting_in(app, step):
            await edit
            assert shown(await find(app, project, query)) == [after]
    await settle(app)
    assert shown(await find(app, project, query)) == [after]
    assert [row.chunk_text for row in await flows.rows(app)] == ["An introduction", after, "The end 完"]


@pytest.mark.one_database
@pytest.mark.parametrize("language", EDITS)
async def test_a_passage_replaced_between_recall_and_reading_is_found_again(
    app: App, project: int, language: str
) -> None:
    query, before, after = EDITS[language]
    document = await make_document(app, project, before)
    await settle(app)
    table = await make_table(app, project, {"a": before})
    await add_tool(app, table)
    await settle(app)
    engine, loop, edits = flows.watched(app), asyncio.get_running_loop(), 0

    async def edit() -> None:
        await save(app, document.id, after)
        await app.tables.put(table.id, "/a", json.dumps(after).encode(), None)
        await settle(app)

    def recall(*arguments: Any, **named: Any) -> Any:
        nonlocal edits
        found = engine.engine.recall(*arguments, **named)
        if not edits:
            edits = 1
            asyncio.run_coroutine_threadsafe(edit(), loop).result(flows.PATIENCE_S)
        return found

    engine.instead["recall"] = recall
    assert shown(await find(app, project, query, timeout_s=flows.PATIENCE_S)) == [after]
    await save(app, document.id, before)
    await app.tables.put(table.id, "/a", json.dumps(before).encode(), None)
    await settle(app)
    edits = 0
    assert await texts(app, table, query, timeout_s=flows.PATIENCE_S) == [after]


async def test_a_passage_that_lost_the_word_or_was_deleted_is_not_shown(app: App, project: int) -> None:
    document = await make_document(app, project, "The alpha release 灯塔", "Another alpha 灯塔", "The end 完")
    await hold(app)
    await save(app, document.id, "The beta release 港口", "The end 完")
    for query in ("alpha", "灯塔", '"alpha release"'):
        for strategy in ("fts", "hybrid"):
            assert shown(await find(app, project, query, strategy)) == []


@pytest.mark.one_database
async def test_a_passage_found_by_meaning_is_shown_as_it_is_now(app: App, project: int) -> None:
    document = await make_document(app, project, "The library opens at nine 图书馆九点开门", "The end 完")
    await hold(app)
    after = "The library opens at ten 图书馆九点开门"
    await save(app, document.id, after, "The end 完")
    assert shown(await find(app, project, "opens library", "semantic"))[0] == after
    await save(app, document.id, "Something else entirely 毫不相干", "The end 完")
    assert shown(await find(app, project, "opens library", "semantic")) == ["The end 完"]


@pytest.mark.one_database
async def test_old_and_new_passage_are_not_both_shown(app: App, project: int) -> None:
    document = await make_document(app, project, "The alpha release", "An alpha 灯塔 test")
    await settle(app)
    async with asyncio.timeout(flows.PATIENCE_S):
        edit = asyncio.create_task(save(app, document.id, "The alpha release, as planned", "An alpha 灯塔 test"))
        async with waiting_in(app, "delete"):
            await edit
            assert sorted(shown(await find(app, project, "alpha"))) == [
                "An alpha 灯塔 test",
                "The alpha release, as planned",
            ]


@pytest.mark.one_database
async def test_a_passage_of_several_lines_is_found_in_as_many_lines(app: App, project: int) -> None:
    lines = "one 一\ntwo alpha 二\nthree 三"
    document = await make_document(app, project, "Before 之前", lines, "After 之后")
    await hold(app)
    await save(app, document.id, "Before 之前", "one 一\ntwo 🎈 alpha 二二\nthree 三三", "After 之后")
    text = await text_of(app, document.id)
    (result,) = (await find(app, project, "alpha")).results
    assert "🎈 alpha 二二" in result.snippet == text[result.start : result.end]
    assert "After" not in result.snippet


@pytest.mark.parametrize("language", EDITS)
@pytest.mark.parametrize("step", ["write", "delete"])
async def test_a_changed_node_of_a_table_is_found_while_the_engine_is_updated(
    app: App, project: int, language: str, step: str
) -> None:
    query, before, after = EDITS[language]
    table = await make_table(app, project, {"a": before, "b": "else"})
    await add_tool(app, table)
    await settle(app)
    async with asyncio.timeout(flows.PATIENCE_S):
        edit = asyncio.create_task(app.tables.put(table.id, "/a", json.dumps(after).encode(), None))
        async with waiting_in(app, step):
            await edit
            assert await texts(app, table, query) in ([before], [after])
    await settle(app)
    assert await texts(app, table, query) == [after]
    assert [row.chunk_text for row in await flows.rows(app)] == ["else", after]


async def test_a_node_that_is_deleted_is_not_found_while_others_are_indexed(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    table = await make_table(app, project, {"a": "alpha 灯塔", "b": "else"})
    await add_tool(app, table)
    await settle(app)
    embedder.open.clear()
    try:
        await app.tables.put(table.id, "", json.dumps({"b": "changed"}).encode(), None)

        async def is_followed() -> bool:
            return bool((await flows.state(app, table)).indexed_revision == 2)

        await flows.until(app, is_followed)
        assert await texts(app, table, "alpha") == await texts(app, table, "灯塔") == []
        assert await texts(app, table, "else") == ["else"]
    finally:
        embedder.open.set()
    await settle(app)
    assert [row.chunk_text for row in await flows.rows(app)] == ["changed"]


async def test_a_text_that_is_restored_before_it_was_replaced_keeps_its_chunk(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    document = await make_document(app, project, "The alpha release 灯塔", "The end 完")
    table = await make_table(app, project, {"a": "The alpha release 灯塔"})
    await add_tool(app, table)
    await settle(app)
    before = [row.id for row in await flows.rows(app, document_id=document.id)]
    embedder.fails_on = "beta"
    await save(app, document.id, "The beta release 港口", "The end 完")
    await app.tables.put(table.id, "/a", b'"The beta release"', None)
    await settle(app, errors=True)
    assert len([row for row in await flows.rows(app) if row.last_revision == 1]) == 2
    await save(app, document.id, "The alpha release 灯塔", "The end 完")
    await app.tables.put(table.id, "/a", '"The alpha release 灯塔"'.encode(), None)
    await settle(app)
    assert [row.id for row in await flows.rows(app, document_id=document.id)] == before
    assert [row.last_revision for row in await flows.rows(app)] == [None] * 3
    assert shown(await find(app, project, "alpha")) == ["The alpha release 灯塔"]
    assert await texts(app, table, "灯塔") == ["The alpha release 灯塔"]


async def test_replaced_chunks_of_an_interrupted_update_are_deleted_by_the_next(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    document = await make_document(app, project, "The alpha release 灯塔")
    await settle(app)
    embedder.open.clear()
    await save(app, document.id, "The new alpha release 灯塔")

    async def is_followed() -> bool:
        return bool((await flows.state(app, document)).indexed_revision == 2)

    await flows.until(app, is_followed)
    closing = asyncio.create_task(app.index_worker.close())
    embedder.open.set()
    await closing
    await app.index_worker.start()
    await settle(app)
    assert [row.chunk_text for row in await flows.rows(app)] == ["The new alpha release 灯塔"]
    assert len(flows.held(app, (await flows.rows(app))[0].turbopuffer_namespace)) == 1


@pytest.mark.one_database
async def test_a_changed_passage_does_not_hide_its_neighbours(app: App, project: int) -> None:
    paragraphs = [f"Alpha heron {number} 灯塔" for number in range(30)]
    document = await make_document(app, project, *paragraphs)
    await hold(app)
    changed = [*paragraphs[:10], "Alpha, altogether different", *paragraphs[11:]]
    await save(app, document.id, "An introduction", *changed)
    assert set(paragraphs) - {paragraphs[10]} <= set(shown(await find(app, project, "alpha")))
