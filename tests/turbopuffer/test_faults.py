"""Faults of the service: retries within the time that a call has, and no chunk lost, doubled or overwritten."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

import numpy as np
import pytest

from findspot.engines.protocol import Damaged, StaleFence
from findspot.engines.turbopuffer.catalog import Placement
from findspot.engines.turbopuffer.engine import TurbopufferEngine
from findspot.engines.turbopuffer.slots import Slots
from findspot.engines.turbopuffer.transport import Patience
from findspot.errors import FindspotError
from tests.contracts.engines import DIMENSION, MODEL, NEXT_MODEL, TABLE, batch, direction, found, near, words
from tests.turbopuffer.engines import ServiceEngines
from tests.turbopuffer.faults import Faults
from tests.turbopuffer.server import StandIn

SHORT = Patience(read_s=20, read_attempt_s=0.3, write_s=20, write_attempt_s=0.3)  # an attempt is given up soon
SOON = Patience(read_s=0.3, read_attempt_s=0.3, write_s=0.3, write_attempt_s=0.3)

FAULTS = {
    "429 or 503": Faults(status=0.2),
    "dropped connections": Faults(dropped=0.2),
    "late answers": Faults(late=0.1, late_s=10),
    "lost replies": Faults(lost=0.2),
    "all of them": Faults(status=0.1, dropped=0.1, lost=0.1),
}


@pytest.fixture
def engines(standin: StandIn) -> ServiceEngines:
    return ServiceEngines(standin, batch_size=10)


@pytest.fixture
def engine(engines: ServiceEngines) -> Iterator[TurbopufferEngine]:
    opened = engines.open(SHORT)
    yield opened
    opened.close()


def rows(standin: StandIn) -> dict[int, list[str]]:
    """The terms of every chunk that the service holds; fails if one is there twice."""
    (namespace,) = standin.service.namespaces.values()
    held = [(row["chunk_id"], row["terms"]) for row in namespace.rows.values()]
    assert len({id for id, _ in held}) == len(held)
    return dict(held)


@pytest.mark.parametrize("kind", FAULTS)
def test_every_chunk_is_there_exactly_once_although_requests_fail(
    engine: TurbopufferEngine, standin: StandIn, kind: str
) -> None:
    engine.write(TABLE, MODEL, batch({0: "first"}))
    standin.service.faults.set(FAULTS[kind])
    engine.write(TABLE, MODEL, batch({id: f"old {id} 旧的" for id in range(1, 61)}))
    engine.write(TABLE, MODEL, batch({id: f"new {id} 新的" for id in range(20, 40)}))
    engine.delete(TABLE, range(50, 61))
    assert set(engine.ids(TABLE).tolist()) == set(range(50))
    assert len(engine.recall(TABLE, words("新的"), direction(1), limit=100).keyword) == 20
    standin.service.faults.set(Faults())
    held = rows(standin)
    assert held.keys() == set(range(50))
    assert {id for id, terms in held.items() if "new" in terms} == set(range(20, 40))


def test_a_write_that_arrives_late_does_not_replace_a_newer_one(engine: TurbopufferEngine, standin: StandIn) -> None:
    engine.write(TABLE, MODEL, batch({1: "first"}))
    standin.service.faults.set(Faults(delayed=1.0, late_s=1.0, only="POST", most=1))
    applied = standin.service.requests["write"] + 3
    engine.write(TABLE, MODEL, batch({1: "second"}))  # the first attempt hangs, the second is applied
    engine.write(TABLE, MODEL, batch({1: "third"}))
    standin.wait_for(lambda: standin.service.requests["write"] == applied)
    assert rows(standin) == {1: ["third"]}


def test_a_write_that_arrives_late_does_not_bring_back_a_namespace(engine: TurbopufferEngine, standin: StandIn) -> None:
    engine.write(TABLE, MODEL, batch({1: "first"}))
    standin.service.faults.set(Faults(delayed=1.0, late_s=1.0, only="POST", most=1))
    applied = standin.service.requests["write"] + 2
    engine.write(TABLE, MODEL, batch({2: "second"}))
    engine.drop(TABLE)
    standin.wait_for(lambda: standin.service.requests["write"] == applied)
    assert standin.service.namespaces == {}


@pytest.mark.parametrize("kind", ["write", "delete"])
def test_a_build_is_switched_before_a_change_or_after_it(
    engine: TurbopufferEngine, engines: ServiceEngines, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    engine.write(TABLE, MODEL, batch({1: "old one", 2: "old two 旧的"}))
    build = engine.build(TABLE, MODEL, DIMENSION)
    build.write(batch({1: "old one", 2: "old two 旧的"}))
    admit, switching = engines.catalog.admit, list[Future[None]]()
    with ThreadPoolExecutor(1) as other:

        def admit_and_switch(namespace: str, fence: int) -> Placement | None:
            """Switch when the change knows which index serves, and has not been made yet."""
            placement = admit(namespace, fence)
            if not switching:
                switching.append(other.submit(build.switch))
                wait(switching, timeout=0.5)  # if it does not wait for the change, it is done by now
            return placement

        monkeypatch.setattr(engines.catalog, "admit", admit_and_switch)
        if kind == "write":
            engine.write(TABLE, MODEL, batch({2: "new two 新的"}))
        else:
            engine.delete(TABLE, [2])
        switching[0].result()
    assert found(engine, "old") == [1]
    assert found(engine, "新的") == ([2] if kind == "write" else [])


def test_a_worker_that_lost_its_lease_changes_nothing(engines: ServiceEngines, standin: StandIn) -> None:
    late, current = engines.open(SHORT), engines.open(SHORT)
    late.write(TABLE, MODEL, replace(batch({1: "old", 2: "old"}), fence=1))
    current.write(TABLE, MODEL, replace(batch({1: "new"}), fence=2))
    changes: list[Callable[[], None]] = [
        lambda: late.write(TABLE, MODEL, replace(batch({1: "late", 2: "late"}), fence=1)),
        lambda: late.delete(TABLE, [1], fence=1),
        lambda: late.drop(TABLE, fence=1),
    ]
    for change in changes:
        with pytest.raises(StaleFence):
            change()
    assert rows(standin) == {1: ["new"], 2: ["old"]}
    late.close()
    current.close()


def test_a_write_of_an_earlier_worker_that_arrives_late_is_refused(engines: ServiceEngines, standin: StandIn) -> None:
    late, current = engines.open(SHORT), engines.open()
    late.write(TABLE, MODEL, replace(batch({1: "first"}), fence=1))
    standin.service.faults.set(Faults(delayed=1.0, late_s=1.0, only="POST", most=1))
    applied = standin.service.requests["write"] + 3
    late.write(TABLE, MODEL, replace(batch({1: "late"}), fence=1))  # its first attempt hangs
    current.write(TABLE, MODEL, replace(batch({1: "new"}), fence=2))
    standin.wait_for(lambda: standin.service.requests["write"] == applied)
    assert rows(standin) == {1: ["new"]}
    late.close()
    current.close()


def test_a_service_that_is_down_is_an_error_within_the_time_of_the_call(
    engines: ServiceEngines, standin: StandIn
) -> None:
    engine, hasty = engines.open(), engines.open(SOON)
    engine.write(TABLE, MODEL, batch({1: "cat 猫"}))
    for faults, message in (
        (Faults(status=1.0, retry_after_s=1800), "turbopuffer"),
        (Faults(dropped=1.0), "cannot be reached"),
        (Faults(late=1.0), "in time"),
    ):
        standin.service.faults.set(faults)
        for call in (
            lambda: engine.recall(TABLE, words("cat"), direction(1), limit=10, timeout_s=0.3),
            lambda: hasty.count(TABLE, words("cat")),
            lambda: hasty.write(TABLE, MODEL, batch({2: "dog"})),
        ):
            with pytest.raises(FindspotError, match=message) as caught:
                call()
            assert caught.value.code == "ENGINE_UNAVAILABLE"
    standin.service.faults.set(Faults())
    assert found(engine, "猫") == [1]
    engine.close()
    hasty.close()


def test_a_drop_that_failed_is_repeated_by_the_next_sweep(engines: ServiceEngines, standin: StandIn) -> None:
    engine, hasty = engines.open(), engines.open(SOON)
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    standin.service.faults.set(Faults(status=1.0, only="DELETE"))
    with pytest.raises(FindspotError):
        hasty.drop(TABLE)
    assert found(engine, "cat") == []  # gone for searches at once
    standin.service.faults.set(Faults())
    engine.sweep()
    assert (standin.service.namespaces, engines.catalog.unwanted()) == ({}, [])
    engine.close()
    hasty.close()


def test_a_rebuild_is_switched_although_the_old_index_cannot_be_deleted(
    engines: ServiceEngines, standin: StandIn
) -> None:
    writes = Patience(write_s=1.0)  # of the deletion, too
    engine, other = engines.open(writes), engines.open()
    other.write(TABLE, MODEL, batch({1: "old 旧"}))
    build = engine.build(TABLE, NEXT_MODEL, 8)
    build.write(batch({1: "new 新"}, np.ones((1, 8), np.float32)))
    standin.service.faults.set(Faults(status=1.0, only="DELETE"))
    build.switch()
    assert other.kind(TABLE) == (NEXT_MODEL, 8)
    assert found(other, "新") == [1]
    standin.service.faults.set(Faults())
    engine.sweep()
    assert len(standin.service.namespaces) == 1
    engine.close()
    other.close()


def test_a_namespace_that_someone_deleted_is_empty_for_searches_and_damaged_for_writes(
    engine: TurbopufferEngine, standin: StandIn
) -> None:
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    standin.service.namespaces.clear()
    assert not engine.recall(TABLE, words("cat"), direction(1), limit=10).exists
    assert engine.status(TABLE).fingerprint == ""
    with pytest.raises(Damaged):
        engine.write(TABLE, MODEL, batch({2: "cat"}))


def test_writes_wait_while_the_service_indexes_and_searches_go_on(engines: ServiceEngines, standin: StandIn) -> None:
    engine, hasty = engines.open(), engines.open(SOON)
    engine.write(TABLE, MODEL, batch({1: "cat"}))
    standin.service.unindexed = True
    with pytest.raises(FindspotError, match="429"):
        hasty.write(TABLE, MODEL, batch({2: "cat"}))
    assert found(engine, "cat") == near(engine, direction(1)) == [1]
    standin.service.unindexed = False
    engine.write(TABLE, MODEL, batch({2: "cat"}))
    assert found(engine, "cat") == [1, 2]
    engine.close()
    hasty.close()


def test_no_more_queries_are_in_flight_than_the_service_takes(engine: TurbopufferEngine, standin: StandIn) -> None:
    """The stand-in refuses the 17th at once here. A hybrid search with a count weighs 7."""
    engine.write(TABLE, MODEL, batch({id: f"cat {id}" for id in range(30)}))
    standin.service.wait_s, standin.service.latency_s = 0.0, 0.02
    before = standin.service.requests["query"]
    with ThreadPoolExecutor(12) as pool:
        asked = [
            pool.submit(engine.recall, TABLE, words("cat"), direction(1), limit=5, count_to=1000) for _ in range(30)
        ]
        recalled = [each.result() for each in asked]
    assert {each.matches for each in recalled} == {30}
    assert standin.service.requests["query"] - before == 30  # none was refused and repeated


def test_slots_are_given_in_order_and_a_wait_ends_in_time() -> None:
    slots, order, held = Slots(4), list[int](), threading.Event()

    def heavy() -> None:
        with slots.take("n", 4, 60) as got:
            order.append(4 * got)

    def light() -> None:
        with slots.take("n", 1, 60) as got:
            order.append(1 * got)

    with slots.take("n", 3, 60) as got:
        assert got
        first = threading.Thread(target=heavy)
        first.start()
        while not slots.waiting("n"):
            held.wait(0.001)
        with slots.take("n", 1, 0.01) as passed:
            assert not passed  # one slot is free, but the heavy one is first
        second = threading.Thread(target=light)
        second.start()
    first.join(120)
    second.join(120)
    assert order == [4, 1]
    with slots.take("n", 99, 0.01) as got:
        assert got  # more than there are: all of them
