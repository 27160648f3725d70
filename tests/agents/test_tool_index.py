"""The index of a search tool: creation, repair, status, limits, rebuild and deletion, on both databases."""

import asyncio
import itertools
import json
import threading
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.errors import FindspotError
from findspot.indexing.status import DocumentIndexState
from findspot.models import OWNER, Backoff, Table, TableIndexState, Tool, table_namespace
from findspot.runtime import messages
from findspot.settings import Settings
from findspot.store import chunks as chunk_rows
from findspot.store import projects as project_rows
from findspot.store.schema import chunks, gone_chunks, index_states
from tests import flows
from tests.agents.tools import CHINESE, ENGLISH, make_table, search_spec
from tests.flows import FakeEmbedder

pytestmark = pytest.mark.fake_embedder

LARGE = {"en": ENGLISH, "zh": CHINESE, "mixed": "灯塔 lighthouse 🗼 e\u0301 臺灣 " * 40}


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    embedder = FakeEmbedder()
    flows.use(monkeypatch, embedder)
    return embedder


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("findspot.indexing.worker.NAMESPACE_BACKOFF", Backoff(0.01, 0.05))


def held(app: App, table: Table) -> list[int]:
    return [int(each) for each in app.engine.ids(table_namespace(table.project_id, table.id))]


async def make(app: App, table: Table, pointer: str = "", **config: Any) -> Tool:
    made = await app.tools.create(table.project_id, search_spec(table, pointer, **{"chunk_size": 200, **config}))
    assert made.status == "ready"
    return made.tool


async def names(app: App) -> list[str]:
    return sorted(row.turbopuffer_doc_id for row in await flows.rows(app))


async def put(app: App, table: Table, pointer: str, value: Any) -> None:
    await app.tables.put(table.id, pointer, json.dumps(value).encode(), None)


async def ask(app: App, tool: Tool, query: str, language: str = "en") -> Any:
    text = await app.tool_calls.call_text(tool, json.dumps({"query": query}).encode(), OWNER, language)
    return json.loads(text)


# ── creation and repair ──


@pytest.mark.scenario("003.edge.concurrent-creation")
async def test_concurrent_creations_write_each_chunk_to_the_engine_once(app: App, embedder: FakeEmbedder) -> None:
    table = await make_table(app, LARGE)
    await asyncio.gather(*(make(app, table) for _ in range(20)))
    assert held(app, table) == sorted(row.id for row in await flows.rows(app))
    assert len(await names(app)) == len(set(await names(app))) > 20
    assert len(embedder.asked) == len(set(embedder.asked))


@pytest.mark.parametrize("lost", ["one between", "all but one"])
async def test_creating_a_tool_restores_chunks_that_the_store_has_lost(app: App, lost: str) -> None:
    table = await make_table(app, LARGE)
    await make(app, table)
    before, every = await names(app), [row for row in await flows.rows(app) if row.json_pointer == "/zh"]
    assert len(every) > 3
    gone = {"one between": every[1:2], "all but one": every[1:]}[lost]
    async with app.store.write() as connection:
        await connection.execute(sa.delete(chunks).where(chunks.c.id.in_([row.id for row in gone])))
    made = await app.tools.create(table.project_id, search_spec(table, chunk_size=200))
    assert await names(app) == before
    assert made.chunks_created == len(every)
    await flows.settle(app)
    assert held(app, table) == sorted(row.id for row in await flows.rows(app))


@pytest.mark.scenario("000.indexing.repeat-makes-nothing-twice", "002.why.chunks-reach-engine")
async def test_creating_a_tool_restores_chunks_that_the_engine_has_lost(app: App, embedder: FakeEmbedder) -> None:
    table = await make_table(app, LARGE)
    await make(app, table)
    every, asked = held(app, table), len(embedder.asked)
    await flows.lose(app, table_namespace(table.project_id, table.id), every[::2])
    made = await app.tools.create(table.project_id, search_spec(table, chunk_size=200))
    assert made.chunks_created == 0
    await flows.settle(app)
    assert held(app, table) == every
    assert len(embedder.asked) == asked


async def test_a_node_that_was_half_inserted_before_an_interruption_is_completed(
    short_pauses: None, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = chunk_rows.insert

    async def insert_half(connection: Any, new: Any) -> None:
        monkeypatch.setattr(chunk_rows, "insert", insert)
        await insert(connection, new)
        await connection.execute(sa.delete(chunks).where(chunks.c.chunk_index > 1))
        await connection.commit()
        raise OSError("interrupted")

    monkeypatch.setattr(chunk_rows, "insert", insert_half)
    table = await make_table(app, LARGE)
    await app.tools.create(table.project_id, search_spec(table, chunk_size=200))
    await flows.settle(app)
    rows = await flows.rows(app)
    totals = {row.json_pointer: row.total_chunks for row in rows}
    assert len(rows) == sum(totals.values()) > 3 * len(totals)
    assert held(app, table) == sorted(row.id for row in rows)


@pytest.mark.scenario("003.api.chunk-rebuild")
async def test_a_rebuild_writes_all_chunks_again_while_searches_continue(app: App, embedder: FakeEmbedder) -> None:
    table = await make_table(app, LARGE)
    tool, other = await make(app, table, "/zh"), await make(app, table, "/en")
    written: list[int] = []
    is_open = threading.Event()

    def write(namespace: str, fingerprint: str, batch: Any) -> None:
        assert is_open.wait(flows.PATIENCE_S)
        written.extend(batch.ids)
        flows.watched(app).engine.write(namespace, fingerprint, batch)

    asked, before = len(embedder.asked), held(app, table)
    flows.watched(app).instead["write"] = write
    await app.tools.rebuild_chunks(tool.id)

    async def is_at_work() -> bool:
        return bool((await app.tools.search_index(tool.id))["status"] == "indexing")

    await flows.until(app, is_at_work)
    assert (await app.tools.search_index(tool.id))["indexed_chunks_count"] == 0
    assert (await ask(app, tool, "潮汐"))["results"]
    is_open.set()
    await flows.settle(app)
    assert sorted(written) == [row.id for row in sorted(await flows.rows(app)) if row.json_pointer == "/zh"]
    assert held(app, table) == before
    assert len(embedder.asked) == asked
    assert (await ask(app, other, "tide"))["results"]


# ── status ──


@pytest.mark.scenario("003.rechunk.updated-at", "002.data.status-in-metadata")
async def test_the_index_status_is_right_before_during_and_after_a_change(app: App, embedder: FakeEmbedder) -> None:
    table = await make_table(app, {"a": "the first tide"})
    tool = await make(app, table)
    before, first = await app.tools.get(tool.id), await app.tools.search_index(tool.id)
    assert (first["status"], first["chunks_count"], first["indexed_chunks_count"]) == ("ready", 1, 1)
    assert first["configured_at"] <= first["indexed_at"]
    embedder.open.clear()
    await put(app, table, "", {"a": "the first tide", "b": "第二次潮汐"})

    async def cut() -> bool:
        return bool((await app.tools.search_index(tool.id))["status"] == "indexing")

    await flows.until(app, cut)
    during = await app.tools.search_index(tool.id)
    assert (during["chunks_count"], during["indexed_chunks_count"], during["nodes_count"]) == (2, 1, 2)
    assert during["indexed_at"] == first["indexed_at"]
    new = (await app.tools.create(table.project_id, search_spec(table), wait=False)).tool
    assert (await app.tools.search_index(new.id))["indexed_at"] is None
    embedder.open.set()
    await flows.settle(app)
    after = await app.tools.search_index(tool.id)
    assert (after["status"], after["chunks_count"], after["indexed_chunks_count"]) == ("ready", 2, 2)
    assert after["indexed_at"] > first["indexed_at"]
    assert (await app.tools.get(tool.id)).updated_at > before.updated_at
    assert (await app.tools.every(table.project_id))[0] == await app.tools.get(tool.id)


async def test_a_search_has_a_notice_while_the_index_is_not_up_to_date(app: App, embedder: FakeEmbedder) -> None:
    table = await make_table(app, {"a": "the first tide"})
    tool = await make(app, table)
    assert "notice" not in await ask(app, tool, "tide")
    embedder.open.clear()
    await put(app, table, "/a", "the second tide")
    for language in ("en", "zh"):
        notice = (await ask(app, tool, "tide", language))["notice"]
        assert notice in (
            messages.outdated(TableIndexState("pending", 0, 0, None), "", language),
            messages.outdated(TableIndexState("indexing", 0, 1, None), "", language),
        )
    embedder.fails_on = "third"
    embedder.open.set()
    await put(app, table, "/a", "the third tide")
    await flows.settle(app, errors=True)
    assert (await ask(app, tool, "tide"))["notice"] == messages.outdated(
        TableIndexState("error", 0, 1, None), "EMBEDDING_UNAVAILABLE", "en"
    )
    embedder.fails_on = "\0"
    await put(app, table, "/a", "the fourth tide")
    await flows.settle(app)
    answer = await ask(app, tool, "fourth")
    assert ("notice" in answer, [each["chunk"]["chunk_text"] for each in answer["results"]]) == (
        False,
        ["the fourth tide"],
    )


async def test_a_tool_is_created_while_the_table_changes_all_the_time(app: App) -> None:
    table = await make_table(app, {"a": "the tide 0", "b": "潮汐"})
    await make(app, table)

    async def keep_changing() -> None:
        for number in itertools.count(1):
            await put(app, table, "/a", f"the tide {number}")

    writer = asyncio.create_task(keep_changing())
    async with asyncio.timeout(flows.PATIENCE_S):
        for _ in range(3):
            made = await app.tools.create(table.project_id, search_spec(table, "/b", chunk_size=150))
            assert [each["json_path"] for each in (await ask(app, made.tool, "潮汐"))["results"]] == [""]
    writer.cancel()


# ── a full project ──


@pytest.fixture
def small(settings: Settings) -> Settings:
    return settings.model_copy(update={"max_chunks": 10})


async def test_a_tool_over_the_chunk_limit_is_not_created(small: Settings, embedder: FakeEmbedder) -> None:
    async with open_app(small) as app:
        table = await make_table(app, [f"word {at} 词" for at in range(8)] + ["long " * 500])
        fits = await make(app, table, "/0")
        with pytest.raises(FindspotError, match="The tool was not created") as caught:
            await app.tools.create(table.project_id, search_spec(table, chunk_size=100))
        assert (caught.value.code, caught.value.kind.status) == ("SEARCH_CAPACITY_EXCEEDED", 507)
        await flows.settle(app)
        assert [each.id for each in await app.tools.every(table.project_id)] == [fits.id]
        assert [row.json_pointer for row in await flows.rows(app)] == ["/0"]
        assert (await app.tools.search_index(fits.id))["last_error"] is None


@pytest.mark.scenario("D40")
async def test_a_project_at_its_chunk_limit_saves_content_without_indexing_it(
    small: Settings, embedder: FakeEmbedder
) -> None:
    async with open_app(small) as app:
        table = await make_table(app, [f"word {at} 词" for at in range(9)])
        tool = await make(app, table)
        await put(app, table, "", [f"word {at} 词" for at in range(12)])
        await flows.settle(app)
        index = await app.tools.search_index(tool.id)
        assert (index["status"], index["chunks_count"], index["indexed_chunks_count"]) == ("ready", 10, 10)
        assert index["skipped_nodes"] == [{"json_pointer": f"/{at}", "reason": "project_full"} for at in (10, 11)]
        assert index["last_error"].startswith("SEARCH_CAPACITY_EXCEEDED: 2 chunks")
        for language in ("en", "zh"):
            assert (await ask(app, tool, "word", language))["notice"] == messages.chunk_limit_reached(language)
        for refused in (
            app.tools.create(table.project_id, search_spec(table)),
            app.tools.rebuild_chunks(tool.id),
        ):
            with pytest.raises(FindspotError) as caught:
                await refused
            assert caught.value.code == "SEARCH_CAPACITY_EXCEEDED"
        document = await flows.make_document(app, table.project_id, "no room 没有位置")
        await flows.settle(app, errors=True)
        assert (await flows.state(app, document)).last_error.startswith("SEARCH_CAPACITY_EXCEEDED")
        assert (await flows.find(app, table.project_id, "room")).index == DocumentIndexState("indexing", 0, 1, True)
        await put(app, table, "", [f"word {at} 词" for at in range(3, 12)])
        await flows.settle(app, errors=True)
        index = await app.tools.search_index(tool.id)
        assert (index["chunks_count"], index["skipped_nodes"], index["last_error"]) == (9, [], None)
        assert "notice" not in await ask(app, tool, "word")


# ── deletion ──


async def test_the_namespace_is_dropped_with_the_last_tool_and_created_with_a_new_one(app: App) -> None:
    table = await make_table(app, LARGE)
    tools = [await make(app, table, "/en"), await make(app, table)]
    for tool in tools:
        assert app.engine.namespaces(table.project_id) == [table_namespace(table.project_id, table.id)]
        await app.tools.delete(tool.id)
        await flows.settle(app)
    assert await flows.rows(app) == []
    assert app.engine.namespaces(table.project_id) == []
    again = await make(app, table)
    assert (await ask(app, again, "潮汐"))["results"]


@pytest.mark.scenario("D38", "003.edge.table-deleted", "003.namespace.dropped-with-table")
@pytest.mark.parametrize("what", ["table", "project"])
async def test_deleting_a_table_or_project_works_without_the_engine_which_is_cleaned_up_later(
    short_pauses: None, app: App, what: str
) -> None:
    table = await make_table(app, LARGE)
    await make(app, table)
    is_available = False

    def absent(namespace: str, *, fence: int) -> None:
        if not is_available:
            raise FindspotError("ENGINE_UNAVAILABLE", "The engine is unavailable.")
        flows.watched(app).engine.drop(namespace, fence=fence)

    flows.watched(app).instead["drop"] = absent
    if what == "table":
        await app.tables.delete(table.id)
    else:
        await app.tables.delete_all(table.project_id)
        async with app.store.write() as connection:
            assert await project_rows.delete(connection, table.project_id)
    with pytest.raises(FindspotError):
        await flows.read_table(app, table.id)
    async with app.store.read() as connection:
        assert (await connection.execute(sa.select(sa.func.count()).select_from(gone_chunks))).scalar_one() > 0
        assert (await connection.execute(sa.select(sa.func.count()).select_from(index_states))).scalar_one() == 0
    is_available = True
    await flows.settle(app)
    assert app.engine.namespaces(table.project_id) == []


@pytest.mark.scenario("003.edge.partial-failure")
async def test_a_tool_has_an_error_without_the_engine_and_becomes_ready_with_it(short_pauses: None, app: App) -> None:
    def absent(*arguments: Any) -> None:
        raise FindspotError("ENGINE_UNAVAILABLE", "The engine is unavailable.")

    table = await make_table(app, LARGE)
    flows.watched(app).instead["write"] = absent
    made = await app.tools.create(table.project_id, search_spec(table, chunk_size=200))
    index = await app.tools.search_index(made.tool.id)
    assert (made.status, index["indexed_chunks_count"]) == ("error", 0)
    assert index["last_error"] == "ENGINE_UNAVAILABLE: The engine is unavailable."
    del flows.watched(app).instead["write"]
    await flows.settle(app)
    index = await app.tools.search_index(made.tool.id)
    assert (index["status"], index["last_error"]) == ("ready", None)
    assert index["chunks_count"] == index["indexed_chunks_count"] > 3
