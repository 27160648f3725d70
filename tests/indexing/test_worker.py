"""The index follows its sources, on both databases: whatever is edited, fails, is damaged or is killed in between."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.protocol import Batch, Damaged, Source
from findspot.indexing import cutting
from findspot.indexing.status import Problem
from findspot.models import Backoff, NamespaceKey, documents_namespace, table_namespace
from findspot.runtime.helpers import Helpers
from findspot.search import Degradation, Strategy
from findspot.settings import Settings
from findspot.store import index_states as states
from findspot.store import projects
from findspot.store import tables as table_rows
from findspot.store.database import Store
from findspot.store.schema import chunks, index_states
from tests import flows
from tests.flows import Telling, add_tool, make_document, make_project, make_table, rows, save, search, settle, texts

pytestmark = pytest.mark.telling

MIXED = (
    "The river runs past the mill. " * 3,
    "河水流过磨坊。臺灣的圖書館很安靜。",
    "mixed 中英 text with 👩‍👩‍👧 family and 🇨🇳 flag",
    "e\u0301 combining n\u0303 marks — a\u0308 o\u0302",
)


def held(app: App, namespace: str) -> list[int]:
    return [int(each) for each in app.engine.ids(namespace)]


# ── documents ──


async def test_a_new_document_is_found_and_a_deleted_one_is_not(app: App, project: int) -> None:
    document = await make_document(app, project, *MIXED)
    await settle(app)
    assert (await flows.state(app, document)).status == "ready"
    for query, text in (("river mill", MIXED[0].strip()), ("圖書館", MIXED[1]), ("family", MIXED[2]), ("ñ", MIXED[3])):
        assert (await texts(app, document, query))[0] == text
    await app.documents.delete(document.id)
    assert await texts(app, document, "river") == []
    await settle(app)
    assert held(app, documents_namespace(project)) == []


async def test_a_paragraph_at_the_top_is_all_that_is_embedded_and_the_others_move(
    app: App, project: int, embedder: Telling
) -> None:
    document = await make_document(app, project, "alpha one", "beta two", "alpha one", "gamma 三")
    await settle(app)
    before = await rows(app)
    embedder.asked.clear()
    await save(app, document.id, "delta 零", "alpha one", "beta two", "alpha one", "gamma 三")
    await settle(app)
    first, *others = await rows(app)
    assert embedder.asked == ["delta 零"] == [first.chunk_text]
    assert [row.id for row in others] == [row.id for row in before]
    shift = len("delta 零") + others[0].char_start - first.char_end
    assert [row.char_start - old.char_start for row, old in zip(others, before, strict=True)] == [shift] * 4
    assert [(row.chunk_index, row.total_chunks) for row in others] == [(place, 5) for place in range(1, 5)]
    assert all(row.indexed for row in others)


async def test_a_changed_paragraph_takes_the_place_of_the_old_one(app: App, project: int, embedder: Telling) -> None:
    document = await make_document(app, project, "alpha", "beta", "gamma")
    await settle(app)
    before = {row.chunk_text: row.id for row in await rows(app)}
    embedder.asked.clear()
    await save(app, document.id, "alpha", "beta changed", "gamma")
    await settle(app)
    after = {row.chunk_text: row.id for row in await rows(app)}
    assert embedder.asked == ["beta changed"]
    assert (after["alpha"], after["gamma"]) == (before["alpha"], before["gamma"])
    assert before["beta"] not in held(app, documents_namespace(project))
    assert held(app, documents_namespace(project)) == sorted(after.values())


async def test_every_chunk_stands_where_its_row_says(app: App, project: int) -> None:
    long = " ".join(f"{number}. {text}" for number, text in enumerate(MIXED * 30))
    document = await make_document(app, project, *MIXED, long, long.replace(" ", ""))
    table = await make_table(app, project, {"a": long, "b": [{"c/d": text} for text in MIXED]})
    await add_tool(app, table, chunk_size=120, chunk_overlap=30)
    await settle(app)
    text = await flows.text_of(app, document.id)
    of_document = await rows(app, document_id=document.id)
    assert len(of_document) > 6
    assert all(text[row.char_start : row.char_end] == row.chunk_text for row in of_document)
    nodes = {"/a": long} | {f"/b/{place}/c~1d": node for place, node in enumerate(MIXED)}
    of_table = await rows(app, table_id=table.id)
    assert {row.json_pointer for row in of_table} == set(nodes)
    for row in of_table:
        assert nodes[row.json_pointer][row.char_start : row.char_end] == row.chunk_text
        assert row.node_length == len(nodes[row.json_pointer])


async def test_more_documents_than_are_read_at_once_are_all_followed(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.indexing.chunk_rows.DOCUMENTS_AT_ONCE", 3)
    monkeypatch.setattr("findspot.indexing.chunk_rows.BYTES_AT_ONCE", 40)
    monkeypatch.setattr("findspot.indexing.batches.CHUNKS_AT_ONCE", 4)
    made = [await make_document(app, project, f"number {number}", "x" * number * 5) for number in range(11)]
    await settle(app)
    assert {row.document_id for row in await rows(app)} == {document.id for document in made}
    assert len(held(app, documents_namespace(project))) == 21


async def test_a_document_that_cannot_be_cut_does_not_keep_the_others_waiting(app: App, project: int) -> None:
    bad = await make_document(app, project, "spoiled")
    await settle(app)
    async with app.store.write() as connection:
        from findspot.store.schema import documents

        values = {"format": "tiptap", "content": b"{", "revision": 2}
        await connection.execute(sa.update(documents).where(documents.c.id == bad.id).values(values))
        await connection.execute(sa.update(index_states).values(attempts=9))
    good = await make_document(app, project, "sound")
    await settle(app, errors=True)
    assert (await flows.state(app, bad)).last_error
    assert (await flows.state(app, good)).status == "ready"
    assert await texts(app, good, "sound") == ["sound"]


# ── what is deleted ──


async def test_nothing_is_left_in_the_engine_of_a_deleted_table_or_project(app: App, project: int) -> None:
    table, other = [await make_table(app, project, {"a": "some words"}) for _ in range(2)]
    await make_document(app, project, "words")
    for each in (table, other):
        await add_tool(app, each)
    await settle(app)
    assert len(app.engine.namespaces(project)) == 3
    await app.tables.delete(table.id)
    await settle(app)
    assert app.engine.namespaces(project) == [documents_namespace(project), table_namespace(project, other.id)]
    await app.tables.delete_all(project)
    await app.documents.delete_all(project)
    async with app.store.write() as connection:
        await projects.delete(connection, project)
    await settle(app)
    assert app.engine.namespaces(project) == []


async def test_a_table_that_is_hidden_and_not_yet_removed_asks_for_no_work(app: App, project: int) -> None:
    """A process that was killed while it removed a table leaves it so."""
    table = await make_table(app, project, {"a": "words"})
    await settle(app)
    async with app.store.write() as connection:
        await connection.execute(sa.update(index_states).values(status="pending"))
        assert await table_rows.hide(connection, table.id)
        assert await states.due_namespaces(connection) == []


# ── tables ──


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


async def test_tools_of_two_scopes_share_the_chunks_that_lie_in_both(app: App, project: int, embedder: Telling) -> None:
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
    assert embedder.asked == ["dee"]
    await flows.remove_tool(app, table, wide)
    await settle(app)
    assert {row.json_pointer: row.id for row in await rows(app)} == before


async def test_different_cuts_and_thresholds_live_side_by_side(app: App, project: int) -> None:
    long = "One sentence of thirty letters. " * 20
    table = await make_table(app, project, {"long": long, "short": "tiny"})
    await add_tool(app, table, chunk_size=100, chunk_overlap=10, chunk_threshold=50)
    await add_tool(app, table, chunk_size=300, chunk_overlap=0, chunk_threshold=1)
    await settle(app)
    cuts = {(row.json_pointer, row.chunk_size, row.chunk_overlap) for row in await rows(app)}
    assert cuts == {("/long", 100, 10), ("/long", 300, 0), ("/short", 300, 0)}
    assert (await flows.state(app, table)).nodes == 2


async def test_what_is_left_out_is_named(settings: Settings, embedder: Telling) -> None:
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


async def test_an_edit_of_a_table_embeds_only_the_changed_node(app: App, project: int, embedder: Telling) -> None:
    table = await make_table(app, project, {"list": [f"node number {number}" for number in range(300)]})
    await add_tool(app, table)
    await settle(app)
    before = {row.json_pointer: row.id for row in await rows(app)}
    embedder.asked.clear()
    await app.tables.put(table.id, "/list/7", '"changed 七"'.encode(), None)
    await settle(app)
    after = {row.json_pointer: row.id for row in await rows(app)}
    assert embedder.asked == ["changed 七"]
    assert {pointer for pointer in after if after[pointer] != before[pointer]} == {"/list/7"}
    assert held(app, table_namespace(project, table.id)) == sorted(after.values())


# ── changes while it works ──


def before_the_cut(app: App, monkeypatch: pytest.MonkeyPatch, change: Callable[[], Any]) -> None:
    """Do something between reading a source and writing its rows, the first time."""
    left, run = [change], cast(Any, Helpers.run)

    async def after_a_change(self: Helpers, function: Any, *arguments: Any) -> Any:
        if function in (cutting.cut_documents, cutting.cut_table) and left:
            await left.pop()()
        return await run(self, function, *arguments)

    monkeypatch.setattr(Helpers, "run", after_a_change)


async def test_a_document_edited_while_it_is_cut_is_cut_again(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await make_document(app, project, "alpha")
    await settle(app)
    before_the_cut(app, monkeypatch, lambda: save(app, document.id, "gamma"))
    await save(app, document.id, "beta")
    await settle(app)
    assert [row.chunk_text for row in await rows(app)] == ["gamma"]
    assert (await flows.state(app, document)).indexed_revision == 3


async def test_a_document_or_table_deleted_while_it_is_cut_leaves_nothing(
    app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = await make_table(app, project, {"a": "words"})
    await settle(app)
    before_the_cut(app, monkeypatch, lambda: app.tables.delete(table.id))
    await add_tool(app, table)
    await settle(app)
    document = await make_document(app, project, "alpha")
    await settle(app)
    before_the_cut(app, monkeypatch, lambda: app.documents.delete(document.id))
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
    before_the_cut(app, monkeypatch, lambda: add_tool(app, table, "/b"))
    await add_tool(app, table, "/a")
    await settle(app)
    assert [row.json_pointer for row in await rows(app)] == ["/a", "/b"]


# ── failures ──


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "SOURCE_BACKOFF", Backoff(0.05, 60))
    monkeypatch.setattr("findspot.indexing.worker.NAMESPACE_BACKOFF", Backoff(0.05, 30))


@pytest.fixture
def long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("findspot.indexing.worker.NAMESPACE_BACKOFF", Backoff(3600, 3600))


async def test_a_batch_that_cannot_be_embedded_is_tried_again_and_others_go_on(
    short_pauses: None, app: App, project: int, embedder: Telling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.indexing.batches.CHUNKS_AT_ONCE", 2)
    embedder.fails_on = "doomed"
    documents = [await make_document(app, project, text, text) for text in ("sound one", "doomed", "sound two")]

    async def two_are_ready() -> bool:
        found = [await flows.state(app, document) for document in documents]
        return [each.status for each in found] == ["ready", "error", "ready"] and found[1].attempts > 2

    await flows.until(app, two_are_ready)
    failed = await flows.state(app, documents[1])
    assert failed.last_error == "EMBEDDING_UNAVAILABLE: The service is away."
    (report,) = await app.index_status.of_project(project)
    assert (report.status, report.errors) == ("error", (failed.last_error,))
    embedder.fails_on = "\0"
    await settle(app)
    found = await flows.state(app, documents[1])
    assert (found.status, found.last_error, found.attempts) == ("ready", None, 0)
    assert await texts(app, documents[1], "doomed") == ["doomed", "doomed"]


async def test_a_text_that_the_embedder_refuses_is_found_by_its_words(
    app: App, project: int, embedder: Telling
) -> None:
    embedder.refuses = "secret"
    document = await make_document(app, project, "a secret word", "an open word", "another secret")
    await settle(app)
    assert app.engine.status(documents_namespace(project)).vectors == 1
    assert sorted(await texts(app, document, "secret", strategy=Strategy.KEYWORD)) == [
        "a secret word",
        "another secret",
    ]
    assert await texts(app, document, "word", strategy=Strategy.VECTOR) == ["an open word"]


async def test_a_namespace_that_fails_for_good_shows_why_and_leaves_time_for_others(
    long_pauses: None, app: App, project: int
) -> None:
    broken, tries = documents_namespace(project), []

    def write(namespace: str, fingerprint: str, batch: Batch) -> None:
        if namespace == broken:
            tries.append(namespace)
            raise ValueError("INSERT INTO t VALUES ('what people wrote')")
        app_engine.write(namespace, fingerprint, batch)

    app_engine = flows.watched(app).engine
    flows.watched(app).instead["write"] = write
    document = await make_document(app, project, "words")
    await settle(app, errors=True)
    for number in range(5):
        elsewhere = await make_document(app, await make_project(app), f"words {number}")
        await settle(app, errors=True)
        assert (await flows.state(app, elsewhere)).status == "ready"
    assert tries == [broken]
    found = await flows.state(app, document)
    assert found.status == "error"
    assert found.last_error == "INTERNAL: Unexpected error (ValueError). The log has the details."


async def test_what_the_engine_could_not_forget_is_forgotten_later(short_pauses: None, app: App, project: int) -> None:
    await make_document(app, project, "what stays")
    document = await make_document(app, project, "words", "more words")
    await settle(app)
    tries = []

    def delete(namespace: str, ids: list[int]) -> None:
        tries.append(ids)
        if len(tries) < 3:
            raise OSError("no room")
        flows.watched(app).engine.delete(namespace, ids)

    flows.watched(app).instead["delete"] = delete
    await app.documents.delete(document.id)
    await settle(app)
    assert len(tries) == 3
    assert len(held(app, documents_namespace(project))) == 1


async def test_the_worker_survives_whatever_its_steps_raise(short_pauses: None, app: App, project: int) -> None:
    failures = iter([RuntimeError("once"), OSError("twice")])

    def ids(namespace: str) -> Any:
        for error in failures:
            raise error
        return flows.watched(app).engine.ids(namespace)

    document = await make_document(app, project, "words")
    await settle(app)
    flows.watched(app).instead["ids"] = ids
    app.index_status.report(documents_namespace(project), Problem.WRONG_FINGERPRINT)
    await settle(app)
    await save(app, document.id, "other words")
    await settle(app)
    assert await texts(app, document, "other") == ["other words"]


# ── rebuilding ──


async def test_a_namespace_that_is_damaged_when_it_is_written_is_built_anew(app: App, project: int) -> None:
    document = await make_document(app, project, "alpha", "beta")
    await settle(app)
    damages = iter([Damaged("a file is gone")])

    def write(namespace: str, fingerprint: str, batch: Batch) -> None:
        for damage in damages:
            raise damage
        flows.watched(app).engine.write(namespace, fingerprint, batch)

    flows.watched(app).instead["write"] = write
    await save(app, document.id, "alpha", "gamma")
    await settle(app)
    assert held(app, documents_namespace(project)) == sorted(row.id for row in await rows(app))
    assert await texts(app, document, "gamma") == ["gamma"]


async def test_files_damaged_while_no_one_looked_are_built_anew_after_the_start(
    settings: Settings, embedder: Telling
) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        document = await make_document(app, project, "alpha 甲", "beta 乙")
        await settle(app)
    files = [each for each in (settings.data / "index").rglob("codes*") if each.is_file()]
    assert files
    for each in files:
        each.write_bytes(b"x")
    async with open_app(settings) as app:
        await settle(app)
        assert await texts(app, document, "甲") == ["alpha 甲"]
        assert len(held(app, documents_namespace(project))) == 2


async def test_the_old_index_serves_until_that_of_a_new_embedder_is_built(
    settings: Settings, embedder: Telling, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        document = await make_document(app, project, "alpha word", "beta word")
        await settle(app)
    new = Telling("two", 32)
    new.open.clear()
    flows.use(monkeypatch, new)
    async with open_app(settings) as app:
        namespace = documents_namespace(project)

        async def begun() -> bool:
            return await app.index_status.is_rebuilding(namespace)

        await flows.until(app, begun)
        found = await search(app, document, "alpha")
        assert [hit.found.chunk.text for hit in found.hits] == ["alpha word"]
        assert found.degraded == Degradation("EMBEDDING_UNAVAILABLE")
        new.open.set()
        await settle(app)
        status = app.engine.status(namespace)
        assert (status.fingerprint, status.dimension, status.vectors) == ("two", 32, 2)
        found = await search(app, document, "alpha")
        assert (found.degraded, found.vector_count) == (None, 2)


async def test_what_is_written_while_a_new_embedders_index_is_built_is_in_it(
    settings: Settings, embedder: Telling, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        document = await make_document(app, project, "alpha word", "beta word")
        await settle(app)
    new = Telling("two")
    new.open.clear()
    flows.use(monkeypatch, new)
    async with open_app(settings) as app:
        await save(app, document.id, "alpha word", "gamma word")
        new.open.set()
        await settle(app)
        assert (await flows.state(app, document)).status == "ready"
        assert app.engine.status(documents_namespace(project)).vectors == 2
        assert sorted(await texts(app, document, "word")) == ["alpha word", "gamma word"]


async def test_a_rebuild_whose_embedder_is_away_leaves_the_old_index_and_is_tried_again(
    settings: Settings, embedder: Telling, monkeypatch: pytest.MonkeyPatch, short_pauses: None
) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        document = await make_document(app, project, "alpha word", "beta word")
        await settle(app)
    new = Telling("two")
    new.fails_on = "beta"
    flows.use(monkeypatch, new)
    async with open_app(settings) as app:
        built = []
        build = flows.watched(app).engine.files.build

        def counted(*arguments: Any) -> Any:
            built.append(arguments)
            return build(*arguments)

        flows.watched(app).instead["build"] = counted

        async def tried_twice() -> bool:
            return len(built) > 1

        await flows.until(app, tried_twice)
        assert sorted(await texts(app, document, "word")) == ["alpha word", "beta word"]
        new.fails_on = "\0"
        await settle(app)
        assert app.engine.status(documents_namespace(project)).fingerprint == "two"


async def test_at_most_two_namespaces_of_a_project_are_rebuilt_at_once(
    app: App, project: int, embedder: Telling
) -> None:
    made = [await make_table(app, project, {"a": f"words {number}"}) for number in range(5)]
    for table in made:
        await add_tool(app, table)
    await settle(app)
    begun: list[str] = []
    at_work: list[int] = []  # how many were at work when one began
    switched: list[str] = []
    pair = threading.Barrier(2, timeout=60)
    build = flows.watched(app).engine.files.build

    def counted(*arguments: Any) -> Any:
        begun.append(arguments[0])
        at_work.append(len(begun) - len(switched))
        if len(begun) <= 2:
            pair.wait()  # two get in together, or this fails
        made: Any = build(*arguments)
        switch = made.switch

        def counted_switch() -> None:
            switch()
            switched.append(arguments[0])

        made.switch = counted_switch
        return made

    flows.watched(app).instead["build"] = counted
    for table in made:
        app.index_status.report(table_namespace(project, table.id), Problem.WRONG_FINGERPRINT)
    await settle(app)
    assert len(begun) == 5
    assert max(at_work) <= 2
    for number, table in enumerate(made):
        assert await texts(app, table, "words") == [f"words {number}"]


# ── after a kill ──


async def test_the_next_process_goes_on_where_a_killed_one_stopped(settings: Settings, embedder: Telling) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        made = [await make_document(app, project, f"word {number}", f"more {number}") for number in range(5)]
        table = await make_table(app, project, {"a": "word in a table"})
        await add_tool(app, table)
        await settle(app)
        known = [row.id for row in await rows(app) if row.document_id is not None]
        url = settings.database_url.get_secret_value() if settings.database_url else None
    namespace = documents_namespace(project)
    store = await Store.open(url, settings.data / "findspot.db")
    async with store.write() as connection:
        # written and not marked, cut and not written, deleted and not forgotten
        await connection.execute(sa.update(chunks).where(chunks.c.id.in_(known[:2])).values(indexed=False))
        states_of = sa.update(index_states)
        await connection.execute(states_of.where(index_states.c.document_id == made[0].id).values(status="indexing"))
        await connection.execute(states_of.where(index_states.c.document_id == made[1].id).values(status="pending"))
        await connection.execute(sa.delete(chunks).where(chunks.c.id == known[-1]))
        await connection.execute(states_of.where(index_states.c.document_id == made[4].id).values(status="pending"))
    await store.close()
    engine = EmbeddedEngine(settings.data / "index")
    engine.delete(namespace, [known[0], known[4]])  # one that the store counts on
    engine.write(namespace, "one", Batch([9999], ["x"], [Source()], ["word"], np.full((1, 64), 0.125, np.float32)))
    engine.close()
    async with open_app(settings) as app:
        await settle(app)
        found = await rows(app, turbopuffer_namespace=namespace)  # type: ignore[arg-type]
        assert len(found) == 10
        assert all(row.indexed for row in found)
        assert held(app, namespace) == sorted(row.id for row in found)
        assert sorted(await texts(app, made[0], "word")) == [f"word {number}" for number in range(5)]
        for document in made:
            assert (await flows.state(app, document)).status == "ready"


async def test_an_index_of_another_store_is_not_used(settings: Settings, embedder: Telling) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        document = await make_document(app, project, "alpha")
        await settle(app)
    (settings.data / "index" / "store").write_text("someone else's")
    marker = settings.data / "index" / "theirs"
    marker.touch()
    async with open_app(settings) as app:
        await settle(app)
        assert not marker.exists()
        assert await texts(app, document, "alpha") == ["alpha"]


@pytest.mark.one_database
async def test_the_index_follows_when_the_app_is_closed_in_the_middle(settings: Settings, embedder: Telling) -> None:
    for turn in range(4):
        async with open_app(settings) as app:
            project = await make_project(app)
            for number in range(10):
                document = await make_document(app, project, f"turn {turn} number {number}")
    async with open_app(settings) as app:
        await settle(app)
        assert len(await rows(app)) == 40
        assert all(row.indexed for row in await rows(app))
        assert len(await texts(app, document, "turn")) == 10
        assert NamespaceKey.of(documents_namespace(project)) == NamespaceKey(project, None)


async def test_it_can_be_closed_at_the_very_moment_something_is_written(app: App, project: int) -> None:
    await settle(app)
    app.store.written.set()
    async with asyncio.timeout(flows.PATIENCE_S):
        await app.index_worker.close()


async def test_damage_is_found_and_mended_though_no_one_searches(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.indexing.worker.FIRST_CHECK_S", 0.05)
    monkeypatch.setattr("findspot.indexing.worker.CHECK_EVERY_S", 0.05)
    async with open_app(settings) as app:
        project = await make_project(app)
        document = await make_document(app, project, *MIXED)
        await settle(app)
        verify = flows.watched(app).engine.files.verify
        told: list[str] = []

        def damaged_once(namespace: str) -> None:
            if not told:
                told.append(namespace)
                raise Damaged("as a test says")
            verify(namespace)

        flows.watched(app).instead["verify"] = damaged_once

        async def mended() -> bool:
            return bool(told) and await app.index_status.is_at_rest()

        await flows.until(app, mended)
        assert told == [documents_namespace(project)]
        assert len(held(app, documents_namespace(project))) == len(MIXED)
        assert (await texts(app, document, "圖書館"))[0] == MIXED[1]
