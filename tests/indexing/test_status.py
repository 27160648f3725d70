"""Problems, requests and hits on their way to the worker, on both databases; no worker runs."""

import asyncio
from typing import Any, cast

import pytest

from findspot.engines.protocol import Damaged, Engine, Status
from findspot.errors import Failure, FindspotError
from findspot.indexing import transitions
from findspot.indexing.states import NamespaceStates
from findspot.indexing.status import IndexStatus, Problem
from findspot.models import NamespaceKey
from findspot.settings import Settings
from findspot.store import index_requests, projects
from findspot.store import tables as table_rows
from findspot.store.database import Store
from findspot.store.index_requests import IndexRequest, RequestKind
from findspot.store.namespace_states import RebuildReason
from findspot.store.schema import index_states
from findspot.store.schema import tables as tables_table

DOCUMENTS = NamespaceKey(1, None)


class Engines:
    """The one call of an engine that reports need."""

    error: Exception | None = None

    def status(self, namespace: str) -> Status:
        if self.error is not None:
            raise self.error
        return Status(5, 4, 100, "one", 64, 1)


@pytest.fixture
def engine() -> Engines:
    return Engines()


@pytest.fixture
def status(store: Store, engine: Engines) -> IndexStatus:
    return IndexStatus(store, cast(Engine, engine), Settings(max_chunks=6))


async def waiting(store: Store) -> list[IndexRequest]:
    async with store.read() as connection:
        return [each.request for each in await index_requests.every(connection)]


async def test_a_problem_becomes_one_request_however_many_readers_report_it(store: Store, status: IndexStatus) -> None:
    for _ in range(3):
        status.report(DOCUMENTS.namespace, Problem.MISSING)
        status.report(DOCUMENTS.namespace, Problem.WRONG_RANGES, [8, 9])
    assert not await status.is_at_rest()
    await status.close()
    status.report(DOCUMENTS.namespace, Problem.MISSING)
    await status.close()
    name = DOCUMENTS.namespace
    ranges = [IndexRequest(name, RequestKind.WRONG_RANGES, document_id) for document_id in (8, 9)]
    assert await waiting(store) == [IndexRequest(name, RequestKind.MISSING), *ranges]
    assert store.written.is_set()
    assert not await status.is_at_rest()


async def test_damage_is_reported_once_until_it_is_rebuilt(store: Store, status: IndexStatus) -> None:
    names, name = NamespaceStates(store), DOCUMENTS.namespace
    names.want_rebuild(DOCUMENTS, RebuildReason.WRONG_FINGERPRINT)
    await names.save()
    status.report(name, Problem.WRONG_FINGERPRINT)
    status.report(name, Problem.DAMAGED)  # this one changes how the index is rebuilt
    await status.close()
    assert await waiting(store) == [IndexRequest(name, RequestKind.DAMAGED)]
    async with store.write() as connection:
        await index_requests.delete(connection, [1])
    names.want_rebuild(DOCUMENTS, RebuildReason.DAMAGED)
    await names.save()
    status.report(name, Problem.DAMAGED)
    await status.close()
    assert await waiting(store) == []


async def test_a_report_that_cannot_be_written_is_dropped(
    store: Store, status: IndexStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any) -> None:
        raise FindspotError("STORE_UNAVAILABLE", "The database is unavailable.")

    monkeypatch.setattr(index_requests, "add", fails)
    status.report(DOCUMENTS.namespace, Problem.DAMAGED)
    await status.close()
    assert await waiting(store) == []


async def test_a_rebuild_is_requested_once_and_keeps_its_position(store: Store, status: IndexStatus) -> None:
    keys = [NamespaceKey(1, table_id) for table_id in (901, 902, 903)]
    assert [await status.request_rebuild(key) for key in keys] == [0, 0, 1]
    assert await status.request_rebuild(NamespaceKey(2, 1)) == 0  # another project has its own queue
    names = NamespaceStates(store)
    async with store.write() as connection:
        for each in await index_requests.every(connection):
            key = NamespaceKey.of(each.request.namespace)
            names.want_rebuild(key, RebuildReason.REQUESTED, since=each.created_at)
            await index_requests.delete(connection, [each.id])
    await names.save()
    assert [await status.is_rebuild_due(key.namespace) for key in (*keys, DOCUMENTS)] == [True, True, True, False]
    assert [await status.request_rebuild(key) for key in (*keys, DOCUMENTS)] == [0, 0, 1, 2]
    names.apply(transitions.rebuild_began, keys[0], 5)
    await names.save()
    assert [await status.is_rebuilding(key.namespace) for key in keys] == [True, False, False]
    names.apply(transitions.rebuilt, keys[0], "one")
    await names.save()
    assert await status.request_rebuild(keys[2]) == 0


async def test_those_who_wait_check_again_when_the_worker_announces_something(
    status: IndexStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("findspot.indexing.status.CHECK_EVERY_S", 3600.0)
    checks, first = 0, asyncio.Event()

    async def done() -> bool:
        nonlocal checks
        checks += 1
        first.set()
        return checks > 1

    task = asyncio.create_task(status.wait_until(done))
    await first.wait()
    await status.announce()
    await task
    assert checks == 2


def test_the_hits_are_in_order_of_their_last_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("findspot.indexing.status.HITS_REMEMBERED", 3)
    status = IndexStatus(cast(Store, None), cast(Engine, None), Settings())
    status.note_hits([1, 2, 3])
    status.note_hits([1])
    assert status.recent_hits() == [2, 3, 1]
    status.note_hits([4])
    assert status.recent_hits() == [3, 1, 4]


async def test_a_report_shows_rebuilds_errors_and_damage(store: Store, status: IndexStatus, engine: Engines) -> None:
    async with store.write() as connection:
        project = (await projects.create(connection, "p")).id
        row = {"project_id": project, "name": "t", "revision": 1, "size": 1, "text_id": 1}
        await connection.execute(tables_table.insert(), row)
        assert await table_rows.get(connection, 1) is not None
        await connection.execute(index_states.update().values(status="ready"))
    key, names = NamespaceKey(project, 1), NamespaceStates(store)
    assert await status.of_project(project) == []  # nothing to index there
    async with store.write() as connection:
        await connection.execute(index_states.update().values(total=6))
    assert [(each.chunks, each.done) for each in await status.of_project(project)] == [(6, 6)]
    with pytest.raises(FindspotError, match="the limit is 6"):
        await status.require_room(project)
    async with store.write() as connection:
        await connection.execute(index_states.update().values(status="error", error_code="INTERNAL", error_message="x"))
        await index_requests.add(connection, [IndexRequest(key.namespace, RequestKind.REBUILD)])
    (report,) = await status.of_project(project)
    assert (report.status, report.vectors, report.evicted, report.errors) == ("error", 4, 1, ("INTERNAL: x",))
    names.want_rebuild(key, RebuildReason.REQUESTED)
    names.apply(transitions.rebuild_failed, key, Failure("ENGINE_UNAVAILABLE", "unavailable"))
    names.apply(transitions.rebuild_began, key, 6)
    names.apply(transitions.rebuild_progressed, key, 3, 2.0)
    await names.save()
    (report,) = await status.of_project(project)
    assert (report.status, report.done, report.rate) == ("indexing", 3, 1.5)
    assert report.errors == ("INTERNAL: x", "ENGINE_UNAVAILABLE: unavailable")
    engine.error = Damaged("a file is gone")
    (report,) = await status.of_project(project)
    assert (report.status, report.vectors) == ("indexing", 0)
    names.forget(key)
    await names.save()
    engine.error = FindspotError("ENGINE_UNAVAILABLE", "The engine is unavailable.")
    (report,) = await status.of_project(project)
    assert (report.status, report.errors) == (
        "error",
        ("INTERNAL: x", "ENGINE_UNAVAILABLE: The engine is unavailable."),
    )
