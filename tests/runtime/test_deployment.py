"""Which process may use the index of a database: one data folder owns it."""

import asyncio
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from findspot.app import open_app
from findspot.content import backup as backups
from findspot.errors import FindspotError
from findspot.runtime import deployment, installation
from findspot.runtime.data_folder import DataFolder
from findspot.settings import Settings
from tests import flows
from tests.content.backups import save
from tests.flows import make_document, make_project, settle, texts

pytestmark = pytest.mark.fake_embedder
on_postgres = pytest.mark.parametrize("database_url", ["postgres"], indirect=True)

_THREE_WAYS = ("its data folder with --data", "a database of its own with FINDSPOT_DATABASE_URL", "--take-over")


def beside(settings: Settings, name: str) -> Settings:
    """Return settings of another data folder on the same database."""
    return settings.model_copy(update={"data": settings.data.with_name(name)})


async def refused(settings: Settings) -> str:
    with pytest.raises(FindspotError) as caught:
        async with open_app(settings):
            pass
    assert caught.value.code == "INDEX_ELSEWHERE"
    return caught.value.message


async def use(settings: Settings, text: str, query: str) -> None:
    """Start, save a document, and find it."""
    async with open_app(settings) as app:
        document = await make_document(app, await make_project(app), text)
        await settle(app)
        assert await texts(app, document, query) == [text]


def identifier(settings: Settings) -> str:
    found = installation.read(settings.data)
    assert found is not None
    return found.id


@on_postgres
@pytest.mark.parametrize("is_running", [True, False])
async def test_a_second_folder_on_the_database_is_refused_with_the_owner_and_the_ways_out(
    settings: Settings, is_running: bool
) -> None:
    async with open_app(settings) as app:
        document = await make_document(app, await make_project(app), "first 第一")
        await settle(app)
        if is_running:
            message = await refused(beside(settings, "second"))
        assert await texts(app, document, "first") == ["first 第一"]
    if not is_running:
        message = await refused(beside(settings, "second"))
    assert f"the data folder {settings.data} on {socket.gethostname()} (installation {identifier(settings)}," in message
    assert ("a server is running there" in message) == is_running
    assert [way for way in _THREE_WAYS if way not in message] == []
    assert not (settings.data.with_name("second") / installation.FILE).exists()


@on_postgres
async def test_the_owner_starts_again_and_after_a_rename(settings: Settings, tmp_path: Path) -> None:
    await use(settings, "one", "one")
    first = identifier(settings)
    await use(settings, "two", "two")
    assert identifier(settings) != first
    renamed = settings.model_copy(update={"data": tmp_path / "renamed 新名"})
    settings.data.rename(renamed.data)
    await use(renamed, "three", "three")


@on_postgres
async def test_of_two_copies_of_a_folder_the_one_that_was_started_last_is_current(settings: Settings) -> None:
    await use(settings, "original", "original")
    copy = beside(settings, "copy")
    shutil.copytree(settings.data, copy.data)
    await use(copy, "moved", "moved")
    assert str(copy.data) in await refused(settings)
    await use(copy, "again", "again")


@on_postgres
async def test_a_copy_of_the_folder_of_a_running_server_is_refused(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment, "LOCK_WAIT_S", 0.0)
    async with open_app(settings):
        copy = beside(settings, "copy")
        shutil.copytree(settings.data, copy.data)
        assert "a server is running there" in await refused(copy)


@on_postgres
async def test_a_crash_between_the_file_and_the_database_does_no_harm(settings: Settings) -> None:
    await use(settings, "one", "one")
    found = installation.read(settings.data)
    assert found is not None
    installation.write(settings.data, found.renewed(found.database))  # the database knows only the id before
    await use(settings, "two", "two")


@on_postgres
async def test_a_folder_that_was_deleted_is_made_again(settings: Settings) -> None:
    async with open_app(settings) as app:
        document = await make_document(app, await make_project(app), "kept 保留")
        await settle(app)
    shutil.rmtree(settings.data)
    async with open_app(settings) as app:
        await settle(app)
        assert await texts(app, document, "kept") == ["kept 保留"]


@on_postgres
async def test_taking_over_builds_the_index_here_and_refuses_the_former_owner(settings: Settings) -> None:
    async with open_app(settings) as app:
        document = await make_document(app, await make_project(app), "wandering 流浪")
        await settle(app)
        second = beside(settings, "second")
        with pytest.raises(FindspotError, match="a server is running there"):  # never from a running server
            async with open_app(second, DataFolder(second.data, takes_over=True).claim()):
                pass
    async with open_app(second, DataFolder(second.data, takes_over=True).claim()) as app:
        await settle(app)
        assert await texts(app, document, "wandering") == ["wandering 流浪"]
    assert str(second.data) in await refused(settings)
    await use(second, "stays", "stays")


@on_postgres
async def test_commands_in_another_folder_use_the_store_but_do_not_search(settings: Settings) -> None:
    async with open_app(settings) as app:
        document = await make_document(app, await make_project(app), "found")
        await settle(app)
        async with open_app(beside(settings, "second"), worker=False) as command:
            assert await flows.text_of(command, document.id) == "found"
            with pytest.raises(FindspotError, match="The index of this database belongs to the data folder") as caught:
                await texts(command, document, "found")
            assert caught.value.code == "ENGINE_UNAVAILABLE"
    async with open_app(settings, worker=False) as command:
        assert await texts(command, document, "found") == ["found"]


@on_postgres
async def test_a_command_does_not_become_the_owner(settings: Settings) -> None:
    async with open_app(beside(settings, "command"), worker=False) as command:
        await make_project(command)
    await use(settings, "served", "served")


@on_postgres
async def test_another_engine_is_refused(settings: Settings) -> None:
    service = settings.model_copy(update={"engine": "turbopuffer"})
    await use(settings, "local", "local")
    assert f"the data folder {settings.data}" in await refused(service)


@on_postgres
async def test_processes_that_share_a_service_run_at_the_same_time(settings: Settings) -> None:
    service = settings.model_copy(update={"engine": "turbopuffer"})
    async with open_app(service), open_app(beside(service, "second")):
        pass
    assert "the engine 'turbopuffer' since" in await refused(settings)


@on_postgres
async def test_a_backup_restored_into_a_database_may_be_served_from_any_folder(
    settings: Settings, new_postgres_database: Callable[[], str], tmp_path: Path
) -> None:
    async with open_app(settings) as app:
        document = await make_document(app, await make_project(app), "saved 备份")
        file = await save(app.store, tmp_path / "a.backup")
    url = SecretStr(new_postgres_database())
    empty, target = (settings.model_copy(update={"database_url": url, "data": tmp_path / name}) for name in "ab")
    async with open_app(empty):
        pass
    await backups.restore(backups.verify(file), target)
    async with open_app(target) as app:
        await settle(app)
        assert await texts(app, document, "saved") == ["saved 备份"]


@on_postgres
async def test_a_folder_that_was_used_with_postgresql_is_not_opened_without_it(settings: Settings) -> None:
    await use(settings, "text", "text")
    without = settings.model_copy(update={"database_url": None})
    message = await refused(without)
    assert f"The data folder {settings.data} belongs to the PostgreSQL database test_" in message
    assert "FINDSPOT_DATABASE_URL is not set" in message
    with pytest.raises(FindspotError, match="FINDSPOT_DATABASE_URL is not set"):
        async with open_app(without, worker=False):
            pass
    assert not (settings.data / "findspot.db").exists()
    (settings.data / installation.FILE).unlink()
    await use(without, "anew", "anew")


@on_postgres
async def test_a_damaged_installation_file_is_reported(settings: Settings) -> None:
    await use(settings, "text", "text")
    (settings.data / installation.FILE).write_text('{"id": ')
    assert f"{installation.FILE} is damaged" in await refused(settings)


@pytest.mark.one_database
async def test_a_copied_folder_with_sqlite_is_an_installation_of_its_own(settings: Settings, tmp_path: Path) -> None:
    await use(settings, "original", "original")
    copy = beside(settings, "copy")
    shutil.copytree(settings.data, copy.data)
    async with open_app(settings) as first, open_app(copy) as second:
        for app in (first, second):
            document = await make_document(app, 1, "apart")
            await settle(app)
            assert await texts(app, document, "apart") == ["apart"]


# ── a lost connection ──


def cut(settings: Settings) -> None:
    """Have PostgreSQL close all connections."""
    assert settings.database_url is not None
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")


async def holds_lock(settings: Settings) -> None:
    assert settings.database_url is not None
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database "
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as connection:
        async with asyncio.timeout(flows.PATIENCE_S):
            while True:
                row = connection.execute(held + "WHERE datname = current_database())").fetchone()
                if row == (1,):
                    return
                await asyncio.sleep(0.01)


@on_postgres
async def test_the_lock_is_taken_again_after_the_connection_is_lost(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment, "PROBE_S", 0.05)
    async with open_app(settings) as app:
        for _ in range(2):
            await holds_lock(settings)
            cut(settings)
        await holds_lock(settings)
        await app.deployment.require_owned()
        document = await make_document(app, await make_project(app), "after the cut")
        await settle(app)
        assert await texts(app, document, "after") == ["after the cut"]


@on_postgres
async def test_a_process_that_was_replaced_while_cut_off_stops_indexing_and_is_not_ready(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment, "PROBE_S", 0.05)
    async with open_app(settings) as app:
        await holds_lock(settings)
        assert settings.database_url is not None
        with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as connection:
            connection.execute("UPDATE index_owner SET installation_id = 'other', folder = '/elsewhere'")
        cut(settings)
        await indexing_has_stopped()
        with pytest.raises(FindspotError, match="the data folder /elsewhere"):
            await app.deployment.require_owned()


async def indexing_has_stopped() -> None:
    """Wait until the index worker has stopped."""
    async with asyncio.timeout(flows.PATIENCE_S):
        while "index scheduler" in {task.get_name() for task in asyncio.all_tasks()}:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
