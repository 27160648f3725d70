"""Running processes: heart-beats, expiry, and metrics of all in one scrape, on both databases."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from findspot.runtime import metrics, presence
from findspot.runtime.presence import Presence
from findspot.store import processes as rows
from findspot.store.database import Store
from findspot.store.process_schema import processes
from tests.flows import PATIENCE_S

ONE = (
    b'# HELP a A.\n# TYPE a counter\na{process="1",project_id="7"} 1.0\n# HELP b B.\n# TYPE b gauge\nb{process="1"} 1\n'
)
TWO = b'# HELP a A.\n# TYPE a counter\na{process="2",project_id="77"} 2.0\n'


async def running(store: Store) -> list[str]:
    async with store.read() as connection:
        return [each.process.id for each in await rows.every(connection)]


async def test_a_process_is_listed_from_its_begin_to_its_end(store: Store) -> None:
    one, two = Presence(store, "all"), Presence(store, "worker")
    await one.begin("http://127.0.0.1:8321", lambda: ONE)
    await two.begin("index", lambda: TWO)
    async with store.read() as connection:
        found = {each.process.id: each for each in await rows.every(connection)}
    assert found.keys() == {one.id, two.id}
    process = found[two.id].process
    assert (process.role, process.serves) == ("worker", "index")
    assert 0 <= found[two.id].silent_s < PATIENCE_S
    await one.close()
    assert await running(store) == [two.id]
    await two.close()
    assert await running(store) == []


async def test_a_process_without_a_heart_beat_is_removed_by_the_others(store: Store) -> None:
    dead, alive = Presence(store, "api"), Presence(store, "api")
    await dead.begin("a", lambda: ONE)
    await alive.begin("b", lambda: TWO)
    async with store.write() as connection:
        long_ago = datetime.now(UTC) - timedelta(seconds=presence.EXPIRE_S + 1)
        await connection.execute(sa.update(processes).values(heartbeat_at=long_ago))
    await alive.beat()
    assert await running(store) == [alive.id]
    await dead.beat()  # it only stood still
    assert set(await running(store)) == {alive.id, dead.id}
    await alive.close()
    await dead.close()


async def test_heart_beats_are_given_in_the_background(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "BEAT_S", 0.01)
    given = threading.Event()

    def shown() -> bytes:
        given.set()
        return ONE

    one, two = Presence(store, "api"), Presence(store, "api")
    await one.begin("a", shown)
    await two.begin("b", lambda: TWO)
    assert await asyncio.to_thread(given.wait, PATIENCE_S)
    await one.close()
    await two.close()


async def test_a_scrape_of_one_process_shows_the_metrics_of_the_others(store: Store) -> None:
    one, two = Presence(store, "api"), Presence(store, "worker")
    await one.begin("a", lambda: ONE)
    await one.beat()
    assert await two.metrics_of_others() == []  # without others, no one would read them
    await two.begin("index", lambda: TWO)
    for each in (one, two, one):
        await each.beat()
    assert await one.metrics_of_others() == [TWO]
    assert await two.metrics_of_others() == [ONE]
    await one.close()
    await two.close()


def test_joined_metrics_have_one_description_each_and_can_be_limited_to_a_project() -> None:
    assert metrics.joined([ONE, TWO]).decode() == (
        "# HELP a A.\n# TYPE a counter\n"
        'a{process="1",project_id="7"} 1.0\na{process="2",project_id="77"} 2.0\n'
        '# HELP b B.\n# TYPE b gauge\nb{process="1"} 1\n'
    )
    mine = b'# HELP a A.\n# TYPE a counter\na{process="1",project_id="7"} 1.0\n'
    assert metrics.joined([ONE, TWO], only=7) == mine
    assert metrics.joined([ONE, TWO], only=8) == b""


def test_metrics_of_a_process_carry_its_id_and_role() -> None:
    metrics.UPLOAD_ERRORS.labels(987654).inc()
    text = metrics.of_process("abc", "worker").decode()
    assert 'turbopuffer_upload_errors_total{process="abc",project_id="987654",role="worker"} 1.0' in text
