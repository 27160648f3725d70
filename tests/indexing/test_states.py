"""The states of namespaces in memory and in rows, on both databases."""

import pytest
import sqlalchemy as sa

from findspot.errors import Failure, FindspotError
from findspot.indexing import states as module
from findspot.indexing import transitions
from findspot.indexing.states import NamespaceStates
from findspot.models import NamespaceKey
from findspot.store import namespace_states as rows
from findspot.store import projects
from findspot.store.database import Store
from findspot.store.namespace_states import NamespaceState, Phase, RebuildReason
from findspot.store.schema import documents, index_states

TABLE, DOCUMENTS = NamespaceKey(1, 7), NamespaceKey(1, None)
UNAVAILABLE = Failure("EMBEDDING_UNAVAILABLE", "The service is unavailable.", {"retryAfterMs": 5})


async def saved(store: Store) -> dict[NamespaceKey, NamespaceState]:
    async with store.read() as connection:
        return {state.key: state for state in await rows.every(connection)}


async def test_a_state_is_the_same_after_a_row_and_a_restart_continues_from_it(store: Store) -> None:
    names = NamespaceStates(store)
    await names.start()
    names.want_rebuild(TABLE, RebuildReason.DAMAGED)
    names.apply(transitions.rebuild_failed, TABLE, UNAVAILABLE)
    names.apply(transitions.rebuild_began, TABLE, 9)
    names.apply(transitions.rebuild_progressed, TABLE, 3, 2.0)
    names.apply(transitions.holds_vectors_of, DOCUMENTS, "one")
    await names.save()
    assert await saved(store) == {TABLE: names[TABLE], DOCUMENTS: names[DOCUMENTS]}
    async with store.read() as connection:
        assert await connection.run_sync(rows.rebuilding, TABLE.namespace)
        assert not await connection.run_sync(rows.rebuilding, DOCUMENTS.namespace)
    again = NamespaceStates(store)
    await again.start()
    assert [state.key for state in again.in_phase(Phase.QUEUED)] == [TABLE]
    assert [state.key for state in again.in_phase(Phase.UNCHECKED)] == [DOCUMENTS]
    assert again[DOCUMENTS].fingerprint == "one"
    assert await saved(store) == {TABLE: again[TABLE], DOCUMENTS: again[DOCUMENTS]}
    again.forget(TABLE)
    await again.save()
    assert set(await saved(store)) == {DOCUMENTS}


async def test_a_start_has_every_namespace_checked_that_has_chunks(store: Store) -> None:
    async with store.write() as connection:
        project = (await projects.create(connection, "p")).id
        new = {"project_id": project, "title": "t", "type": "d", "format": "text", "revision": 1, "content": b"x"}
        await connection.execute(sa.insert(documents), new)
    names = NamespaceStates(store)
    await names.start()
    assert await saved(store) == {}
    async with store.write() as connection:
        await connection.execute(sa.update(index_states).values(total=1))
    await names.start()
    assert [state.phase for state in (await saved(store)).values()] == [Phase.UNCHECKED]


async def test_progress_is_written_at_most_once_a_second_and_other_changes_at_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SAVE_PROGRESS_S", 3600.0)
    names = NamespaceStates(store)
    names.want_rebuild(TABLE, RebuildReason.REQUESTED)
    names.apply(transitions.rebuild_began, TABLE, 9)
    await names.save()
    names.apply(transitions.rebuild_progressed, TABLE, 3, 1.0)
    await names.save_progress()
    assert (await saved(store))[TABLE].done == 0
    monkeypatch.setattr(module, "SAVE_PROGRESS_S", 0.0)
    await names.save_progress()
    assert (await saved(store))[TABLE].done == 3


async def test_states_that_could_not_be_saved_are_saved_later(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object) -> None:
        raise FindspotError("STORE_UNAVAILABLE", "The database is unavailable.")

    names = NamespaceStates(store)
    names.want_rebuild(TABLE, RebuildReason.REQUESTED)
    with monkeypatch.context() as patch:
        patch.setattr(rows, "save", fails)
        await names.try_to_save()
        with pytest.raises(FindspotError):
            await names.save()
    assert await saved(store) == {}
    await names.save()
    assert (await saved(store))[TABLE].phase is Phase.QUEUED
