"""The worker: what it does after errors, a kill, a restart and a close, on both databases."""

import asyncio
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.engines.embedded.engine import EmbeddedEngine
from findspot.engines.protocol import Batch, Damaged, Source
from findspot.indexing.status import Problem
from findspot.models import Backoff, documents_namespace, table_namespace
from findspot.settings import Settings
from findspot.store import index_states as states
from findspot.store import projects
from findspot.store import tables as table_rows
from findspot.store.database import Store
from findspot.store.schema import chunks, index_states
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


async def test_a_table_that_is_being_deleted_asks_for_no_work(app: App, project: int) -> None:
    """A process that is killed while it deletes a table leaves it with revision 0."""
    table = await make_table(app, project, {"a": "words"})
    await settle(app)
    async with app.store.write() as connection:
        await connection.execute(sa.update(index_states).values(status="pending"))
        assert await table_rows.hide(connection, table.id)
        assert await states.due_namespaces(connection) == []


# ── errors ──


@pytest.fixture
def long_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("findspot.indexing.worker.NAMESPACE_BACKOFF", Backoff(3600, 3600))


@pytest.mark.one_database
async def test_a_namespace_that_keeps_failing_shows_why_and_does_not_delay_others(
    long_delays: None, app: App, project: int
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


async def test_chunks_that_the_engine_could_not_delete_are_deleted_later(
    short_delays: None, app: App, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make_document(app, project, "what stays")
    document = await make_document(app, project, "words", "more words")
    await settle(app)
    tries, due_namespaces = [], states.due_namespaces

    async def slow_scan(connection: Any) -> Any:
        await asyncio.sleep(0.1)  # longer than the delay: a delay that ends during a scan must not be slept through
        return await due_namespaces(connection)

    monkeypatch.setattr(states, "due_namespaces", slow_scan)

    def delete(namespace: str, ids: list[int], *, fence: int) -> None:
        tries.append(ids)
        if len(tries) < 3:
            raise OSError("no room")
        flows.watched(app).engine.delete(namespace, ids, fence=fence)

    flows.watched(app).instead["delete"] = delete
    await app.documents.delete(document.id)
    await settle(app)
    assert len(tries) == 3
    assert len(held(app, documents_namespace(project))) == 1


@pytest.mark.one_database
async def test_the_worker_survives_unexpected_errors(short_delays: None, app: App, project: int) -> None:
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


# ── kill, restart and close ──


@pytest.mark.scenario("003.queue.durable", "001.non-goal.no-queue")
async def test_the_next_process_continues_where_a_killed_one_stopped(
    settings: Settings, embedder: FakeEmbedder
) -> None:
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


@pytest.mark.one_database
async def test_an_index_of_another_store_is_not_used(settings: Settings, embedder: FakeEmbedder) -> None:
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
async def test_the_index_follows_when_the_app_is_closed_in_the_middle(
    settings: Settings, embedder: FakeEmbedder
) -> None:
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


@pytest.mark.one_database
async def test_the_worker_can_be_closed_while_a_write_wakes_it(app: App, project: int) -> None:
    await settle(app)
    app.store.written.set()
    async with asyncio.timeout(flows.PATIENCE_S):
        await app.index_worker.close()


@pytest.mark.one_database
async def test_the_regular_check_finds_damage_and_has_it_rebuilt(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.indexing.worker.FIRST_CHECK_S", 0.05)
    monkeypatch.setattr("findspot.indexing.worker.CHECK_EVERY_S", 0.05)
    async with open_app(settings) as app:
        project = await make_project(app)
        document = await make_document(app, project, *MIXED)
        await settle(app)
        files = flows.watched(app).engine.files
        damaged: list[str] = []
        rebuilt: list[str] = []

        def damaged_once(namespace: str) -> None:
            if not damaged:
                damaged.append(namespace)
                raise Damaged("as a test says")
            files.verify(namespace)

        def build(namespace: str, *more: Any) -> Any:
            rebuilt.append(namespace)
            return flows.watched(app).engine.build(namespace, *more)

        flows.watched(app).instead |= {"verify": damaged_once, "build": build}

        async def repaired() -> bool:
            return bool(rebuilt) and await app.index_status.is_at_rest()

        await flows.until(app, repaired)
        assert damaged == rebuilt == [documents_namespace(project)]
        assert len(held(app, documents_namespace(project))) == len(MIXED)
        assert (await texts(app, document, "圖書館"))[0] == MIXED[1]


async def test_after_concurrent_saves_every_source_is_ready(app: App, project: int) -> None:
    made = [await make_document(app, project, f"number {number}") for number in range(20)]
    await asyncio.gather(*(flows.save(app, each.id, f"changed {each.id}") for each in made))
    await settle(app)
    async with app.store.read() as connection:
        statuses = (await connection.execute(sa.select(index_states.c.status))).scalars().all()
    assert statuses == ["ready"] * 20
