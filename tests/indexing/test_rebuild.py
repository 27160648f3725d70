"""Rebuilds: the old index answers until the new one takes its place, whatever happens in between."""

import asyncio
import threading
from typing import Any

import pytest

from findspot.app import App, open_app
from findspot.engines.protocol import Batch, Damaged
from findspot.indexing.status import Problem
from findspot.models import NamespaceKey, documents_namespace, table_namespace
from findspot.search import Degradation
from findspot.settings import Settings
from tests import flows
from tests.flows import (
    FakeEmbedder,
    add_tool,
    held,
    make_document,
    make_project,
    make_table,
    rows,
    save,
    search,
    settle,
    texts,
)

pytestmark = [pytest.mark.fake_embedder, pytest.mark.one_database]


async def test_damage_met_by_a_write_leads_to_a_rebuild(app: App, project: int) -> None:
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


async def test_files_damaged_while_nothing_ran_are_rebuilt_after_the_start(
    settings: Settings, embedder: FakeEmbedder
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


async def test_the_old_index_answers_until_that_of_a_new_embedder_is_built(
    settings: Settings, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        document = await make_document(app, project, "alpha word", "beta word")
        await settle(app)
    new = FakeEmbedder("two", 32)
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


async def test_a_save_during_a_rebuild_is_in_the_new_index(
    settings: Settings, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        document = await make_document(app, project, "alpha word", "beta word")
        await settle(app)
    new = FakeEmbedder("two")
    new.open.clear()
    flows.use(monkeypatch, new)
    async with open_app(settings) as app:
        await save(app, document.id, "alpha word", "gamma word")
        new.open.set()
        await settle(app)
        assert (await flows.state(app, document)).status == "ready"
        assert app.engine.status(documents_namespace(project)).vectors == 2
        assert sorted(await texts(app, document, "word")) == ["alpha word", "gamma word"]


async def test_a_rebuild_that_fails_leaves_the_old_index_and_is_retried(
    settings: Settings, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch, short_delays: None
) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        document = await make_document(app, project, "alpha word", "beta word")
        await settle(app)
    new = FakeEmbedder("two")
    new.fails_on = "beta"
    flows.use(monkeypatch, new)
    async with open_app(settings) as app:
        built = []
        build = flows.watched(app).engine.build

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


async def test_a_rebuild_whose_new_index_is_abandoned_begins_again(app: App, project: int) -> None:
    document = await make_document(app, project, "alpha 甲", "beta 乙")
    await settle(app)
    begun = 0

    def build(namespace: str, fingerprint: str, dimension: int) -> Any:
        nonlocal begun
        begun += 1
        made = flows.watched(app).engine.build(namespace, fingerprint, dimension)
        if begun == 1:
            made.abandon()  # as when an update cannot write to it
        return made

    flows.watched(app).instead["build"] = build
    await flows.rebuild(app, NamespaceKey(project, None))
    await settle(app)
    assert begun == 2
    assert await texts(app, document, "beta") == ["beta 乙"]


async def test_a_rebuild_that_the_end_of_the_process_interrupts_is_queued_in_the_rows(
    settings: Settings, embedder: FakeEmbedder
) -> None:
    async with open_app(settings) as app:
        project = await make_project(app)
        await make_document(app, project, "alpha 甲", "beta 乙")
        await settle(app)
        key, blocked = NamespaceKey(project, None), threading.Event()

        def write(batch: Batch) -> None:
            blocked.wait(flows.PATIENCE_S)

        def build(namespace: str, fingerprint: str, dimension: int) -> Any:
            made = flows.watched(app).engine.build(namespace, fingerprint, dimension)
            return flows.Watched(made, {"write": write})

        flows.watched(app).instead["build"] = build
        await app.index_status.request_rebuild(key)

        async def rebuilding() -> bool:
            return await app.index_status.is_rebuilding(key.namespace)

        await flows.until(app, rebuilding)
        closing = asyncio.create_task(app.index_worker.close())
        await asyncio.sleep(0)
        blocked.set()
        await closing
        assert not await app.index_status.is_rebuilding(key.namespace)
        assert await app.index_status.is_rebuild_due(key.namespace)


@pytest.mark.one_process  # two workers may prepare more and give them up: test_leases.py counts over both
async def test_at_most_two_namespaces_of_a_project_are_rebuilt_at_once(
    app: App, project: int, embedder: FakeEmbedder
) -> None:
    made = [await make_table(app, project, {"a": f"words {number}"}) for number in range(5)]
    for table in made:
        await add_tool(app, table)
    await settle(app)
    begun: list[str] = []
    at_work: list[int] = []  # how many were at work when one began
    switched: list[str] = []
    pair = threading.Barrier(2, timeout=flows.PATIENCE_S)
    build = flows.watched(app).engine.build

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
