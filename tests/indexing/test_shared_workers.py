"""Two workers on one PostgreSQL and one engine: they share the work, take over from each other, and never mix."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from findspot.app import App, open_app
from findspot.errors import FindspotError
from findspot.indexing import worker as worker_module
from findspot.indexing.batches import Batches
from findspot.indexing.chunk_rows import ChunkRows
from findspot.indexing.feeding import Feeding
from findspot.indexing.leases import LeaseLost, SharedLeases
from findspot.indexing.reconcile import Reconciliation
from findspot.indexing.states import NamespaceStates
from findspot.models import Backoff, NamespaceKey, documents_namespace
from findspot.runtime.helpers import Helpers
from findspot.runtime.threads import Threads
from findspot.settings import Settings
from findspot.store import leases as lease_rows
from findspot.store.database import Store
from findspot.store.schema import chunks, index_states, namespace_states
from tests import flows
from tests.flows import MIXED, FakeEmbedder, add_tool, make_document, make_project, make_table, settle, texts
from tests.indexing.test_leases import LONG_S, steal
from tests.shared_engine import SharedEngine

Opened = Callable[..., contextlib.AbstractAsyncContextManager[App]]


class Stoppable(SharedLeases):
    """Leases of a worker that can be made to stand still: it renews nothing, as if its process were stopped."""

    is_stopped = False

    async def renew(self) -> None:
        if not self.is_stopped:
            await super().renew()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SharedEngine]:
    shared = SharedEngine(tmp_path / "index")
    yield shared
    assert shared.overlaps == []
    shared.end()


@pytest.fixture
def made_leases(monkeypatch: pytest.MonkeyPatch) -> list[Stoppable]:
    """The leases of the apps in the order of their opening. A lease lasts a second."""
    made: list[Stoppable] = []

    def make(store: Store, holder: str) -> Stoppable:
        made.append(Stoppable(store, holder, lease_s=1.0, renew_s=0.2))
        return made[-1]

    monkeypatch.setattr("findspot.app.SharedLeases", make)
    monkeypatch.setattr(worker_module, "DENIED_BACKOFF", Backoff(0.2, 0.2))
    return made


@pytest.fixture
def opened(
    engine: SharedEngine,
    made_leases: list[Stoppable],
    embedder: FakeEmbedder,
    new_postgres_database: Callable[[], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Opened:
    """Opens apps that share database and engine."""
    monkeypatch.setattr("findspot.app.open_engine", lambda *_: engine)
    url, number = new_postgres_database(), iter(range(9))

    def open_one(**options: Any) -> contextlib.AbstractAsyncContextManager[App]:
        settings = Settings(
            data=tmp_path / str(next(number)), database_url=url, engine="turbopuffer", turbopuffer_api_key="k", port=0
        )
        return open_app(settings, **options)

    return open_one


@pytest.fixture
async def apps(opened: Opened) -> AsyncIterator[tuple[App, App]]:
    async with opened() as one, opened() as two:
        yield one, two


async def holders(app: App) -> set[str]:
    async with app.store.read() as connection:
        return {each.holder for each in await lease_rows.held(connection)}


async def agree(app: App, namespace: str) -> None:
    """Assert that store and engine hold the same chunks, and that all are indexed."""
    found = await flows.rows(app, turbopuffer_namespace=namespace)  # type: ignore[arg-type]
    assert all(row.indexed for row in found)
    assert flows.held(app, namespace) == sorted(row.id for row in found)


async def test_workers_share_the_namespaces_and_each_finds_what_was_saved_through_the_other(
    apps: tuple[App, App], engine: SharedEngine
) -> None:
    project = await make_project(apps[0])
    together, busy, lock = threading.Event(), set[str](), threading.Lock()

    def wait_for_four(namespace: str, fence: int) -> None:
        """Have the first writes wait until four namespaces are written at once: two by each worker."""
        with lock:
            busy.add(namespace)
            if len(busy) == 4:
                together.set()
        assert together.wait(flows.PATIENCE_S)

    engine.before_write = wait_for_four
    tables = [await make_table(apps[number % 2], project, {"a": f"word {number} 河水"}) for number in range(6)]
    for number, table in enumerate(tables):
        await add_tool(apps[number % 2], table)
    await settle(apps[0])
    await settle(apps[1])
    for number, table in enumerate(tables):
        for app in apps:
            assert await texts(app, table, "河水") == [f"word {number} 河水"]
        await agree(apps[0], NamespaceKey(project, table.id).namespace)
    assert engine.refused == []
    assert await holders(apps[0]) == set()


async def test_a_worker_that_stands_still_is_taken_over_from_and_cannot_write_when_it_wakes(
    apps: tuple[App, App], made_leases: list[Stoppable], engine: SharedEngine
) -> None:
    project = await make_project(apps[0])
    namespace = documents_namespace(project)
    stopped, woken = threading.Event(), threading.Event()

    def stop_the_first(namespace: str, fence: int) -> None:
        if not stopped.is_set():
            stopped.set()
            assert woken.wait(flows.PATIENCE_S)

    engine.before_write = stop_the_first
    document = await make_document(apps[0], project, *MIXED)
    assert await asyncio.to_thread(stopped.wait, flows.PATIENCE_S)
    (holder,) = await holders(apps[0])
    sleeper = [app.presence.id for app in apps].index(holder)
    made_leases[sleeper].is_stopped = True
    other = apps[1 - sleeper]
    await settle(other)
    await flows.save(other, document.id, "something else", "河水流过")
    await settle(other)
    woken.set()
    await settle(other)

    async def has_noticed() -> bool:
        return bool(engine.refused)

    await flows.until(other, has_noticed)
    assert len(engine.fences[namespace]) > 1
    assert engine.refused[0][1] < min(engine.fences[namespace])
    for app in apps:
        assert sorted(await texts(app, document, "else 河水")) == ["something else", "河水流过"]
    await agree(other, namespace)


async def test_a_worker_that_drains_gives_its_namespaces_back_at_once(
    apps: tuple[App, App], made_leases: list[Stoppable], engine: SharedEngine, embedder: FakeEmbedder
) -> None:
    project = await make_project(apps[0])
    embedder.open.clear()
    document = await make_document(apps[0], project, "words to index")
    await flows.until(apps[0], lambda: holders(apps[0]))
    (holder,) = await holders(apps[0])
    first = [app.presence.id for app in apps].index(holder)
    draining, other = apps[first], apps[1 - first]
    await draining.drain()
    with pytest.raises(FindspotError, match="about to stop") as refused:
        await draining.readiness.check()
    assert refused.value.kind.status == 503
    assert holder not in await holders(other)
    embedder.open.set()
    await settle(other)
    await other.readiness.check()
    assert await texts(other, document, "words") == ["words to index"]
    assert len(set(engine.fences[documents_namespace(project)])) == 1


async def test_requests_are_taken_by_the_worker_that_gets_the_lease(apps: tuple[App, App]) -> None:
    project = await make_project(apps[0])
    document = await make_document(apps[0], project, *MIXED)
    await settle(apps[0])
    key = NamespaceKey(project, None)
    for app in apps:
        await flows.rebuild(app, key)
        await settle(app)
        assert (await texts(app, document, "圖書館"))[0] == MIXED[1]
    await agree(apps[0], key.namespace)


async def test_a_namespace_whose_state_was_never_written_is_compared_too(apps: tuple[App, App]) -> None:
    project = await make_project(apps[0])
    await make_document(apps[0], project, *MIXED)
    await settle(apps[0])
    key = NamespaceKey(project, None)
    indexed = flows.held(apps[0], key.namespace)
    await flows.lose(apps[0], key.namespace, indexed[:2])
    async with apps[0].store.write() as connection:
        await connection.execute(sa.delete(namespace_states))
    await NamespaceStates(apps[0].store, SharedLeases(apps[0].store, "after a restart")).compare([key])
    apps[0].store.written.set()

    async def is_repaired() -> bool:
        return flows.held(apps[0], key.namespace) == indexed

    await flows.until(apps[0], is_repaired)
    await settle(apps[0])
    await agree(apps[0], key.namespace)


async def everything(app: App) -> list[Any]:
    async with app.store.read() as connection:
        return [
            (await connection.execute(sa.select(table).order_by(table.c.id))).all() for table in (chunks, index_states)
        ]


async def test_every_step_of_a_worker_that_has_lost_its_lease_is_refused(
    opened: Opened, engine: SharedEngine, threads: Threads
) -> None:
    async with opened(worker=False) as app, contextlib.AsyncExitStack() as closing:
        helpers = Helpers()
        closing.push_async_callback(helpers.close)
        leases = SharedLeases(app.store, "one", lease_s=LONG_S)
        states = NamespaceStates(app.store, leases)
        rows = ChunkRows(app.store, leases, helpers, app.settings)
        batches = Batches(app.store, app.embeddings, helpers)
        feeding = Feeding(app.store, leases, app.engine, app.embeddings, batches, states, threads.index)
        reconciliation = Reconciliation(app.store, leases, app.engine, feeding, threads.index)

        async def refused(key: NamespaceKey, step: Callable[[], Awaitable[object]]) -> None:
            async with states.hold(key):
                await steal(app.store, key)
                before = await everything(app)
                with pytest.raises(LeaseLost):
                    await step()
                assert await everything(app) == before
            async with app.store.write() as connection:
                await lease_rows.clear(connection)

        async def may_continue(key: NamespaceKey) -> bool:
            return True

        project = await make_project(app)
        table = await make_table(app, project, {"a": "words"})
        await add_tool(app, table)
        await make_document(app, project, "some words", "一些文字")
        documents, of_table = NamespaceKey(project, None), NamespaceKey(project, table.id)
        await refused(documents, lambda: rows.update(documents))
        await refused(of_table, lambda: rows.update(of_table))
        async with states.hold(documents):
            assert await rows.update(documents)
        await refused(documents, lambda: feeding.feed(documents, may_continue))
        async with states.hold(documents):
            assert await feeding.feed(documents, may_continue)
        (lost, kept) = flows.held(app, documents.namespace)
        app.engine.delete(documents.namespace, [lost], fence=max(engine.fences[documents.namespace]))
        await refused(documents, lambda: reconciliation.run(documents))
        assert flows.held(app, documents.namespace) == [kept]
