"""Leases: one worker at a time, expiry, take-over, and no change by a worker that has lost its lease."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from findspot.indexing import transitions
from findspot.indexing.leases import LeaseLost, Leases, SharedLeases
from findspot.indexing.states import NamespaceStates
from findspot.models import NamespaceKey
from findspot.store import index_states as source_rows
from findspot.store import leases as rows
from findspot.store import namespace_states, projects
from findspot.store.database import Store
from findspot.store.namespace_states import Phase, RebuildReason
from findspot.store.schema import documents, index_states

KEY, OTHER = NamespaceKey(1, 7), NamespaceKey(1, None)
LONG_S = 3600.0


@pytest.fixture
async def stores(new_postgres_database: Callable[[], str], tmp_path: Path) -> AsyncIterator[tuple[Store, Store]]:
    """Two connections to one PostgreSQL, as two workers have them."""
    url = new_postgres_database()
    opened = await Store.open(url, tmp_path), await Store.open(url, tmp_path)
    yield opened
    for store in opened:
        await store.close()


async def steal(store: Store, key: NamespaceKey) -> None:
    """Give the lease of a namespace to another worker, as after its expiry."""
    async with store.write() as connection:
        await connection.execute(sa.text("UPDATE leases SET expires_at = now() - interval '1 second'"))
        assert await rows.claim(connection, key.namespace, "thief", LONG_S) is not None


async def test_the_only_worker_is_granted_everything_without_a_row(store: Store) -> None:
    leases = Leases(store)
    for _ in range(2):
        assert await leases.claim(KEY) == (False, False, True)
    assert leases.fence(KEY) == 0
    async with leases.write(KEY, OTHER) as connection:
        assert await rows.held(connection) == []


async def test_a_namespace_has_one_worker_until_it_is_released(stores: tuple[Store, Store]) -> None:
    one, two = (SharedLeases(store, name) for store, name in zip(stores, ("one", "two"), strict=True))
    first = await one.claim(KEY)
    assert first is not None
    assert first.is_new
    assert await two.claim(KEY) is None
    assert await two.claim(OTHER) is not None
    again = await one.claim(KEY)  # a second task of the same worker
    assert again is not None
    assert not again.is_new
    token = one.fence(KEY)
    await one.release(KEY)
    assert await two.claim(KEY) is None
    await one.release(KEY)
    taken = await two.claim(KEY)
    assert taken is not None
    assert (taken.is_abandoned, taken.is_continued) == (False, False)
    assert two.fence(KEY) > token
    await two.release(KEY)
    back = await two.claim(KEY)
    assert back is not None
    assert back.is_continued


async def test_one_of_many_claims_at_once_is_granted(stores: tuple[Store, Store]) -> None:
    workers = [SharedLeases(stores[number % 2], str(number)) for number in range(8)]
    for _ in range(3):
        granted = [grant for grant in await asyncio.gather(*(each.claim(KEY) for each in workers)) if grant]
        assert len(granted) == 1
        (holder,) = [each for each in workers if not each.is_lost(KEY)]
        await holder.release(KEY)


async def test_a_lease_that_is_renewed_stays_and_one_that_is_not_is_taken_over(stores: tuple[Store, Store]) -> None:
    one, two = SharedLeases(stores[0], "one", lease_s=0.0), SharedLeases(stores[1], "two", lease_s=LONG_S)
    renewing = SharedLeases(stores[0], "one", lease_s=LONG_S)
    assert await one.claim(KEY)
    assert await renewing.claim(OTHER)
    await renewing.renew()
    assert await two.claim(OTHER) is None
    assert [state.key for state in await two.waiting()] == [KEY]
    taken = await two.claim(KEY)
    assert taken is not None
    assert taken.is_abandoned
    assert await two.waiting() == []
    assert not one.is_lost(KEY)  # it does not know yet
    await one.renew()
    assert one.is_lost(KEY)
    with pytest.raises(LeaseLost):
        one.fence(KEY)
    await one.release(KEY)  # of no effect for the new holder
    await two.renew()
    assert not two.is_lost(KEY)


async def test_a_transaction_keeps_the_lease_that_it_relies_on_until_it_ends(stores: tuple[Store, Store]) -> None:
    one, two = SharedLeases(stores[0], "one", lease_s=0.0), SharedLeases(stores[1], "two", lease_s=LONG_S)
    assert await one.claim(KEY)
    async with one.write(KEY):
        await one.renew()  # does not wait for the transaction
        assert await two.claim(KEY) is None  # nor does a claim, which is made again later
    assert await two.claim(KEY) is not None
    with pytest.raises(LeaseLost):
        async with one.write(KEY):
            pytest.fail("the transaction of a worker without a lease began")


async def test_states_are_read_with_a_lease_and_saved_before_it_is_released(stores: tuple[Store, Store]) -> None:
    one, two = (NamespaceStates(store, SharedLeases(store, str(id(store)))) for store in stores)
    async with one.hold(KEY) as grant:
        assert grant is not None
        one.want_rebuild(KEY, RebuildReason.REQUESTED)
        async with two.hold(KEY) as other:
            assert other is None
    assert one[KEY].phase is Phase.IN_SERVICE  # forgotten
    assert [state.phase for state in await two.unfinished()] == [Phase.QUEUED]
    async with two.hold(KEY):
        assert two[KEY].reason is RebuildReason.REQUESTED
        two.forget(KEY)
    async with stores[0].read() as connection:
        assert await namespace_states.every(connection) == []
        assert await rows.never_claimed(connection, [KEY]) == [KEY]


async def test_a_namespace_that_is_taken_over_is_compared_and_its_rebuild_queued(stores: tuple[Store, Store]) -> None:
    one = NamespaceStates(stores[0], SharedLeases(stores[0], "one", lease_s=0.0))
    two = NamespaceStates(stores[1], SharedLeases(stores[1], "two"))
    async with one.hold(KEY), one.hold(OTHER):
        one.want_rebuild(KEY, RebuildReason.DAMAGED)
        one.apply(transitions.rebuild_began, KEY, 9)
        await one.save()
        assert {(state.key, state.phase) for state in await two.unfinished()} == {
            (KEY, Phase.QUEUED),
            (OTHER, Phase.UNCHECKED),
        }
        async with two.hold(KEY), two.hold(OTHER):
            assert two[KEY].phase is Phase.QUEUED
            assert two[OTHER].phase is Phase.UNCHECKED
            one.apply(transitions.rebuild_progressed, KEY, 3, 1.0)
            await one.save()  # drops what it has lost
            assert one[KEY].phase is Phase.IN_SERVICE
    async with stores[0].read() as connection:
        found = {state.key: state.phase for state in await namespace_states.every(connection)}
    assert found == {KEY: Phase.QUEUED, OTHER: Phase.UNCHECKED}


async def test_a_worker_without_the_lease_notes_no_failure(stores: tuple[Store, Store]) -> None:
    async with stores[0].write() as connection:
        project = (await projects.create(connection, "p")).id
        new = {"project_id": project, "title": "t", "type": "d", "format": "text", "revision": 1, "content": b"x"}
        await connection.execute(sa.insert(documents), new)
    key = NamespaceKey(project, None)
    states = NamespaceStates(stores[0], SharedLeases(stores[0], "one"))
    async with states.hold(key):
        await states.note_failure(key, ValueError("first"), 0.0)
        await steal(stores[1], key)
        async with stores[1].write() as connection:
            await connection.execute(sa.update(index_states).values(status="pending"))
        await states.note_failure(key, ValueError("second"), 0.0)
    async with stores[0].read() as connection:
        state = await source_rows.of_document(connection, 1)
    assert state is not None
    assert state.status == "pending"


async def test_a_start_has_namespaces_checked_that_no_worker_has_held(stores: tuple[Store, Store]) -> None:
    async with stores[0].write() as connection:
        project = (await projects.create(connection, "p")).id
        new = {"project_id": project, "title": "t", "type": "d", "format": "text", "revision": 1, "content": b"x"}
        await connection.execute(sa.insert(documents), new)
        await connection.execute(sa.update(index_states).values(total=1))
    key = NamespaceKey(project, None)
    states = NamespaceStates(stores[0], SharedLeases(stores[0], "one"))
    await states.start()
    assert [(state.key, state.phase) for state in await states.unfinished()] == [(key, Phase.UNCHECKED)]
    async with states.hold(key):
        states.apply(lambda state: namespace_states.NamespaceState(state.key), key)
    await states.start()
    assert await states.unfinished() == []


async def test_a_comparison_of_namespaces_that_others_hold_waits_for_any_worker(stores: tuple[Store, Store]) -> None:
    one, two = (NamespaceStates(store, SharedLeases(store, str(id(store)))) for store in stores)
    for key in (KEY, OTHER):
        async with one.hold(key):
            one.apply(transitions.holds_vectors_of, key, "f")
    async with two.hold(KEY):
        await two.compare([KEY, OTHER])
        assert two[KEY].phase is Phase.UNCHECKED
        assert [(state.key, state.phase) for state in await one.unfinished()] == [(OTHER, Phase.UNCHECKED)]
    assert {state.key for state in await one.unfinished()} == {KEY, OTHER}


# ── two rebuilds of a project at once, in all workers together ──


def queued(states: NamespaceStates, key: NamespaceKey) -> None:
    states.want_rebuild(key, RebuildReason.REQUESTED)


async def is_waiting_for_a_lock(store: Store) -> bool:
    query = sa.text(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND "
        "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    async with store.read() as connection:
        return bool((await connection.execute(query)).scalar_one())


async def test_a_worker_counts_rebuilds_after_the_one_that_is_about_to_begin(stores: tuple[Store, Store]) -> None:
    states = NamespaceStates(stores[0], SharedLeases(stores[0], "one"))
    other = NamespaceStates(stores[1], SharedLeases(stores[1], "two"))
    async with states.hold(KEY), other.hold(OTHER):
        queued(other, OTHER)
        queued(states, KEY)
        async with stores[1].write() as connection:
            assert await namespace_states.lock_other_rebuilds(connection, OTHER) == 0
            beginning = asyncio.create_task(states.begin_rebuild(KEY, 9, most=1))
            async with asyncio.timeout(120):
                while not await is_waiting_for_a_lock(stores[1]):
                    assert not beginning.done()
            await namespace_states.save(connection, [transitions.rebuild_began(other[OTHER], 9)])
        assert not await beginning
        assert states[KEY].phase is Phase.QUEUED


async def test_of_many_rebuilds_that_begin_at_once_two_go_on(stores: tuple[Store, Store]) -> None:
    workers = [
        NamespaceStates(stores[number % 2], SharedLeases(stores[number % 2], str(number))) for number in range(4)
    ]
    keys = [NamespaceKey(1, number) for number in range(1, 5)]
    elsewhere = NamespaceKey(2, 5)  # of another project
    async with contextlib.AsyncExitStack() as held:
        for states, key in zip(workers, keys, strict=True):
            await held.enter_async_context(states.hold(key))
            queued(states, key)
        await held.enter_async_context(workers[0].hold(elsewhere))
        queued(workers[0], elsewhere)
        begun = await asyncio.gather(
            *(states.begin_rebuild(key, 9, most=2) for states, key in zip(workers, keys, strict=True))
        )
        assert sorted(begun) == [False, False, True, True]
        assert await workers[0].begin_rebuild(elsewhere, 9, most=2)
        phases = [states[key].phase for states, key in zip(workers, keys, strict=True)]
        assert phases == [Phase.REBUILDING if each else Phase.QUEUED for each in begun]
        first, refused = begun.index(True), begun.index(False)
        workers[first].apply(transitions.rebuilt, keys[first], "one")
        await workers[first].save()
        assert await workers[refused].begin_rebuild(keys[refused], 9, most=2)


async def test_a_rebuild_whose_worker_is_dead_does_not_count(stores: tuple[Store, Store]) -> None:
    dead = NamespaceStates(stores[0], SharedLeases(stores[0], "dead", lease_s=0.0))
    states = NamespaceStates(stores[1], SharedLeases(stores[1], "two"))
    async with dead.hold(OTHER), states.hold(KEY):
        queued(dead, OTHER)
        queued(states, KEY)
        assert await dead.begin_rebuild(OTHER, 9, most=1)
        assert await states.begin_rebuild(KEY, 9, most=1)
