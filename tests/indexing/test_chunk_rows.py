"""Changed sources become chunk rows: what is kept, moved, added and deleted."""

from collections.abc import Callable
from typing import Any, cast

import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.indexing import cutting
from findspot.indexing.chunk_rows import ChunkRows
from findspot.indexing.leases import Leases
from findspot.models import NamespaceKey, documents_namespace, table_namespace
from findspot.runtime.helpers import Helpers
from findspot.settings import Settings
from findspot.store import replaced_chunks
from findspot.store.index_states import request_documents
from findspot.store.schema import changes, documents, index_states
from tests import flows
from tests.flows import (
    MIXED,
    FakeEmbedder,
    add_tool,
    held,
    make_document,
    make_project,
    make_table,
    rows,
    save,
    settle,
    texts,
)

pytestmark = pytest.mark.fake_embedder


# ── documents ──


async def test_an_edit_embeds_only_new_paragraphs_and_the_others_keep_their_chunks(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    document = await make_document(app, project, "alpha one", "beta two", "alpha one", "gamma 三")
    await settle(app)
    before = await rows(app)
    embedder.asked.clear()
    await save(app, document.id, "delta 零", "alpha one", "beta two", "alpha one", "gamma 三")
    await settle(app)
    first, *others = await rows(app)
    assert embedder.asked == flows.embedded("delta 零")
    assert first.chunk_text == "delta 零"
    assert [row.id for row in others] == [row.id for row in before]
    shift = len("delta 零") + others[0].char_start - first.char_end
    assert [row.char_start - old.char_start for row, old in zip(others, before, strict=True)] == [shift] * 4
    assert [(row.chunk_index, row.total_chunks) for row in others] == [(index, 5) for index in range(1, 5)]
    assert all(row.indexed for row in others)
    embedder.asked.clear()
    await save(app, document.id, "delta 零", "alpha one", "beta changed", "alpha one", "gamma 三")
    await settle(app)
    after = await rows(app)
    assert embedder.asked == flows.embedded("beta changed")
    assert [row.chunk_text for row in after if row.id not in {old.id for old in (first, *others)}] == ["beta changed"]
    assert held(app, documents_namespace(project)) == sorted(row.id for row in after)


@pytest.mark.one_database
async def test_every_chunk_row_gives_the_exact_range_of_its_text(app: App, project: int) -> None:
    long = " ".join(f"{number}. {text}" for number, text in enumerate(MIXED * 30))
    document = await make_document(app, project, *MIXED, long, long.replace(" ", ""))
    table = await make_table(app, project, {"a": long, "b": [{"c/d": text} for text in MIXED]})
    await add_tool(app, table, chunk_size=120, chunk_overlap=30)
    await settle(app)
    text = await flows.text_of(app, document.id)
    of_document = await rows(app, document_id=document.id)
    assert len(of_document) > 6
    assert all(text[row.char_start : row.char_end] == row.chunk_text for row in of_document)
    nodes = {"/a": long} | {f"/b/{index}/c~1d": node for index, node in enumerate(MIXED)}
    of_table = await rows(app, table_id=table.id)
    assert {row.json_pointer for row in of_table} == set(nodes)
    for row in of_table:
        assert nodes[row.json_pointer][row.char_start : row.char_end] == row.chunk_text
        assert row.node_length == len(nodes[row.json_pointer])


@pytest.mark.one_database
async def test_more_documents_than_one_round_takes_are_all_cut(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.indexing.chunk_rows.DOCUMENTS_AT_ONCE", 3)
    monkeypatch.setattr("findspot.indexing.chunk_rows.BYTES_AT_ONCE", 40)
    monkeypatch.setattr("findspot.indexing.batches.CHUNKS_AT_ONCE", 4)
    made = [await make_document(app, project, f"number {number}", "x" * number * 5) for number in range(11)]
    await settle(app)
    assert {row.document_id for row in await rows(app)} == {document.id for document in made}
    assert len(held(app, documents_namespace(project))) == 21


@pytest.mark.one_database
@pytest.mark.parametrize("text", ["harbour {}", "港口{}"], ids=["English", "Chinese"])
async def test_documents_that_are_cut_at_the_same_time_share_the_room_of_the_project(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("findspot.indexing.chunk_rows.CUT_AT_ONCE", 2)
    async with open_app(settings.model_copy(update={"max_chunks": 3}), worker=False) as app:
        helpers = Helpers()
        chunk_rows = ChunkRows(app.store, Leases(app.store), helpers, app.settings)
        project = await flows.make_project(app)
        made = [await make_document(app, project, text.format(number)) for number in range(5)]
        try:
            assert await chunk_rows.update(NamespaceKey(project, None))
        finally:
            await helpers.close()
        assert [row.document_id for row in await rows(app)] == [document.id for document in made[:3]]
        assert [(await flows.state(app, document)).status for document in made] == ["indexing"] * 3 + ["error"] * 2


async def test_a_document_that_cannot_be_cut_does_not_delay_the_others(app: App, project: int) -> None:
    bad = await make_document(app, project, "spoiled")
    await settle(app)
    async with app.store.write() as connection:
        values = {"format": "tiptap", "content": b"{", "revision": 2}
        await connection.execute(sa.update(documents).where(documents.c.id == bad.id).values(values))
        await connection.execute(sa.update(index_states).values(attempts=9))
    good = await make_document(app, project, "sound")
    await settle(app, errors=True)
    assert (await flows.state(app, bad)).last_error
    assert (await flows.state(app, good)).status == "ready"
    assert await texts(app, good, "sound") == ["sound"]


# ── tables ──


@pytest.mark.scenario("003.decision.lazy")
async def test_a_table_without_a_tool_is_not_indexed(app: App, project: int) -> None:
    table = await make_table(app, project, {"a": "words"})
    await settle(app)
    assert await rows(app) == []
    assert app.engine.namespaces(project) == []
    tool = await add_tool(app, table)
    await settle(app)
    assert [row.chunk_text for row in await rows(app)] == ["words"]
    await flows.remove_tool(app, table, tool)
    await settle(app)
    assert await rows(app) == []
    assert held(app, table_namespace(project, table.id)) == []


@pytest.mark.one_database
async def test_tools_share_the_chunks_that_lie_in_both_scopes(app: App, project: int, embedder: FakeEmbedder) -> None:
    table = await make_table(app, project, {"a": {"b": "bee 蜂", "c": "sea 海"}, "d": "dee"})
    await add_tool(app, table, "/a")
    await settle(app)
    before = {row.json_pointer: row.id for row in await rows(app)}
    assert set(before) == {"/a/b", "/a/c"}
    embedder.asked.clear()
    wide = await add_tool(app, table, "")
    await settle(app)
    after = {row.json_pointer: row.id for row in await rows(app)}
    assert after == before | {"/d": after["/d"]}
    assert embedder.asked == ["d\n\ndee"]
    await flows.remove_tool(app, table, wide)
    await settle(app)
    assert {row.json_pointer: row.id for row in await rows(app)} == before


@pytest.mark.one_database
async def test_a_table_is_cut_once_for_each_chunk_size_and_overlap(app: App, project: int) -> None:
    long = "One sentence of thirty letters. " * 20
    table = await make_table(app, project, {"long": long, "short": "tiny"})
    await add_tool(app, table, chunk_size=100, chunk_overlap=10, chunk_threshold=50)
    await add_tool(app, table, chunk_size=300, chunk_overlap=0, chunk_threshold=1)
    await settle(app)
    cuts = {(row.json_pointer, row.chunk_size, row.chunk_overlap) for row in await rows(app)}
    assert cuts == {("/long", 100, 10), ("/long", 300, 0), ("/short", 300, 0)}
    assert (await flows.state(app, table)).nodes == 2


@pytest.mark.scenario("003.edge.oversized-node")
@pytest.mark.one_database
async def test_nodes_that_are_not_indexed_are_listed_with_the_reason(
    settings: Settings, embedder: FakeEmbedder
) -> None:
    limits = settings.model_copy(update={"max_content_size": 5000, "max_chunks_per_node": 3})
    async with open_app(limits) as app:
        project = await make_project(app)
        table = await make_table(app, project, {"many": "word " * 300, "huge": "x" * 6000, "fine": "一句话"})
        await add_tool(app, table, chunk_size=100, chunk_overlap=0)
        await settle(app)
        found = await flows.state(app, table)
        assert {each["json_pointer"]: each["reason"] for each in found.skipped} == {
            "/many": "too_many_chunks",
            "/huge": "content_too_long",
        }
        assert [row.json_pointer for row in await rows(app)] == ["/fine"]


@pytest.mark.scenario(
    "003.rechunk.new-chunks-in",
    "003.rechunk.same-hash-untouched",
    "003.aim.incremental",
    "001.decision.new-content-new-ids",
)
@pytest.mark.one_database
async def test_an_edit_of_a_table_embeds_only_the_changed_node(app: App, project: int, embedder: FakeEmbedder) -> None:
    table = await make_table(app, project, {"list": [f"node number {number}" for number in range(300)]})
    await add_tool(app, table)
    await settle(app)
    before = {row.json_pointer: row.id for row in await rows(app)}
    embedder.asked.clear()
    await app.tables.put(table.id, "/list/7", '"changed 七"'.encode(), None)
    await settle(app)
    after = {row.json_pointer: row.id for row in await rows(app)}
    assert embedder.asked == ["list\n\nchanged 七"]
    assert {pointer for pointer in after if after[pointer] != before[pointer]} == {"/list/7"}
    assert held(app, table_namespace(project, table.id)) == sorted(after.values())


async def test_recorded_changes_of_a_table_are_deleted_once_they_are_indexed(app: App, project: int) -> None:
    table = await make_table(app, project, {"a": "red fox", "b": "red dog"})
    await add_tool(app, table)
    await flows.hold(app)
    await app.tables.put(table.id, "/b", b'"new"', None)

    async def recorded() -> list[str]:
        async with app.store.read() as connection:
            return list((await connection.execute(sa.select(changes.c.json_pointer))).scalars())

    assert await recorded() == ["/b"]
    await app.index_worker.start()
    await settle(app)
    assert await recorded() == []


# ── changes while a source is cut ──


def before_the_cut(monkeypatch: pytest.MonkeyPatch, change: Callable[[], Any]) -> None:
    """Make a change between reading a source and writing its rows, the first time."""
    left, run = [change], cast(Any, Helpers.run)

    async def after_a_change(self: Helpers, project_id: int, function: Any, *arguments: Any) -> Any:
        if function in (cutting.cut_documents, cutting.cut_table) and left:
            await left.pop()()
        return await run(self, project_id, function, *arguments)

    monkeypatch.setattr(Helpers, "run", after_a_change)


async def test_a_document_edited_while_it_is_cut_is_cut_again(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await make_document(app, project, "alpha")
    await settle(app)
    before_the_cut(monkeypatch, lambda: save(app, document.id, "gamma"))
    await save(app, document.id, "beta")
    await settle(app)
    assert [row.chunk_text for row in await rows(app)] == ["gamma"]
    assert (await flows.state(app, document)).indexed_revision == 3


async def test_a_text_that_comes_back_while_its_old_chunk_is_deleted_is_cut_again(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await make_document(app, project, "灯塔 lighthouse", "stays")
    await flows.hold(app)
    old = next(row.id for row in await rows(app) if "lighthouse" in row.chunk_text)
    async with app.store.write() as connection:  # as if another text had replaced it for a moment
        await replaced_chunks.replace_passages(connection, [old])
        await request_documents(connection, [document.id])

    async def delete() -> None:
        async with app.store.write() as connection:
            await replaced_chunks.delete(connection, [old])

    before_the_cut(monkeypatch, delete)
    await app.index_worker.start()
    await settle(app)
    assert {row.chunk_text for row in await rows(app)} == {"灯塔 lighthouse", "stays"}
    assert await texts(app, document, "lighthouse") == ["灯塔 lighthouse"]


async def test_a_document_or_table_deleted_while_it_is_cut_leaves_nothing(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = await make_table(app, project, {"a": "words"})
    await settle(app)
    before_the_cut(monkeypatch, lambda: app.tables.delete(table.id))
    await add_tool(app, table)
    await settle(app)
    document = await make_document(app, project, "alpha")
    await settle(app)
    before_the_cut(monkeypatch, lambda: app.documents.delete(document.id))
    await save(app, document.id, "beta")
    await settle(app)
    assert await rows(app) == []
    assert held(app, documents_namespace(project)) == []
    assert table_namespace(project, table.id) not in app.engine.namespaces(project)


async def test_a_tool_added_while_its_table_is_cut_gets_its_chunks(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = await make_table(app, project, {"a": "one", "b": "two"})
    await settle(app)
    before_the_cut(monkeypatch, lambda: add_tool(app, table, "/b"))
    await add_tool(app, table, "/a")
    await settle(app)
    assert [row.json_pointer for row in await rows(app)] == ["/a", "/b"]
