"""The index follows PostgreSQL, whichever program changes it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import psycopg
import pytest

from findspot.app import App, open_app
from findspot.indexing import listening, worker
from findspot.models import Backoff
from findspot.settings import Settings
from findspot.store import notifications
from tests import flows
from tests.flows import make_document, make_project, make_table, separate, settle, texts

pytestmark = [pytest.mark.parametrize("database_url", ["postgres"], indirect=True), pytest.mark.fake_embedder]

_NEVER_S = 3600.0
_LISTENERS = "FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND datname = current_database()"

Sql = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def sql(settings: Settings) -> Iterator[Sql]:
    """Runs statements as another program that is connected to the database."""
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as connection:

        def run(statement: str, *values: Any) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

        yield run


@pytest.fixture
async def app(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    """An app whose worker scans only when it is woken, as long as it listens."""
    monkeypatch.setattr(worker, "LONGEST_SLEEP_S", _NEVER_S)
    monkeypatch.setattr(notifications, "_PROBE_S", _NEVER_S)
    async with open_app(settings) as opened:
        yield opened


async def until(is_done: Callable[[], bool]) -> None:
    async with asyncio.timeout(flows.PATIENCE_S):
        while not is_done():  # noqa: ASYNC110 - PostgreSQL does not announce who is connected
            await asyncio.sleep(0.005)


def listeners(sql: Sql) -> int:
    return int(sql(f"SELECT count(*) {_LISTENERS}")[0][0])


def change(sql: Sql, document_id: int, text: str) -> None:
    content = json.dumps(separate(text), ensure_ascii=False).encode()
    sql("UPDATE documents SET content = %s, revision = revision + 1 WHERE id = %s", content, document_id)


async def test_documents_changed_by_plain_sql_are_found_without_polling(app: App, project: int, sql: Sql) -> None:
    document = await make_document(app, project, "old words")
    await settle(app)
    await until(lambda: listeners(sql) == 1)
    for text, query in (("plain river", "river"), ("圖書館 在河邊", "圖書館"), ("mixed 河 🎈 e\u0301nd", "mixed")):
        change(sql, document.id, text)
        await settle(app)
        assert await texts(app, document, query) == [text]
        assert await texts(app, document, "old") == []


async def test_rows_deleted_by_plain_sql_leave_the_index_without_polling(app: App, project: int, sql: Sql) -> None:
    kept = await make_document(app, project, "kept words")
    gone = await make_document(app, project, "gone words")
    await settle(app)
    await until(lambda: listeners(sql) == 1)
    sql("DELETE FROM documents WHERE id = %s", gone.id)
    await flows.until(app, lambda: _is_forgotten(app))
    assert await texts(app, kept, "words") == ["kept words"]
    assert len(flows.held(app, f"project_{project}_documents")) == 1


async def _is_forgotten(app: App) -> bool:
    async with app.store.read() as connection:
        return not (await connection.exec_driver_sql("SELECT 1 FROM gone_chunks")).all()


async def test_a_lost_connection_is_made_again(app: App, project: int, sql: Sql) -> None:
    document = await make_document(app, project, "old words")
    for number in range(3):
        await until(lambda: listeners(sql) == 1)
        (lost,) = sql(f"SELECT pid {_LISTENERS}")
        sql("SELECT pg_terminate_backend(%s)", lost[0])
        await until(lambda: sql(f"SELECT pid {_LISTENERS}") not in ([], [lost]))  # noqa: B023 - awaited here
        change(sql, document.id, f"words {number}")
        await settle(app)
        assert await texts(app, document, "words") == [f"words {number}"]


async def test_after_a_restart_of_the_database_its_lost_steps_are_done_again(app: App, project: int, sql: Sql) -> None:
    document = await make_document(app, project, "heron 苍鹭")
    await settle(app)
    namespace = f"project_{project}_documents"
    await until(lambda: listeners(sql) == 1)
    sql("UPDATE chunks SET id = 1000")  # as if another id had been given before the last commits were lost
    sql(f"SELECT pg_terminate_backend(pid) {_LISTENERS}")
    await flows.until(app, lambda: _holds(app, namespace, [1000]))
    assert await texts(app, document, "heron") == ["heron 苍鹭"]


async def test_a_restart_of_the_database_is_noticed_although_nobody_listened(
    app: App, project: int, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = connections_kept_away(monkeypatch)
    await make_document(app, project, "heron 苍鹭")
    await settle(app)
    namespace = f"project_{project}_documents"
    await until(lambda: listeners(sql) == 1)
    sql("UPDATE chunks SET id = 1000")
    sql(f"SELECT pg_terminate_backend(pid) {_LISTENERS}")
    await flows.until(app, lambda: _holds(app, namespace, [1000]))
    sql("UPDATE chunks SET id = 2000")  # lost again, before the worker is connected
    assert listeners(sql) == 0
    connect()
    await flows.until(app, lambda: _holds(app, namespace, [2000]))


def connections_kept_away(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have a listener that lost its connection stay away. Return what lets it connect."""
    waiting: list[listening.ChangeListener] = []
    connect = listening.ChangeListener.reconnect
    monkeypatch.setattr(listening, "RECONNECT", Backoff(_NEVER_S, _NEVER_S))
    monkeypatch.setattr(listening.ChangeListener, "reconnect", lambda self: waiting.append(self))
    return lambda: connect(waiting[-1])


async def _holds(app: App, namespace: str, ids: list[int]) -> bool:
    return flows.held(app, namespace) == ids


async def test_without_the_connection_the_worker_polls(
    settings: Settings, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "LONGEST_SLEEP_S", _NEVER_S)
    monkeypatch.setattr(worker, "POLL_S", 0.05)
    connections_kept_away(monkeypatch)
    async with open_app(settings) as app:
        document = await make_document(app, await make_project(app), "old words")
        await settle(app)
        await until(lambda: listeners(sql) == 1)
        sql(f"SELECT pg_terminate_backend(pid) {_LISTENERS}")
        await until(lambda: listeners(sql) == 0)
        for number in range(3):
            change(sql, document.id, f"words {number}")
            await settle(app)
            assert await texts(app, document, "words") == [f"words {number}"]
        assert listeners(sql) == 0


async def test_only_work_for_the_index_is_announced(app: App, project: int, sql: Sql, settings: Settings) -> None:
    document = await make_document(app, project, "words")
    table = await make_table(app, project, {"a": 1})
    await flows.hold(app)
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as other:
        other.execute(f"LISTEN {notifications.CHANNEL}")
        for statement, expected in (
            (f"UPDATE documents SET title = 'x' WHERE id = {document.id}", 0),
            (f"UPDATE documents SET revision = revision + 1 WHERE id = {document.id}", 1),
            (f"UPDATE tables SET revision = revision + 1 WHERE id = {table.id}", 1),
            ("UPDATE index_states SET status = 'ready', done = done + 1", 0),
            ("DELETE FROM chunks", 1),
            ("INSERT INTO index_requests VALUES (DEFAULT, 'n', 'missing', 0, now())", 1),
        ):
            sql(statement)
            sql(f"NOTIFY {notifications.CHANNEL}, 'end'")
            heard: list[str] = []
            while "end" not in heard:
                heard += [each.payload for each in other.notifies(timeout=flows.PATIENCE_S, stop_after=1)]
            assert heard == [""] * expected + ["end"], statement
