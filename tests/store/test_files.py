"""The files of an open database: removed, replaced, and on a full disk."""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from findspot.errors import FindspotError
from findspot.store import files
from findspot.store import projects as rows
from findspot.store.database import Store

_LESS_THAN_THE_WAIT_FOR_A_LOCK_S = 25


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(None, tmp_path / "findspot.db")
    yield opened
    await opened.close()


async def create(store: Store, name: str = "p") -> int:
    async with store.write() as connection:
        return (await rows.create(connection, name)).id


async def delete(store: Store, id: int) -> None:
    async with store.write(frees=True) as connection:
        assert await rows.delete(connection, id)


async def refusal(store: Store) -> str:
    """Return the code with which a write is refused, after checking that the store says the same."""
    with pytest.raises(FindspotError) as refused:
        await create(store)
    with pytest.raises(FindspotError) as not_writable:
        await store.require_writable()
    assert refused.value.code == not_writable.value.code
    return refused.value.code


# ── removed or replaced ──


@pytest.mark.parametrize("name", ["findspot.db", "findspot.db-wal"])
async def test_a_removed_file_stops_writes_until_it_is_back(store: Store, tmp_path: Path, name: str) -> None:
    first = await create(store)
    async with store.read() as connection:
        assert await rows.get(connection, first)
    (tmp_path / name).rename(tmp_path / "elsewhere")
    assert await refusal(store) == "STORE_REPLACED"
    async with store.read() as connection:
        assert await rows.get(connection, first)
    with pytest.raises(FindspotError) as refused:  # a new connection would read another database
        async with store.snapshot(), store.snapshot():
            pass
    assert refused.value.code == "STORE_REPLACED"
    assert not (tmp_path / name).exists()
    (tmp_path / "elsewhere").rename(tmp_path / name)
    assert await create(store) > first
    await store.require_writable()


@pytest.mark.parametrize("name", ["findspot.db", "findspot.db-wal"])
async def test_a_replaced_file_stops_writes(store: Store, tmp_path: Path, name: str) -> None:
    await create(store)
    shutil.copy(tmp_path / name, tmp_path / "copy")
    (tmp_path / "copy").replace(tmp_path / name)
    assert await refusal(store) == "STORE_REPLACED"


async def test_a_file_removed_during_a_write_is_not_acknowledged(store: Store, tmp_path: Path) -> None:
    async def create_and_remove() -> None:
        async with store.write() as connection:
            await rows.create(connection, "p")
            (tmp_path / "findspot.db").unlink()

    with pytest.raises(FindspotError) as refused:
        await create_and_remove()
    assert refused.value.code == "STORE_REPLACED"


async def test_other_connections_that_come_and_go_change_nothing(store: Store, tmp_path: Path) -> None:
    await create(store)
    script = f"import sqlite3; sqlite3.connect({str(tmp_path / 'findspot.db')!r}).execute('SELECT 1 FROM projects')"
    for _ in range(2):
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", script], check=True)
        await create(store)
    await store.require_writable()


# ── full ──


async def test_a_full_database_says_so_and_deleting_works(store: Store) -> None:
    first = await create(store)
    async with store.write() as connection:
        pages = (await connection.execute(sa.text("PRAGMA page_count"))).scalar_one()
        await connection.execute(sa.text(f"PRAGMA max_page_count = {pages}"))
    with pytest.raises(FindspotError) as refused:
        await create(store, "长" * 100_000)
    assert (refused.value.code, refused.value.kind.status) == ("DISK_FULL", 507)
    await delete(store, first)


async def test_on_a_full_disk_only_deleting_may_use_the_reserve(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve, free = tmp_path / "findspot.db-reserve", files.RESERVE * 10
    monkeypatch.setattr(files, "free_bytes", lambda folder: free)
    await store.keep_reserve()
    first, second = await create(store), await create(store)
    assert 0 < reserve.stat().st_blocks * 512 >= reserve.stat().st_size
    kept, free = reserve.stat().st_size, 0
    await delete(store, first)
    assert not reserve.exists()
    free = kept - 1  # what the reserve has freed
    assert await refusal(store) == "DISK_FULL"
    await delete(store, second)
    free = files.RESERVE * 10
    await create(store)
    await store.require_writable()
    assert reserve.stat().st_size == kept


async def test_the_log_is_small_when_the_disk_has_little_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the log could take the space that is reserved for deleting."""

    async def log_pages(free: int) -> int:
        monkeypatch.setattr(files, "free_bytes", lambda folder: free)
        async with store.write() as connection:
            return int((await connection.execute(sa.text("PRAGMA wal_autocheckpoint"))).scalar_one())

    much, little = 10 << 30, files.RESERVE * 10
    assert [await log_pages(free) for free in (much, little, much)] == [4000, 1000, 4000]


async def test_a_disk_without_any_room_is_not_writable(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "free_bytes", lambda folder: 0)
    with pytest.raises(FindspotError) as refused:
        await store.require_writable()
    assert refused.value.code == "DISK_FULL"


SMALL_DISK = """
import asyncio, os, sys
from pathlib import Path
from findspot.errors import FindspotError
from findspot.store import projects as rows
from findspot.store.database import Store

async def create(store, size):
    async with store.write() as connection:
        return (await rows.create(connection, "长" * size)).id

async def code(step):
    try:
        await step
    except FindspotError as error:
        return error.code

def fill(folder):
    with open(folder / "filler", "ab", buffering=0) as filler:
        while True:
            try:
                filler.write(bytes(4096))
            except OSError:
                return

async def main(folder):
    store = await Store.open(None, folder / "findspot.db")
    await store.keep_reserve()
    ids = [await create(store, 100_000) for _ in range(20)]
    fill(folder)
    assert await code(create(store, 1_000_000)) == "DISK_FULL"
    assert await code(store.require_writable()) == "DISK_FULL"
    await store.close()
    fill(folder)
    store = await Store.open(None, folder / "findspot.db")  # also on a disk without any room
    await store.keep_reserve()
    for id in ids:
        async with store.write(frees=True) as connection:
            assert await rows.delete(connection, id)
    assert await code(create(store, 1000)) == "DISK_FULL"
    (folder / "filler").unlink()
    await create(store, 1000)
    await store.require_writable()
    await store.close()

asyncio.run(main(Path(sys.argv[1])))
"""


def _can_mount() -> bool:
    command = ["unshare", "-Urm", "sh", "-c", "mount -t tmpfs none /mnt"]
    return bool(shutil.which("unshare")) and subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_on_a_real_full_disk_nothing_is_saved_and_everything_can_be_deleted(tmp_path: Path) -> None:
    if not _can_mount():
        pytest.skip("no file system can be mounted here; the tests above simulate a full disk")
    mount = 'mount -t tmpfs -o size=24m none "$0" && exec "$1" -c "$2" "$0"'
    command = ["unshare", "-Urm", "sh", "-c", mount, str(tmp_path), sys.executable, SMALL_DISK]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ})
    assert ended.returncode == 0, ended.stderr


# ── locked ──


async def test_a_writer_stops_waiting_for_a_lock_when_the_server_stops(store: Store, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "findspot.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    saving = asyncio.create_task(create(store))
    await asyncio.sleep(0)
    store.stop_waiting(0)
    with pytest.raises(FindspotError) as refused:
        await asyncio.wait_for(saving, _LESS_THAN_THE_WAIT_FOR_A_LOCK_S)
    assert refused.value.code == "STORE_UNAVAILABLE"
    other.close()
    await create(store)
